"""Events on the wire: CloudEvents 1.0 in JSON, with our attributes beside theirs.

``type`` is ``toolcall.`` and the kind, ``subject`` the invocation (or the task, for events about the task itself),
``source`` and ``id`` together the deduplication key. CloudEvents attributes are lower-case and hold no lists, so
``causedby`` is one text of references with blanks between. Source: CloudEvents 1.0.2, JSON Event Format; design §4.1.
"""

from dataclasses import replace
from typing import Annotated, Any, Final, Literal, cast

from pydantic import Field, ValidationError

from toolwitness.contract.base import Attempt, Model, OriginWord, OwnerWord
from toolwitness.contract.problems import from_validation
from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import KINDS, Event
from toolwitness.core.states import Origin, Owner
from toolwitness.core.strict_json import pointer, walk

PREFIX: Final = "toolcall."
SEQUENCE_DIGITS: Final = 10
"""Sequences are padded to this width, so that sorting the texts sorts the numbers; longer ones stay readable."""

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


def parse_event(envelope: dict[str, Any]) -> Event:
    """Read one envelope (as JSON gave it) into an event; what the ledger adds is not read back.

    Raises:
        InvalidInput: an attribute is missing or of the wrong type, or ``data`` holds a fraction; ``facts['field']``
        names it.
    """
    try:
        read = EventEnvelope.model_validate(envelope)
    except ValidationError as error:
        raise from_validation(error, "event") from None
    _refuse_fractions(read.data)
    kind = read.type.removeprefix(PREFIX)
    about_task = read.subject == read.taskid
    return Event(
        kind=kind,
        source=read.source,
        id=read.id,
        task_id=read.taskid,
        owner=read.owner or _owner_of(kind),
        invocation_id=None if about_task else read.subject,
        attempt=read.attempt,
        data=read.data,
        time=read.time,
        sequence=None if read.sequence is None else int(read.sequence),
        origin=read.origin or Origin.SERVER,
        caused_by=tuple((read.causedby or "").split()),
        tenant=read.tenant or "",
        adapter=read.adapter or "",
        raw_ref=read.rawref or "",
    )


def take_values(event: Event, *names: str) -> tuple[Event, dict[str, Any]]:
    """Take the named foreign values out of an event's data, to be kept beside it as bytes (R12).

    A field that already refers to a value stays. The ledger fills in the reference where a value was taken.
    """
    taken = {name: event.data[name] for name in names if name in event.data and not is_value_ref(event.data[name])}
    rest = {name: value for name, value in event.data.items() if name not in taken}
    return replace(event, data=rest), taken


def is_value_ref(value: Any) -> bool:
    """Tell whether a field of an event's data refers to a value that lies beside the event."""
    if not isinstance(value, dict):
        return False
    reference: Any = cast("dict[str, Any]", value).get("ref")
    return isinstance(reference, str) and reference.startswith("val_")


def _owner_of(kind: str) -> Owner:
    spec = KINDS.get(kind)
    # A kind that we do not know can only be somebody's runtime speaking; the fold will say that it does not know it.
    return spec.owners[0] if spec else Owner.RUNTIME


def _refuse_fractions(data: dict[str, Any]) -> None:
    for path, node in walk(data):
        if isinstance(node, float):
            place = pointer(("data", *path))
            raise InvalidInput(
                f"{place} is {node!r}: the fields of an event hold no fractions, since machines write them differently.",
                remedy="Send it as a string, or as an integer of a smaller unit.",
                field=place,
            )
