"""What commands show: the terminal to draw cards on, and recorded evidence as documents."""

import os
import shutil
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from toolwitness.contract.envelope import encode_recorded
from toolwitness.ports import Recorded
from toolwitness.presentation.terminal_text import Glyphs, Screen, ink_for


def screen(*opened: str) -> Screen:
    """Give the terminal: its width, its colours unless NO_COLOR, its signs, its zone; ``opened`` names what is unfolded."""
    term = os.environ.get("TERM") if sys.stdout.isatty() else None
    encoding = (sys.stdout.encoding or "ascii").lower()
    return Screen(
        width=min(100, shutil.get_terminal_size((80, 24)).columns),
        ink=ink_for(os.environ.get("NO_COLOR"), term=term),
        glyphs=Glyphs.UNICODE if encoding.startswith("utf") else Glyphs.ASCII,
        zone=datetime.now().astimezone().tzinfo or UTC,
        now=datetime.now(UTC),
        opened=frozenset(opened),
    )


def evidence(recorded: Iterable[Recorded]) -> list[dict[str, Any]]:
    """Give recorded events as envelopes, each with its reference, the state after it and on what basis it moved."""
    return [{**encode_recorded(one), "ref": one.event.ref, "state": one.state, "basis": one.basis} for one in recorded]
