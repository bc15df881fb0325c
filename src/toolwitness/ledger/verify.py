"""Whether a chain is what was recorded: every hash, order, field and value digest of one task recomputed.

Shared by every ledger. What a ledger keeps beside its events (rows, keys, values) is checked by the ledger itself against what is found
here. A verdict is that of its day: it is covered by the hash and not judged again by today's rules.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.times import parse_rfc3339
from toolwitness.core.verdicts import Judgement, Verdict
from toolwitness.ledger.chain import genesis, link
from toolwitness.ledger.folded import Folded
from toolwitness.ledger.judging import Entry
from toolwitness.ledger.prepare import ERASED_SALT, SALT_BYTES, digest_of, encode, event_of, value_ref
from toolwitness.ports import Problem

EVENTS: Final = "events"
VALUES: Final = "stored_values"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the record exactly as it is stored, whatever its types turn out to be."""

    position: Any
    task_sequence: Any
    recorded_time: Any
    verdict: Any
    reason: Any
    state: Any
    basis: Any
    row: Any
    hash: Any
    body: Any
    reuse: Any = 0


@dataclass(frozen=True, slots=True)
class ExpectedValue:
    """A value that an event says stands beside it."""

    ref: str
    position: int
    name: str
    digest: str
    length: int


@dataclass(slots=True)
class ChainCheck:
    """What one task's chain turned out to hold."""

    folded: Folded
    problems: list[Problem] = field(default_factory=list)
    values: list[ExpectedValue] = field(default_factory=list)
    erased: set[str] = field(default_factory=set)
    events: dict[int, tuple[Event, str | None]] = field(default_factory=dict)
    """Position → the event and the invocation it was evidence for."""


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "position": (int,), "task_sequence": (int,), "recorded_time": (str,), "verdict": (str,), "reason": (str,), "state": (str, type(None)),
    "basis": (str,), "row": (str,), "hash": (bytes,), "body": (bytes,), "reuse": (int,),
}  # fmt: skip  # one column after the other
_HASH_BYTES: Final = 32


def line_of(entry: Entry) -> Line:
    """Give an entry as a line of the record."""
    r = entry.recorded
    return Line(
        position=r.position, task_sequence=r.task_sequence, recorded_time=r.recorded_time, verdict=r.verdict.value, reason=r.reason,
        state=None if r.state is None else r.state.value, basis=r.basis, row=r.row, hash=entry.hash, body=entry.body, reuse=entry.reuse,
    )  # fmt: skip  # one column after the other


def check_chain(task_id: str, lines: Iterable[Line], *, home: Callable[[str], str | None]) -> ChainCheck:
    """Recompute one task's chain; ``home`` gives the task in which an invocation was first seen."""
    check = ChainCheck(Folded.empty(task_id))
    before = genesis(task_id)
    for expected_sequence, line in enumerate(lines, start=1):
        place = f"{EVENTS} {line.position}"
        wrong = [name for name, kinds in _TYPES.items() if type(getattr(line, name)) not in kinds]
        if wrong:
            check.problems += [Problem(f"{place} {name}", f"is stored as {type(getattr(line, name)).__name__}") for name in wrong]
            before = line.hash if "hash" not in wrong else b""
            continue
        event = _event(check, line, place)
        if event is None:
            before = line.hash
            continue
        subject, judgement = _replay(check, event, line, home)
        check.events[line.position] = (event, subject)
        _check_link(check, line, before, expected_sequence, judgement, subject)
        _check_fields(check, event, line, task_id, place)
        _note_values(check, event, line)
        before = line.hash
        check.folded.advance(subject, line.position, before)
    return check


def check_value(expected: ExpectedValue, kept: tuple[Any, Any] | None, *, erased: Collection[str] = ()) -> list[Problem]:
    """Compare a stored value (its salt and its bytes) with what the events of its task say of it and of its erasure."""
    place = f"{VALUES} {expected.ref}"
    if kept is not None and _is_wiped(expected, *kept):
        kept = None
    if expected.ref in erased:
        return [] if kept is None else [Problem(place, "is there, and its task's events say that it was erased")]
    if kept is None:
        return [Problem(place, f"is missing; event {expected.position} refers to it and nothing says that it was erased")]
    salt, content = kept
    for name, part in (("salt", salt), ("content", content)):
        if type(part) is not bytes:
            return [Problem(f"{place} {name}", f"is stored as {type(part).__name__}")]
    if len(content) != expected.length:
        return [Problem(f"{place} content", f"has {len(content)} bytes; event {expected.position} says {expected.length}")]
    if len(salt) != SALT_BYTES:  # HMAC takes a key and the same key with zeros behind it for one
        return [Problem(f"{place} salt", f"has {len(salt)} bytes; {SALT_BYTES} were recorded")]
    if digest_of(salt, content) != expected.digest:
        return [Problem(f"{place} content, salt", f"do not match the digest in event {expected.position}")]
    return []


