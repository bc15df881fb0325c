"""Where an input came from: declared by the caller, or it reads ``unrecorded``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.runtime.outcomes import CallOutcome


@dataclass(frozen=True, slots=True)
class Provided:
    """A value with its declared provenance."""

    value: Any
    source: str
    source_ref: str
    pointer: str = ""


def from_result(outcome: CallOutcome, pointer: str = "") -> Provided:
    """Take an input from the result of an earlier call, by JSON Pointer (RFC 6901), and declare it.

    Raises:
        InvalidInput: the call has no result, or the pointer leads nowhere in it.
    """
    if outcome.kind != "ok":
        raise InvalidInput(
            f"Call {outcome.invocation_id} has no result ({outcome.which}).",
            field="outcome",
            remedy="Check outcome.commit before using it.",
        )
    value = outcome.value
    for token in pointer.split("/")[1:] if pointer else []:
        value = _step(value, token.replace("~1", "/").replace("~0", "~"), pointer)
    return Provided(value, "result", outcome.invocation_id, pointer)


def from_user(value: Any, reference: str = "") -> Provided:
    """Declare that a person gave this input; ``reference`` says where (a message id, a form)."""
    return Provided(value, "user", reference)


def _step(value: Any, token: str, pointer: str) -> Any:
    """Follow one step of a pointer through mappings, sequences, models and dataclasses."""
    try:
        if isinstance(value, Mapping):
            return cast("Mapping[str, Any]", value)[token]
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return cast("Sequence[Any]", value)[int(token)]
        if is_dataclass(value) or hasattr(cast("type[Any]", type(value)), "model_fields"):
            return getattr(value, token)
    except (KeyError, IndexError, ValueError, AttributeError):
        pass
    raise InvalidInput(
        f"The pointer {pointer!r} leads nowhere at {token!r}.", field="pointer", remedy="Point at something the result holds."
    )


def split(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Part inputs from their provenance; what nobody declared reads ``unrecorded``."""
    values: dict[str, Any] = {}
    rows: list[dict[str, str]] = []
    for name, value in given.items():
        if isinstance(value, Provided):
            values[name] = value.value
            row = {"field": name, "source": value.source, "source_ref": value.source_ref, "pointer": value.pointer}
        else:
            values[name] = value
            row = {"field": name, "source": "unrecorded"}
        rows.append({k: v for k, v in row.items() if v})
    return values, rows
