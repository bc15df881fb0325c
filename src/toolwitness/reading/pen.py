"""Writes the drafts of one capture: ids, times, owners and the raw row are settled here and nowhere else.

Ids depend on the source and the row alone, so that replaying a capture twice says the same things twice, the second time as duplicates.
"""

import json
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from toolwitness.core.evidence import Event, Kind, evidence_ref
from toolwitness.core.states import Origin, Owner
from toolwitness.core.vocabulary import KINDS
from toolwitness.ledger.prepare import RAW, value_ref
from toolwitness.ports import Draft
from toolwitness.wire.spelling import spelt_out

UNRECORDED: Final = "unrecorded"
"""The actor of a decision that came from outside without a name."""


def stable(*parts: str) -> str:
    """Give 26 characters that are always the same for the same parts."""
    return b32encode(sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest())[:26].decode().lower()


def exact(value: Any) -> bytes:
    """Give a text as its own bytes, and anything else as compact JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Place:
    """A row of the capture: its number, when it came, in words, and its exact bytes."""

    seq: int = 0
    clock: str = "an unrecorded time"
    raw: bytes = b""


class Pen:
    """Writes events about calls in the name of one capture file, row by row."""

    def __init__(self, source: str, *, adapter: str) -> None:
        """Begin; ``source`` is the event source, such as ``capture:a_ok.jsonl``, and ``adapter`` the name and version of the mapping."""
        self.source = source
        self.adapter = adapter
        self.task_id = f"task_{stable(source)}"
        self.place = Place()
        self._written: dict[int, int] = {}
        """How many events each row has made."""
        self._strangers: dict[str, list[dict[str, Any]]] = {}
        """By invocation: what a call is called of which nothing has been written yet, and no proposal may ever be."""
        self.drafts: list[Draft] = []

    def begin(self, seq: int, seconds: float | None, raw: bytes) -> None:
        """Go to a row: its number, its seconds into the recording, its exact bytes."""
        self.place = Place(seq, self.place.clock if seconds is None else f"{seconds} s into the recording", raw)

    @property
    def clock(self) -> str:
        """Where in the recording the current row stands, in words: it has no absolute time."""
        return self.place.clock

    def take(self) -> list[Draft]:
        """Give what was written since the last time, in order."""
        drafts, self.drafts = self.drafts, []
        return drafts

    def introduce(self, invocation_id: str, correlation: Mapping[str, Any]) -> None:
        """Let the first event about an invocation say what its source calls it, also where that is no proposal."""
        self._strangers[invocation_id] = [{name: spelt_out(fact) for name, fact in correlation.items() if fact is not None}]

    def new_id(self, prefix: str, *parts: str) -> str:
        """Give an id that belongs to this capture and to ``parts``."""
        return f"{prefix}_{stable(self.source, *parts)}"

    def write(
        self, kind: Kind, word: str, invocation_id: str | None = None, *, attempt: int | None = None, data: Mapping[str, Any] | None = None,
        values: Mapping[str, bytes] | None = None, owner: Owner | None = None, origin: Origin = Origin.SERVER, time: str | None = None,
        caused_by: tuple[str, ...] = (),
    ) -> str:  # fmt: skip  # a signature in four lines
        """Write one event and give its id; ``word`` names the row of the mapping that made it."""
        seq, raw = self.place.seq, self.place.raw
        count = self._written[seq] = self._written.get(seq, 0) + 1
        event_id = f"row:{seq}" if count == 1 else f"row:{seq}.{count}"
        facts = {name: spelt_out(fact) for name, fact in (data or {}).items() if fact is not None}
        if (called := self._strangers.pop(invocation_id or "", None)) is not None:
            facts.setdefault("correlation", called)
        if kind is Kind.FAILED:
            facts["evidence_ref"] = evidence_ref(self.source, event_id)
        beside = dict(values or {})
        if raw and count == 1:
            beside[RAW] = raw
        event = Event(
            kind=kind, source=self.source, id=event_id, task_id=self.task_id, invocation_id=invocation_id, attempt=attempt,
            owner=owner or KINDS[kind].owners[0], data=facts, time=time, origin=origin, caused_by=caused_by,
            adapter=f"{self.adapter}#{word}",
            raw_ref=value_ref(self.source, f"row:{seq}", RAW) if raw and count > 1 else "",
        )  # fmt: skip  # facts in lines
        self.drafts.append(Draft(event=event, values=beside))
        return event_id
