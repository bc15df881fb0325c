"""Reports that hold the words of one framework: they are read by the readers that read recordings, at the desk of the report.

``wire`` feeds a reader and names what it finds as the report does; ``streams`` plays the kinds that are events one after another;
``judging`` compares what only such reports expect. The other modules play the kinds that are no stream.
"""

from toolwitness.testing.reports.raw.families import as_played
from toolwitness.testing.reports.raw.playing import KINDS, play_raw, prepared

__all__ = ["KINDS", "as_played", "play_raw", "prepared"]
