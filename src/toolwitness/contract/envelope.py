"""Events on the wire: CloudEvents 1.0 in JSON, with our attributes beside theirs.

``type`` is ``toolcall.`` and the kind, ``subject`` the invocation (or the task, for events about the task itself),
``source`` and ``id`` together the deduplication key. CloudEvents attributes are lower-case and hold no lists, so
``causedby`` is one text of references with blanks between. Source: CloudEvents 1.0.2, JSON Event Format; design §4.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Protocol, cast

from pydantic import Field, ValidationError

from toolwitness.contract.base import Attempt, Model, OriginWord, OwnerWord
from toolwitness.contract.encode import encode
from toolwitness.contract.problems import from_validation
from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Event
from toolwitness.core.states import Origin, Owner
from toolwitness.core.strict_json import pointer, walk
from toolwitness.core.vocabulary import KINDS

PREFIX: Final = "toolcall."
SEQUENCE_DIGITS: Final = 10
"""Sequences are padded to this width, so that sorting the texts sorts the numbers; longer ones stay readable."""

VALUE_FIELDS: Final = ("inputs", "result", "output", "raw", "exception")
"""Fields of an event's data that are other people's values; they are kept as bytes beside the event (R12)."""

Digits = Annotated[str, Field(pattern=r"^[0-9]{1,18}$")]


class EventEnvelope(Model):
    """One CloudEvents 1.0 event of ours. Attributes that we do not know are kept."""

    specversion: Literal["1.0"]
    id: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    type: Annotated[str, Field(pattern=r"^toolcall\..+$")]
    subject: Annotated[str, Field(min_length=1)]
    taskid: Annotated[str, Field(min_length=1)]
    time: str | None = None
    """The source's own RFC 3339 time; absent when it gave none."""
    datacontenttype: Literal["application/json"] = "application/json"
    data: dict[str, Any] = Field(default_factory=dict[str, Any])
    owner: OwnerWord | None = None
    """Who owns the fact. Where it is absent, the kind says it; the server checks it either way (R13)."""
    attempt: Attempt | None = None
    sequence: Digits | None = None
    origin: OriginWord | None = None
    causedby: str | None = None
    tenant: str | None = None
    adapter: str | None = None
    rawref: str | None = None
    position: int | None = None
    """Added by the ledger, as are all that follow."""
    recordedtime: str | None = None
    verdict: str | None = None
    reason: str | None = None
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    row: str | None = None


def encode_event(
    event: Event,
    *,
    position: int | None = None,
    recorded_time: str | None = None,
    verdict: str | None = None,
    reason: str | None = None,
    hash: str | None = None,  # noqa: A002 -- the attribute's name in the envelope
    row: str | None = None,
) -> dict[str, Any]:
    """Give the envelope of ``event`` as a plain dict; what is absent has no key.

    The keyword arguments are what the ledger added when it recorded the event.
    """
    attributes: dict[str, Any] = {
        "specversion": "1.0",
        "id": event.id,
        "source": event.source,
        "type": PREFIX + event.kind,
        "subject": event.invocation_id or event.task_id,
        "time": event.time,
        "datacontenttype": "application/json",
        "owner": str(event.owner),
        "taskid": event.task_id,
        "attempt": event.attempt,
        "sequence": None if event.sequence is None else f"{event.sequence:0{SEQUENCE_DIGITS}d}",
        "origin": str(event.origin),
        "causedby": " ".join(event.caused_by) or None,
        "tenant": event.tenant or None,
        "adapter": event.adapter or None,
        "rawref": event.raw_ref or None,
        "position": position,
        "recordedtime": recorded_time,
        "verdict": None if verdict is None else str(verdict),
        "reason": reason or event.refusal or None,
        "hash": hash,
        "row": row or None,
    }
    envelope = {name: value for name, value in attributes.items() if value is not None}
    envelope["data"] = dict(event.data)
    return envelope


class RecordedEvent(Protocol):
    """An event with what the ledger added, whichever ledger it was."""

    @property
    def event(self) -> Event:
        """The event itself."""
        ...

    @property
    def position(self) -> int:
        """Its place in the ledger."""
        ...

    @property
    def recorded_time(self) -> str:
        """When it was recorded."""
        ...

    @property
    def verdict(self) -> str:
        """What became of it on arrival."""
        ...

    @property
    def reason(self) -> str:
        """Why."""
        ...

    @property
    def hash(self) -> str:
        """The chain up to it."""
        ...

    @property
    def row(self) -> str:
        """The row of the table that it moved by."""
        ...


