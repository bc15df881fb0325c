"""The frame of every reader: rows in, drafts out, and whatever says nothing is reported with its reason.

A capture's rows carry ``src``: ``header``, ``runtime`` (what the framework handed to its consumer), ``driver`` (what was done from
outside), ``outcome`` (how the driving call ended). A plain stream has no such rows: each of its chunks is the runtime's. Rows of ``truth``
are for the judge and are refused here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from toolwitness.core.evidence import Kind
from toolwitness.ports import Draft
from toolwitness.reading.calls import Calls
from toolwitness.reading.pen import Pen


@dataclass(frozen=True, slots=True)
class Unmapped:
    """A row, or a word in it, that says nothing to us, and why."""

    row: int
    word: str
    why: str


class CaptureReader:
    """Maps the rows of one capture, in order, to drafts. Kept for one capture and thrown away.

    An adapter's reader overrides ``runtime``, ``driver`` and ``outcome``; each gets the row's kind and its event, writes with ``self.pen``
    or ``self.calls``, and notes with ``self.note`` what it does not map.
    """

    adapter = ""
    """The name of the adapter; its events carry ``name@version``."""
    version = "1"

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        self.pen = Pen(source, adapter=f"{self.adapter}@{self.version}")
        self.calls = Calls(self.pen, self.adapter)
        self.unmapped: list[Unmapped] = []
        self._opened = False
        self._line = 0
        self._seen: dict[int, bytes] = {}
        """The rows that carry a number, by it: one that comes again, byte for byte, is the same row."""

    @property
    def task_id(self) -> str:
        """The task that the calls of this capture belong to."""
        return self.pen.task_id

    def feed(self, row: Mapping[str, Any], *, raw: bytes = b"") -> list[Draft]:
        """Map one row; ``raw`` is its line as it came. A word that is not mapped is in ``unmapped``, never guessed.

        Raises:
            ValueError: the row is the judge's (``truth``), which no adapter may see.
        """
        self._line += 1
        source, kind, event = row.get("src", "stream"), str(row.get("kind") or ""), row.get("event")
        if source == "truth":
            raise ValueError("a truth row was handed to an adapter")
        if not self._opened:
            self._open()
        if source == "header":
            return self.pen.take()
        seq, at = row.get("seq"), row.get("t")
        line = raw or json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
        if isinstance(seq, int):
            if self._seen.get(seq) == (digest := sha256(line).digest()):
                self.unmapped.append(Unmapped(seq, kind, "the same row once more"))
                return self.pen.take()
            self._seen[seq] = digest
        self.pen.begin(seq if isinstance(seq, int) else self._line, at if isinstance(at, int | float) else None, line)
        self.before(kind)
        if source == "driver":
            self.driver(kind, event)
        elif source == "outcome":
            self.outcome(kind, event)
        elif source == "runtime":
            self.runtime(kind, event)
        elif source == "stream":
            self.chunk({name: value for name, value in row.items() if name != "seq"})
        else:
            self.note(kind, f"no row of a capture has the src {source!r}")
        return self.pen.take()

    def close(self) -> list[Draft]:
        """End the capture; what still waited for a next row is reported."""
        if self._opened:
            self.end()
        return self.pen.take()

    def note(self, word: str, why: str) -> None:
        """Report that the current row, or a word in it, says nothing to us; nothing where ``why`` is empty."""
        if why:
            self.unmapped.append(Unmapped(self.pen.place.seq, word, why))

    # ── what an adapter says ────────────────────────────────────────────────────────────────────────────────────────

    def before(self, kind: str) -> None:
        """Do what comes before any row, such as settling what waited for this one."""

    def runtime(self, kind: str, event: Any) -> None:
        """Map what the framework handed to its consumer."""
        self.note(kind, "the table does not have this word")

    def driver(self, kind: str, event: Any) -> None:
        """Map what was done from outside."""
        self.note(kind, "the table does not have this act")

    def outcome(self, kind: str, event: Any) -> None:
        """Map how the driving call ended."""
        self.note(kind, "the table does not have this outcome")

    def chunk(self, chunk: Mapping[str, Any]) -> None:
        """Map one chunk of a plain stream, which is no row of a capture."""
        self.note("", "a chunk without a src: this reader reads captures, not streams")

    def end(self) -> None:
        """End the capture."""

    def _open(self) -> None:
        self._opened = True
        self.pen.begin(0, None, b"")
        name = self.pen.source.removeprefix("capture:")
        self.pen.write(Kind.TASK_OPENED, "capture", data={"purpose": f"Calls recorded in {name}", "opened_by": "replay"})
