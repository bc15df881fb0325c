"""Replay a capture: rows of a recorded run → evidence in a ledger → documents and events as one JSON object.

Nothing here knows a framework, a file or a kind of ledger: the rows are lines of bytes, what reads them is a ``RowReader``, and both ledger
and reader are handed in. So the runner lies with the commands, above the ports and below everything that knows a framework; ``bootstrap``
puts the three together. It cannot lie in ``adapters``, whose rooms are strangers to one another.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol, cast

from toolwitness.contract.document import build_invocation_document, build_task_document
from toolwitness.contract.envelope import encode_recorded
from toolwitness.core.errors import InvalidInput
from toolwitness.core.task import blocked_by
from toolwitness.ports import Draft, Ledger, Recorded
from toolwitness.wire.json_text import parse

TRUTH: Final = "truth"
"""The rows that only a judge may see: no reader gets them."""


class Report(Protocol):
    """A row, or a word in it, that says nothing to us, and why."""

    @property
    def row(self) -> int: ...  # noqa: D102 -- the class says it
    @property
    def word(self) -> str: ...  # noqa: D102 -- the class says it
    @property
    def why(self) -> str: ...  # noqa: D102 -- the class says it


class RowReader(Protocol):
    """Maps the rows of one capture, in order, to drafts."""

    @property
    def unmapped(self) -> Sequence[Report]:
        """What was not mapped."""
        ...

    def feed(self, row: Mapping[str, Any], *, raw: bytes = b"") -> Sequence[Draft]:
        """Map one row; ``raw`` is its line as it came."""
        ...

    def close(self) -> Sequence[Draft]:
        """Say what still waited for a next row."""
        ...


class RecordingClock:
    """A clock that stands where the recording stands: seconds since it began, from 1970 on, so that no replay invents a time of day."""

    def __init__(self) -> None:
        """Begin with the recording."""
        self.seconds: float = 0.0

    def now(self) -> datetime:
        """Give the recording's own time."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class Row:
    """One readable line of a capture."""

    number: int
    members: Mapping[str, Any]
    raw: bytes


@dataclass(frozen=True, slots=True)
class Unread:
    """One line that could not be read, and why."""

    row: int
    why: str
    word: str = ""


def read_rows(lines: Iterable[bytes]) -> Iterator[Row | Unread]:
    """Read JSON lines leniently: a broken one is reported and the rest is read on."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        parsed = parse(line, expect="object")
        value: object = parsed.value
        if not parsed.is_whole or not isinstance(value, dict):
            why = "; ".join(f"{problem.code}: {problem.detail}" for problem in parsed.problems) or "not an object"
            yield Unread(number, f"the line is not a row of a capture ({why})")
            continue
        members = cast("dict[str, Any]", value)
        yield Row(number, members if isinstance(members.get("seq"), int) else {**members, "seq": number}, line.rstrip(b"\r\n"))


async def replay(
    lines: Iterable[bytes], *, reader: RowReader, ledger: Ledger, clock: RecordingClock, file: str, format_name: str
) -> dict[str, Any]:
    """Replay ``lines`` into ``ledger`` and give what became of them: tasks, invocations, events, and every row that says nothing to us.

    ``clock`` is the ledger's own; it is set to the time of each row.

    Raises:
        InvalidInput: not one line could be read.
    """
    unread: list[Unread] = []
    read = 0
    for row in read_rows(lines):
        if isinstance(row, Unread):
            unread.append(row)
            continue
        read += 1
        if row.members.get("src") == TRUTH:
            continue
        at = row.members.get("t")
        clock.seconds = max(clock.seconds, float(at)) if isinstance(at, int | float) and 0 <= at < 1e9 else clock.seconds
        await _append(ledger, reader.feed(row.members, raw=row.raw))
    if not read:
        raise InvalidInput(f"No line of {file} is a row of a capture.", field="file", remedy="Give a capture: JSON objects, one a line.")
    await _append(ledger, reader.close())
    reports = sorted((*unread, *reader.unmapped), key=lambda report: report.row)
    return {
        "file": file,
        "format": format_name,
        **await _result(ledger),
        "unmapped": [{"row": report.row, "word": report.word, "why": report.why} for report in reports],
    }


async def executed_inputs(ledger: Ledger) -> dict[str, str]:
    """Give the inputs that each call is on record to have been executed with, by invocation, as they were written."""
    found: dict[str, str] = {}
    for task_id in await ledger.tasks(limit=1_000_000):
        view = await ledger.task(task_id)
        for record in view.records.values() if view else ():
            ref = _ref(record.executed_inputs)
            value = await ledger.value(ref) if isinstance(ref, str) else None
            if value is not None:
                found[str(record.id)] = value.decode("utf-8", "backslashreplace")
    return found


async def _append(ledger: Ledger, drafts: Sequence[Draft]) -> None:
    by_task: dict[str, list[Draft]] = {}
    for draft in drafts:
        by_task.setdefault(draft.event.task_id, []).append(draft)
    for task_id, batch in by_task.items():
        await ledger.append(task_id, batch)


async def _result(ledger: Ledger) -> dict[str, Any]:
    """Give all that the ledger holds, oldest task first."""
    tasks: list[dict[str, Any]] = []
    invocations: list[dict[str, Any]] = []
    for task_id in reversed(await ledger.tasks(limit=1_000_000)):
        view = await ledger.task(task_id)
        if view is None:
            continue
        tasks.append(build_task_document(view.task, view.records))
        for record in view.records.values():
            cited = [record.inputs, record.executed_inputs, record.outcome.data.get("result") if record.outcome else None, record.progress]
            values = await _values(ledger, cited)
            blocked = blocked_by(record, view.task, view.records)
            invocations.append(build_invocation_document(record, values=values, blocked=blocked))
    return {"tasks": tasks, "invocations": invocations, "events": [_event(recorded) for recorded in await ledger.read()]}


async def _values(ledger: Ledger, cited: Iterable[Any]) -> dict[str, bytes]:
    refs = [ref for one in cited for ref in (_ref(one), _ref(_member(one, "text"))) if isinstance(ref, str)]
    found = {ref: await ledger.value(ref) for ref in refs if ref.startswith("val_")}
    return {ref: value for ref, value in found.items() if value is not None}


def _ref(value: Any) -> Any:
    return _member(value, "ref")


def _member(value: Any, name: str) -> Any:
    return cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None


_ROW_ID: Final = re.compile(r"row:(\d+)")


def _event(recorded: Recorded) -> dict[str, Any]:
    """Give the envelope with its verdict and the row of the capture that said it (``null`` where no row did).

    ``transition`` is the row of the transition table that moved the state, ``state`` the state after the event.
    """
    envelope = encode_recorded(recorded)
    said = _ROW_ID.match(recorded.event.id)
    return {
        "reason": None,
        **envelope,
        "row": int(said[1]) if said else None,
        "transition": envelope.get("row"),
        "state": recorded.state,
        "basis": recorded.basis or None,
    }
