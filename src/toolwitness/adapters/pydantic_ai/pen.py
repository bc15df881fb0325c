"""Writes the drafts of one capture: ids, times, owners and the raw row are settled here and nowhere else.

Ids depend on the source and the row alone, so that replaying a capture twice says the same things twice, and the second time is a duplicate.
"""

import json
from base64 import b32encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from toolwitness.adapters.pydantic_ai.mapping import ADAPTER, VERSION
from toolwitness.core.evidence import KINDS, Event, Kind, evidence_ref
from toolwitness.core.states import Origin, Owner
from toolwitness.ledger.prepare import RAW, value_ref
from toolwitness.ports import Draft

UNRECORDED: Final = "unrecorded"
"""The actor of a decision that came from outside without a name."""


def stable(*parts: str) -> str:
    """Give 26 characters that are always the same for the same parts."""
    return b32encode(sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest())[:26].decode().lower()


def exact(value: Any) -> bytes:
    """Give a text as its own bytes, and anything else as compact JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _plain(fact: Any) -> Any:
    """Give a fact as the record can hold it: half a surrogate pair, which no UTF-8 carries, is spelt out."""
    if isinstance(fact, str):
        return fact.encode("utf-8", "backslashreplace").decode()
    if isinstance(fact, list):
        return [_plain(one) for one in fact]
    return {str(name): _plain(one) for name, one in fact.items()} if isinstance(fact, dict) else fact


class Pen:
    """Writes events about calls in the name of one capture file, row by row."""

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, such as ``capture:a_ok.jsonl``."""
        self.source = source
        self.task_id = f"task_{stable(source)}"
        self.seq = 0
        self.clock = "an unrecorded time"
        """Where in the recording the current row stands, in words: it has no absolute time."""
        self.raw = b""
        self._written = 0
        self.drafts: list[Draft] = []

    def begin(self, seq: int, seconds: float | None, raw: bytes) -> None:
        """Go to a row: its number, its seconds into the recording, its exact bytes."""
        self.seq, self.raw, self._written = seq, raw, 0
        if seconds is not None:
            self.clock = f"{seconds} s into the recording"

    def take(self) -> list[Draft]:
        """Give what was written since the last time, in order."""
        drafts, self.drafts = self.drafts, []
        return drafts

    def new_id(self, prefix: str, *parts: str) -> str:
        """Give an id that belongs to this capture and to ``parts``."""
        return f"{prefix}_{stable(self.source, *parts)}"

    def write(
        self, kind: Kind, word: str, invocation_id: str | None = None, *, attempt: int | None = None, data: Mapping[str, Any] | None = None,
        values: Mapping[str, bytes] | None = None, owner: Owner | None = None, origin: Origin = Origin.SERVER, time: str | None = None,
        caused_by: tuple[str, ...] = (),
    ) -> str:  # fmt: skip  # a signature in four lines
        """Write one event and give its id; ``word`` names the row of the mapping that made it."""
        self._written += 1
        event_id = f"row:{self.seq}" if self._written == 1 else f"row:{self.seq}.{self._written}"
        facts = {name: _plain(fact) for name, fact in (data or {}).items() if fact is not None}
        if kind is Kind.FAILED:
            facts["evidence_ref"] = evidence_ref(self.source, event_id)
        beside = dict(values or {})
        if self.raw and self._written == 1:
            beside[RAW] = self.raw
        event = Event(
            kind=kind, source=self.source, id=event_id, task_id=self.task_id, invocation_id=invocation_id, attempt=attempt,
            owner=owner or KINDS[kind].owners[0], data=facts, time=time, origin=origin, caused_by=caused_by,
            adapter=f"{ADAPTER}@{VERSION}#{word}",
            raw_ref=value_ref(self.source, f"row:{self.seq}", RAW) if self.raw and self._written > 1 else "",
        )  # fmt: skip  # facts in lines
        self.drafts.append(Draft(event=event, values=beside))
        return event_id
