"""A report as it is written: its events in order, the calls they speak of, and the time at which it begins.

Nothing here knows what an event means. What a report leaves open (a task, a first attempt, a base for its seconds) is settled here once, by
rules that hold for every report.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.times import parse_rfc3339

Fields = Mapping[str, Any]

DEFAULT_TASK: Final = "report"
"""The task of calls for which a report names none."""
_MIDNIGHT: Final = datetime(2025, 3, 10, tzinfo=UTC)
_PEOPLE: Final = frozenset({"user", "ui", "browser", "channel", "client"})
_ABSOLUTE: Final = ("expires_at", "deadline", "clock", "at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event of a report."""

    number: int
    """Its place, from 1."""
    seq: int
    source: str
    type: str
    fields: Fields

    @property
    def invocation(self) -> str:
        """The call that it names, without the attempt; empty where it names none."""
        return text(self.fields.get("invocation"))

    @property
    def by_a_person(self) -> bool:
        """Whether it comes from the side on which people and their clients sit, whose clocks prove nothing (R10)."""
        return self.source in _PEOPLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One report, read."""

    id: str
    kind: str
    input: Fields
    expected: Fields
    steps: tuple[Step, ...]
    base: datetime
    """The time that ``t`` counts from."""

    def time_of(self, step: Step) -> datetime | None:
        """Give the recorder's time of an event, where the report says it; ``None`` where it does not."""
        seconds = step.fields.get("t")
        if isinstance(seconds, int | float) and not isinstance(seconds, bool):
            return self.base + timedelta(seconds=seconds)
        if any("t" in other.fields for other in self.steps) or _hosts(self.steps) > 1:
            return None
        return parse_rfc3339(step.fields.get("clock"))

    def first(self, name: str, *, type_: str = "", field: str = "") -> Any:
        """Give the first thing that any event says of a call under ``field``."""
        for step in self.steps:
            if step.invocation == name and (not type_ or step.type == type_) and step.fields.get(field) is not None:
                return step.fields[field]
        return None

    def actors(self) -> dict[str, frozenset[str]]:
        """Give everybody whom the report names as an actor or as eligible, with the roles that it gives them."""
        found: dict[str, set[str]] = {}
        declared = self.input.get("actors")
        for name, facts in cast("Fields", declared if isinstance(declared, Mapping) else {}).items():
            roles = cast("Fields", facts).get("roles") if isinstance(facts, Mapping) else facts
            found.setdefault(name, set()).update(texts(roles))
        for step in self.steps:
            for who, roles in (actor_of(step.fields.get("actor")), (text(step.fields.get("requested_by")), ())):
                if who:
                    found.setdefault(who, set()).update(roles)
            for who in eligible_of(step):
                if not who.startswith(("role:", "not:")):
                    found.setdefault(who.removeprefix("user:"), set())
        for who in self._named_by_policy():
            found.setdefault(who.removeprefix("user:"), set())
        return {who: frozenset(roles) for who, roles in found.items()}

    def _named_by_policy(self) -> list[str]:
        """Give the people whom the report's policy names for any tool."""
        policy = self.input.get("policy")
        tools = cast("Fields", policy).values() if isinstance(policy, Mapping) else ()
        named = [who for tool in tools if isinstance(tool, Mapping) for who in texts(cast("Fields", tool).get("eligible"))]
        return [who for who in named if not who.startswith(("role:", "not:"))]


def read_story(raw: object) -> Story:
    """Read one report.

    Raises:
        InvalidInput: it is not an object with ``id``, ``kind``, ``input`` and ``expected``.
    """
    if not isinstance(raw, Mapping):
        raise InvalidInput("A report is a JSON object.", field="report")
    report = cast("Fields", raw)
    for name, shape in (("id", str), ("kind", str), ("input", Mapping), ("expected", Mapping)):
        if not isinstance(report.get(name), shape):
            raise InvalidInput(f"The report's {name} is missing or of a wrong type.", field=name)
    told = cast("Fields", report["input"])
    events = told.get("events", told.get("timeline"))
    steps = tuple(_steps(events)) if isinstance(events, list) else ()
    return Story(
        id=report["id"], kind=report["kind"], input=told, expected=cast("Fields", report["expected"]), steps=steps, base=_base(told, steps),
    )  # fmt: skip  # facts in lines


