"""AG-UI: a reader for its event streams, version 1.0 and before."""

from toolwitness.adapters.ag_ui.mapping import TABLE
from toolwitness.adapters.ag_ui.reader import Reader

__all__ = ["TABLE", "Reader"]