def _is_wiped(expected: ExpectedValue, salt: Any, content: Any) -> bool:
    """Tell whether only the zeros are there that stand in the place of an erased value."""
    return salt == ERASED_SALT and type(content) is bytes and len(content) == expected.length and not content.strip(b"\0")


def _event(check: ChainCheck, line: Line, place: str) -> Event | None:
    """Read the event of a line; a line that does not hold one is named."""
    try:
        event = event_of(line.body)
        again = encode(event)
    except (ValueError, KeyError, TypeError, InvalidInput) as error:
        check.problems.append(Problem(f"{place} body", f"does not hold an event ({type(error).__name__}: {error})"))
        return None
    if again != line.body:
        check.problems.append(Problem(f"{place} body", "is not in canonical form"))
    return event


def _replay(check: ChainCheck, event: Event, line: Line, home: Callable[[str], str | None]) -> tuple[str | None, Judgement | None]:
    """Fold the event again; a fold that cannot digest it is a problem, not an end."""
    subject = event.invocation_id
    if subject is not None and home(subject) != check.folded.task.id:
        subject = None
    try:
        return subject, check.folded.judge(event, subject, line.recorded_time)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        check.problems.append(Problem(f"{EVENTS} {line.position} body", f"cannot be folded ({type(error).__name__}: {error})"))
        return subject, None


def _check_link(
    check: ChainCheck, line: Line, before: bytes, expected_sequence: int, judgement: Judgement | None, subject: str | None
) -> None:
    """Compare the hash; where it differs, find the column that explains it."""
    place = f"{EVENTS} {line.position}"
    if line.task_sequence != expected_sequence:
        what = f"is {line.task_sequence}; {expected_sequence} was expected: a line was changed, removed or moved"
        check.problems.append(Problem(f"{place} task_sequence", what))
    stored: dict[str, Any] = {name: getattr(line, name) for name in _LINKED}
    if _links(before, line, stored):
        return
    if judgement is None:
        check.problems.append(Problem(f"{place} hash", "does not match the line"))
        return
    row, state = judgement.row, check.folded.state_of(subject)
    likely: dict[str, Any] = {
        "verdict": judgement.verdict.value, "reason": judgement.reason, "state": state.value if state else None,
        "basis": row.basis.value if row else "", "row": row.name if row else "", "task_sequence": expected_sequence,
    }  # fmt: skip  # one column after the other
    if line.reuse:
        likely |= {"verdict": Verdict.REFUSED.value}
    changed = [name for name, value in likely.items() if stored[name] != value]
    if changed and _links(before, line, {**stored, **likely}):
        check.problems += [Problem(f"{place} {name}", f"is {stored[name]!r}; {likely[name]!r} was recorded") for name in changed]
    else:
        columns = "body, recorded_time, reason or hash"
        check.problems.append(
            Problem(f"{place} {columns}", "does not match the chain: the line, or the one before it, is not what was recorded")
        )


_LINKED: Final = ("position", "task_sequence", "recorded_time", "verdict", "reason", "state", "basis", "row")


def _links(before: bytes, line: Line, columns: dict[str, Any]) -> bool:
    """Tell whether these columns give the hash of the line; text that is no text gives none."""
    try:
        return link(before, line.body, **columns) == line.hash
    except (ValueError, TypeError):
        return False


def _check_fields(check: ChainCheck, event: Event, line: Line, task_id: str, place: str) -> None:
    if event.task_id != task_id:
        check.problems.append(Problem(f"{place} task", f"is filed under {task_id!r}; the event belongs to {event.task_id!r}"))
    if parse_rfc3339(line.recorded_time) is None:
        check.problems.append(Problem(f"{place} recorded_time", "is no RFC 3339 time"))
    if len(line.hash) != _HASH_BYTES:
        check.problems.append(Problem(f"{place} hash", f"has {len(line.hash)} bytes"))


def _note_values(check: ChainCheck, event: Event, line: Line) -> None:
    """Note which values stand beside this event, and which one it says was erased."""
    for name, member in event.data.items():
        if isinstance(member, dict) and member.get("ref") == value_ref(event.source, event.id, name, reuse=line.reuse):
            expected = ExpectedValue(member["ref"], line.position, name, str(member.get("digest")), member.get("bytes", -1))
            check.values.append(expected)
    if event.kind == Kind.VALUE_ERASED and line.verdict != Verdict.REFUSED.value:
        check.erased.add(str(event.data.get("value_ref")))