def _steps(events: list[Any]) -> Iterator[Step]:
    for number, event in enumerate(events, start=1):
        if not isinstance(event, Mapping):
            raise InvalidInput(f"Event {number} is not an object.", field="events")
        fields = cast("Fields", event)
        seq = fields.get("seq")
        yield Step(
            number=number, seq=seq if isinstance(seq, int) else number, source=text(fields.get("source")), type=text(fields.get("type")),
            fields=fields,
        )  # fmt: skip  # facts in lines


def _base(told: Fields, steps: Sequence[Step]) -> datetime:
    """Settle what ``t`` counts from: the clock of the report, else that of its servers; a person's clock is never taken.

    Where the report gives no clock at all, its seconds count so that a recorded expiry falls on its deadline, or from midnight of the first
    day that it names.
    """
    for name in ("now", "clock", "start", "base"):
        given = parse_rfc3339(told.get(name))
        if given is not None:
            return given
    for step in steps:
        at, seconds = parse_rfc3339(step.fields.get("clock")), step.fields.get("t")
        if at is not None and isinstance(seconds, int | float) and not step.by_a_person:
            return at - timedelta(seconds=seconds)
    recorded = [at for step in steps if (at := _expiry_time(step, steps)) is not None]
    if recorded:
        return max(recorded)
    named = [at for step in steps for name in _ABSOLUTE if (at := parse_rfc3339(step.fields.get(name))) is not None]
    return min(named).replace(hour=0, minute=0, second=0, microsecond=0) if named else _MIDNIGHT


def _expiry_time(step: Step, steps: Sequence[Step]) -> datetime | None:
    """Give the base from which a recorded expiry falls on the deadline that it is about."""
    seconds = step.fields.get("t")
    if step.type != "approval.expired" or not isinstance(seconds, int | float):
        return None
    asked = next((other for other in steps if other.type == "approval.requested" and _same_approval(other, step)), None)
    declared = parse_rfc3339(asked.fields.get("expires_at")) if asked else None
    return declared - timedelta(seconds=seconds) if declared else None


def _same_approval(asked: Step, expired: Step) -> bool:
    named = expired.fields.get("approval")
    return asked.fields.get("approval") == named if named else asked.invocation == expired.invocation


def _hosts(steps: Sequence[Step]) -> int:
    return len({text(step.fields.get("host")) for step in steps if step.fields.get("host")})


# ── reading fields ──────────────────────────────────────────────────────────────────────────────────────────────────


def text(value: object) -> str:
    """Give a text, and the empty one for whatever is none."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> list[str]:
    """Give the texts of a list; a bare text is a list of one."""
    if isinstance(value, str):
        return [value]
    return [item for item in cast("list[object]", value) if isinstance(item, str)] if isinstance(value, list) else []


def actor_of(given: object) -> tuple[str, frozenset[str]]:
    """Read who acted: an id, or an object with an id and roles. A display name is not an identity."""
    if isinstance(given, Mapping):
        said = cast("Fields", given)
        return text(said.get("id")), frozenset(texts(said.get("roles")))
    return text(given), frozenset()


def eligible_of(step: Step) -> list[str]:
    """Give those who may answer an approval request, as the report writes them."""
    authority = step.fields.get("authority")
    said = cast("Fields", authority).get("eligible") if isinstance(authority, Mapping) else authority
    return texts(said if said is not None else step.fields.get("eligible"))


def written(value: object) -> bytes:
    """Write inputs or a result as exact bytes; a text is taken as the bytes that somebody already wrote."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def digest_of(value: object) -> str:
    """Give the digest under which the reports name inputs: the first 16 hex digits of SHA-256 over canonical JSON."""
    return "sha256:" + sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode("utf-8", "surrogatepass")).hexdigest()[:16]
