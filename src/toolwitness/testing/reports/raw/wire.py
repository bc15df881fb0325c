"""A reader at the desk of a report: its drafts go into the report's ledger, and its calls get the report's names."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwitness.bootstrap.replay import reader_for
from toolwitness.core.evidence import Kind
from toolwitness.ports import Draft, Recorded
from toolwitness.service.replay import RowReader
from toolwitness.testing.reports.stage import Answer, Stage
from toolwitness.testing.reports.story import text

_DECISIONS = {Kind.GRANTED: "approve", Kind.DENIED: "deny", Kind.CANCEL_REQUESTED: "cancel", Kind.INPUT_SUPPLIED: "supply"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something that a reader reported about an item, in words: a spelling, a contradiction, a word that it does not have."""

    seq: int
    word: str
    why: str


@dataclass(slots=True, kw_only=True)
class Wire:
    """One reader, and what it has made so far."""

    stage: Stage
    reader: RowReader
    remarks: list[Remark] = field(default_factory=list[Remark])
    items: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    """What was fed, by the number that the report gives it."""

    @classmethod
    def of(cls, stage: Stage, format_name: str) -> "Wire":
        """Open the reader of a format."""
        return cls(stage=stage, reader=reader_for(format_name, f"capture:{stage.story.id or 'report'}"))

    async def feed(self, item: Mapping[str, Any], seq: int) -> Answer:
        """Feed one item; give what it recorded, as the answer to a decision where it is one."""
        self.items[seq] = item
        known = len(self.reader.unmapped)
        recorded = await self._append(self.reader.feed({**item, "seq": seq}, raw=json.dumps(item).encode()))
        self.remarks += [Remark(seq=seq, word=one.word, why=one.why) for one in list(self.reader.unmapped)[known:]]
        await self._name()
        return _answer(recorded)

    async def close(self, seq: int) -> tuple[Recorded, ...]:
        """End the wire."""
        known = len(self.reader.unmapped)
        recorded = await self._append(self.reader.close())
        self.remarks += [Remark(seq=seq, word=one.word, why=one.why) for one in list(self.reader.unmapped)[known:]]
        await self._name()
        return recorded

    async def _append(self, drafts: Sequence[Draft]) -> tuple[Recorded, ...]:
        by_task: dict[str, list[Draft]] = {}
        for draft in drafts:
            by_task.setdefault(draft.event.task_id, []).append(draft)
        return tuple([one for task, batch in by_task.items() for one in await self.stage.append(batch, task)])

    async def _name(self) -> None:
        """Give the calls the report's names: by its map of wire ids, else by tool and first input."""
        named = self.stage.story.input.get("map")
        names: Mapping[str, Any] = named if isinstance(named, Mapping) else {}
        for task_id in await self.stage.ledger.tasks(limit=1_000):
            view = await self.stage.ledger.task(task_id)
            for record in view.records.values() if view else ():
                if record.id in self.stage.names.values():
                    continue
                wire_id = text(record.correlation[0].get("provider_call_id")) if record.correlation else ""
                name = text(names.get(wire_id)) or await self._by_inputs(record.id, record.tool)
                if name not in self.stage.names:
                    self.stage.names[name] = record.id

    async def _by_inputs(self, invocation_id: str, tool: str) -> str:
        record = await self.stage.record(invocation_id)
        try:
            inputs: object = json.loads(await self.stage.standing(record)) if record else {}
        except ValueError:
            inputs = {}
        first = next(iter(inputs.values()), "") if isinstance(inputs, dict) else ""
        return f"{tool}({first})"


def _answer(recorded: tuple[Recorded, ...]) -> Answer:
    """Read what was recorded as the answer to a decision: it counts, or it was refused by the rule that the record names."""
    for one in recorded:
        act = _DECISIONS.get(one.event.kind)  # type: ignore[call-overload]  # a kind of a stranger is a plain text
        if act is None:
            continue
        if str(one.verdict) != "refused":
            return Answer(decision="accepted", act=act, recorded=recorded)
        rule, _, reason = one.reason.partition(": ")
        return Answer(decision="refused", act=act, rule=rule, reason=reason, recorded=recorded)
    return Answer(recorded=recorded)
