"""Bytes in, documents out: strictly, with every refusal naming the field, what stood there and the fix."""

from typing import Any, TypeVar, cast

from pydantic import ValidationError

from toolwitness.contract import slices
from toolwitness.contract.base import Model
from toolwitness.contract.envelope import VALUE_FIELDS, EventEnvelope, ParsedEvent, parse_event
from toolwitness.contract.invocation import InvocationDocument
from toolwitness.contract.problems import from_validation
from toolwitness.contract.task import TaskDocument
from toolwitness.core.errors import InvalidInput
from toolwitness.core.strict_json import loads_strict

_Document = TypeVar("_Document", bound=Model)


def parse_invocation(text: bytes | str) -> InvocationDocument:
    """Read a ``tool-call-ui/1`` document.

    Raises:
        InvalidInput: not JSON, ambiguous JSON, or not such a document; ``facts['field']`` is a JSON Pointer.
    """
    return _parse(text, InvocationDocument)


def parse_task(text: bytes | str) -> TaskDocument:
    """Read a task document.

    Raises:
        InvalidInput: as for ``parse_invocation``.
    """
    return _parse(text, TaskDocument)


def parse_envelope(text: bytes | str) -> EventEnvelope:
    """Read one event envelope, unknown attributes and what the ledger added included.

    Raises:
        InvalidInput: as for ``parse_invocation``.
    """
    return _parse(text, EventEnvelope)


def parse_events(text: bytes | str) -> list[ParsedEvent]:
    """Read one event or a CloudEvents batch (a JSON array); all of it is taken or none, and values are kept as written.

    Raises:
        InvalidInput: as for ``parse_invocation``; the field begins with the event's place in the batch.
    """
    loaded = loads_strict(text)
    characters = text if isinstance(text, str) else text.decode("utf-8")
    at = slices.start(characters)
    if isinstance(loaded, dict):
        return [parse_event(loaded, exact=_values(characters, at))]
    if not isinstance(loaded, list):
        raise InvalidInput(
            f"A batch of events is a JSON array, not {type(loaded).__name__}.",
            remedy="Send one event object, or an array of them.",
            field="",
        )
    places = enumerate(zip(cast("list[Any]", loaded), slices.items(characters, at), strict=True))
    return [parse_event(envelope, where=f"/{number}", exact=_values(characters, begin)) for number, (envelope, (begin, _)) in places]


def _values(text: str, at: int) -> dict[str, bytes]:
    """Give the foreign values of the event at ``at`` exactly as they are written."""
    inside = slices.members(text, at).get("data", (0, 0))[0] if text[at] == "{" else 0
    if not inside or text[inside] != "{":
        return {}
    fields = slices.members(text, inside)
    return {name: text[slice(*fields[name])].encode("utf-8") for name in VALUE_FIELDS if name in fields}


def _parse(text: bytes | str, model: type[_Document]) -> _Document:
    loaded = loads_strict(text)
    try:
        return model.model_validate(loaded)
    except ValidationError as error:
        raise from_validation(error, "document") from None
