"""Of what type each field of evidence must be, so that a wrong one is named and nothing is believed of it.

Only fields that the fold reads stand here. Whatever else a source puts beside them is its own affair and is kept as it came (R11).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.evidence import Event, Kind


@dataclass(frozen=True, slots=True)
class Shape:
    """A type in words, and the test for it."""

    words: str
    fits: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(member, str) for member in cast("Sequence[object]", value))


TEXT: Final = Shape("text", _is_text)
WHOLE_NUMBER: Final = Shape("a whole number", _is_whole)
ORDINAL: Final = Shape("a whole number from 1", lambda value: _is_whole(value) and value >= 1)
TEXTS: Final = Shape("a list of texts", _is_texts)
REFERENCE: Final = Shape("the reference of a value", lambda value: isinstance(value, Mapping))


def _shapes(text: str = "", **others: Shape) -> Mapping[str, Shape]:
    return MappingProxyType({**dict.fromkeys(text.split(), TEXT), **others})


_ACT: Final = _shapes("actor reason new_invocation scope")

SHAPES: Final[Mapping[str, Mapping[str, Shape]]] = MappingProxyType({
    Kind.TASK_OPENED: _shapes("purpose parent_task synthesis", required_children=TEXTS, optional_children=TEXTS),
    Kind.PROPOSED: _shapes(
        "tool retry_of reverses replaces role cancel_support requested_by linked_by",
        inputs=REFERENCE, dependencies=TEXTS, consequences=TEXTS,
        changed=TEXTS,
    ),
    Kind.CLAIMED: _shapes("permit inputs_digest", attempt=WHOLE_NUMBER),
    Kind.ACCEPTED: _shapes("queue_ref accepted_at"),
    Kind.STARTED: _shapes("executor lease expires_at cancel_support started_at inputs_compared", attempt=WHOLE_NUMBER, inputs=REFERENCE),
    Kind.HEARTBEAT: _shapes("lease expires_at", attempt=WHOLE_NUMBER),
    Kind.PROGRESS: _shapes("lease", order=WHOLE_NUMBER, percent=WHOLE_NUMBER),
    Kind.OUTPUT: _shapes("lease", order=WHOLE_NUMBER),
    Kind.PART_COMPLETED: _shapes(open=TEXTS),
    Kind.SUCCEEDED: _shapes("completed_at validation lease"),
    Kind.FAILED: _shapes("category detail evidence_ref effects lease inferred_by"),
    Kind.CANCEL_ACKNOWLEDGED: _shapes("termination initiator scope reason at effects"),
    Kind.LOST: _shapes("reason"),
    Kind.DEADLINE_ELAPSED: _shapes("deadline declared_at approval_id"),
    Kind.TASK_REPORTED: _shapes("claimed reason"),
    Kind.HISTORY_READ: _shapes("history call result"),
    Kind.INPUT_REQUIRED: _shapes("collector expires_at", unresolved=TEXTS),
    Kind.INPUTS_ACCEPTED: _shapes("inputs_digest", unresolved=TEXTS, inputs=REFERENCE),
    Kind.INPUTS_REJECTED: _shapes("collector expires_at", unresolved=TEXTS),
    Kind.APPROVAL_REQUESTED: _shapes("approval_id expires_at inputs_digest", needed=WHOLE_NUMBER),
    Kind.APPROVAL_INVALIDATED: _shapes("approval_id reason"),
    Kind.PERMITTED: _shapes("expires_at result_expires_at"),
    Kind.REFUSED: _shapes("rule reason"),
    Kind.CLOSED: _shapes("kind initiator scope reason at replaced_by owner_name"),
    Kind.DEPENDENCY_MOVED: _shapes("dependency moved_to"),
    Kind.DEPENDENCY_RESOLVED: _shapes("dependency by"),
    Kind.GRANT_RECORDED: _shapes("grant_id"),
    Kind.GRANT_USED: _shapes("grant_id used_by", number=ORDINAL),
    Kind.GRANT_REVOKED: _shapes("grant_id"),
    Kind.HOLD_RELEASED: _shapes("held_source", up_to=WHOLE_NUMBER),
    Kind.INPUT_SUPPLIED: _ACT,
    Kind.INPUTS_EDITED: _ACT,
    Kind.GRANTED: _shapes("actor approval_id inputs_digest reason", roles=TEXTS),
    Kind.DENIED: _shapes("actor approval_id reason", roles=TEXTS),
    Kind.DISMISSED: _ACT,
    Kind.WITHDRAWN: _ACT,
    Kind.CANCEL_REQUESTED: _ACT,
    Kind.RETRY_REQUESTED: _ACT,
    Kind.REVERSAL_REQUESTED: _ACT,
    Kind.ROUTE_CHOSEN: _ACT,
    Kind.CHILD_WAIVED: _shapes("actor child reason"),
})  # fmt: skip  # one line a kind
"""The fields of each kind whose type matters; the others may hold whatever the source likes."""


def malformed_fields(event: Event) -> tuple[str, ...]:
    """Name the fields of ``event`` that are of a wrong type, each with what it is and what it must be; empty when all fit.

    An absent field, and one that is null, has no type: whether it may be absent is another question.
    """
    if _plainly_fits(event):
        return ()
    if not isinstance(event.data, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # what a source sends need not keep a type
        return (f"field data is {_word(event.data)} and must be an object",)
    wrong = [
        f"field {name} is {_word(value)} and must be {shape.words}"
        for name, shape in SHAPES.get(event.kind, {}).items()
        if (value := event.data.get(name)) is not None and not shape.fits(value)
    ]
    wrong += [
        f"field {name} is {_word(value)} and must be {ORDINAL.words}"
        for name, value in (("attempt", event.attempt), ("sequence", event.sequence))
        if value is not None and not ORDINAL.fits(value)
    ]
    return tuple(wrong)


_PLAIN: Final[Mapping[Shape, type]] = MappingProxyType({TEXT: str, WHOLE_NUMBER: int, REFERENCE: dict})
_EXACT: Final = {kind: {name: _PLAIN.get(shape, tuple) for name, shape in shapes.items()} for kind, shapes in SHAPES.items()}
"""The very type of each field; ``tuple``, which no plain JSON is, where only a closer look tells."""


def _plainly_fits(event: Event) -> bool:
    """Tell quickly that every field has the very type that it must have; where it does not, a closer look decides."""
    data: Any = event.data
    attempt, exact = event.attempt, _EXACT.get(event.kind, _NOTHING)
    if type(data) is not dict or event.sequence is not None or not (attempt is None or (type(attempt) is int and attempt >= 1)):
        return False
    for name, value in cast("dict[str, Any]", data).items():
        wanted = exact.get(name)
        if wanted is not None and type(value) is not wanted and value is not None:
            return False
    return True


_NOTHING: Final[Mapping[str, type]] = MappingProxyType({})


def _word(value: Any) -> str:
    """Name the type of a value, and the value itself where it is a number, since a number may be of the right type and too small."""
    return f"{type(value).__name__} {value}" if _is_whole(value) else type(value).__name__