def encode_recorded(recorded: RecordedEvent) -> dict[str, Any]:
    """Give the envelope of a recorded event, with what the ledger added."""
    return encode_event(
        recorded.event,
        position=recorded.position,
        recorded_time=recorded.recorded_time,
        verdict=recorded.verdict,
        reason=recorded.reason,
        hash=recorded.hash,
        row=recorded.row,
    )


def decode_event(envelope: Any, *, where: str = "") -> Event:
    """Read an envelope of our own back into its event: the inverse of ``encode_event``; what the ledger added is left out.

    Raises:
        InvalidInput: an attribute is missing or of the wrong type, or ``data`` holds a fraction; ``facts['field']`` (after
            ``where``) names it.
    """
    read = _read(envelope, where)
    _refuse_fractions(read.data, where)
    return _event(read, read.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEvent:
    """An event from outside, with the foreign values that came inside it."""

    event: Event
    values: Mapping[str, bytes]
    """Field of ``event.data`` → its JSON, to be kept beside the event; the ledger fills in the reference."""


def parse_event(envelope: Any, *, where: str = "", exact: Mapping[str, bytes] | None = None) -> ParsedEvent:
    """Read an envelope that a stranger sent: its foreign values are parted from its fields, and it can refer to none of ours.

    ``exact`` holds values as they were written, by field; a value that is not in it is written anew, its digits unchanged
    but perhaps not its white space.

    Raises:
        InvalidInput: as for ``decode_event``, or the event refers to a value; references are given out here and not brought along.
    """
    read = _read(envelope, where)
    written = exact or {}
    values = {
        name: written[name] if name in written else encode(read.data[name]) for name in VALUE_FIELDS if read.data.get(name) is not None
    }
    fields = {name: value for name, value in read.data.items() if name not in values}
    _refuse_fractions(fields, where)
    _refuse_references(fields, read.rawref, where)
    return ParsedEvent(event=_event(read, fields), values=values)


def is_value_ref(value: Any) -> bool:
    """Tell whether a field of an event's data refers to a value that lies beside the event."""
    if not isinstance(value, dict):
        return False
    ref: Any = cast("dict[str, Any]", value).get("ref")
    return isinstance(ref, str) and ref.startswith("val_")


def _read(envelope: Any, where: str) -> EventEnvelope:
    try:
        return EventEnvelope.model_validate(envelope)
    except ValidationError as error:
        raise from_validation(error, "event", where=where) from None


def _event(read: EventEnvelope, data: dict[str, Any]) -> Event:
    kind = read.type.removeprefix(PREFIX)
    return Event(
        kind=kind,
        source=read.source,
        id=read.id,
        task_id=read.taskid,
        owner=read.owner or _owner_of(kind),
        invocation_id=None if read.subject == read.taskid else read.subject,
        attempt=read.attempt,
        data=data,
        time=read.time,
        sequence=None if read.sequence is None else int(read.sequence),
        origin=read.origin or Origin.SERVER,
        caused_by=tuple((read.causedby or "").split()),
        tenant=read.tenant or "",
        adapter=read.adapter or "",
        raw_ref=read.rawref or "",
    )


def _owner_of(kind: str) -> Owner:
    spec = KINDS.get(kind)
    # A kind that we do not know can only be somebody's runtime speaking; the fold will say that it does not know it.
    return spec.owners[0] if spec else Owner.RUNTIME


def _refuse_fractions(data: dict[str, Any], where: str) -> None:
    for path, node in walk(data):
        if isinstance(node, float):
            place = where + pointer(("data", *path))
            raise InvalidInput(
                f"{place} is {node!r}: the fields of an event hold no fractions, since machines write them differently.",
                remedy="Send it as a string, or as an integer of a smaller unit.",
                field=place,
            )


def _refuse_references(fields: dict[str, Any], raw_ref: str | None, where: str) -> None:
    places = [pointer(("data", *path)) for path, node in walk(fields) if is_value_ref(node)]
    for place in [*places, *(["/rawref"] if raw_ref else [])]:
        raise InvalidInput(
            f"{where}{place} refers to a value, and references are given out here.",
            remedy="Send the value itself.",
            field=f"{where}{place}",
        )
