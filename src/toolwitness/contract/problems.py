"""Why a document was refused, in words that name the field, what stood there and what to do."""

from typing import Any, Final, cast

from pydantic import ValidationError

from toolwitness.core.errors import InvalidInput
from toolwitness.core.strict_json import pointer

_SHOWN: Final = 3
"""How many problems the message names; ``facts['problems']`` holds them all."""

_EXPECTED: Final = {
    "string_type": "a string",
    "int_type": "an integer",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def from_validation(error: ValidationError, what: str, *, where: str = "") -> InvalidInput:
    """Turn a validation error into a refusal of ``what`` (``document``, ``event``); ``where`` goes before each place."""
    problems = [(where + place, text) for place, text in map(_problem, error.errors(include_url=False))]
    shown = "; ".join(f"{place or 'the top level'}: {text}" for place, text in problems[:_SHOWN])
    more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
    return InvalidInput(
        f"The {what} is refused: {shown}{more}.",
        remedy=f"Correct {'it' if len(problems) == 1 else 'them'} and send the whole {what} again.",
        field=problems[0][0],
        problems=[{"field": place, "problem": text} for place, text in problems],
    )


def _problem(detail: Any) -> tuple[str, str]:
    kind, given = str(detail["type"]), detail["input"]
    place = pointer(tuple(step for step in detail["loc"] if not _is_branch(step)))
    if kind == "missing":
        return place, "the field is missing"
    if kind == "value_error":
        return place, str(detail["ctx"]["error"])
    if kind in _EXPECTED:
        return place, f"{_EXPECTED[kind]} was expected, not {_named(given)}"
    return place, f"{str(detail['msg'])[:1].lower()}{str(detail['msg'])[1:]}, not {_named(given)}"


def _is_branch(step: str | int) -> bool:
    # Pydantic names the branch of a union in the path (`str`, `dict[str,any]`); that is no place in the document.
    return isinstance(step, str) and (step in {"str", "int", "bool", "none"} or step.startswith(("dict[", "list[", "function-")))


def _named(given: Any) -> str:
    if given is None:
        return "null"
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "a list", dict: "an object"}
    kind = cast("type[Any]", type(given))
    name = names.get(kind, kind.__name__)
    return f"{name} ({ascii(given)[:40]})" if isinstance(given, bool | int | float | str) else name
