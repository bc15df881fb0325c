"""Checks what goes into a body and what comes out against the function's own annotations, and writes both as exact bytes.

Nothing is coerced in silence: what is recorded is what the body gets, and a result is recorded as it was returned, whether it
fits its declared type or not. A function that declares nothing is checked for nothing, and the answer says so.
"""

import collections.abc
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, Final, cast

from pydantic import ConfigDict, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from toolwitness.core.errors import InvalidInput
from toolwitness.core.strict_json import loads_strict
from toolwitness.runtime.encoding import CannotReadBack, encode_value, is_marked, read_marks

__all__ = ["Bound", "CheckKind", "InputProblem", "ResultCheck", "bind_inputs", "check_result", "encode_value", "read_inputs"]

_JSON: Final = "application/json"
_STREAMS: Final = (
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncGenerator,
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
)
_AWAITABLES: Final = (collections.abc.Awaitable, collections.abc.Coroutine)
_GENERATOR_ARGUMENTS: Final = 3


class CheckKind(StrEnum):
    """What the declared type says about a returned value."""

    PASSED = "passed"
    UNDECLARED = "undeclared"
    """There is no declaration that could be checked."""
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCheck:
    """A returned value as bytes, and whether it fits what the function declares."""

    kind: CheckKind
    encoded: bytes
    problems: tuple[str, ...] = ()
    """What does not fit, or why nothing could be checked. Never holds the value itself."""
    declared: str = ""
    """The declared type as text; empty where none is declared."""
    media_type: str = _JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class InputProblem:
    """One input that is missing or wrong."""

    field: str
    """The parameter's name; empty where the inputs as a whole cannot be read."""
    kind: str
    """``missing``, ``unexpected`` or ``type``."""
    message: str
    """What is wrong and what fits; never the value itself."""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Inputs as the body gets them, the same inputs as bytes, and what is missing or wrong with them."""

    arguments: Mapping[str, Any]
    encoded: bytes
    problems: tuple[InputProblem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declared:
    """What a function says about itself."""

    parameters: Mapping[str, inspect.Parameter]
    types: Mapping[str, Any]
    """Resolved annotations by parameter name; the result's under ``return``."""
    takes_more: bool
    unresolved: str = ""
    """Why annotations could not be resolved; empty when they could."""
    adapters: dict[str, "TypeAdapter[Any] | str"] = field(default_factory=dict["str", "TypeAdapter[Any] | str"])


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_result(fn: Callable[..., Any], value: object) -> ResultCheck:
    """Check ``value`` against what ``fn`` declares to return, and write it as it is. Never raises.

    The items of a stream are checked as the declared items. An instance of a declared class is taken at its word; a mere subclass
    or a value that would have to be converted is not the declared type.
    """
    encoded = encode_value(value)
    declared = _declared(fn)
    annotation = declared.types.get("return", inspect.Signature.empty)
    if declared.unresolved:
        return ResultCheck(kind=CheckKind.UNDECLARED, encoded=encoded, problems=(declared.unresolved,))
    if annotation in (inspect.Signature.empty, Any, object):
        return ResultCheck(kind=CheckKind.UNDECLARED, encoded=encoded)
    expected = _of_result(annotation, value)
    text = inspect.formatannotation(annotation)
    if expected is Any:
        return ResultCheck(kind=CheckKind.UNDECLARED, encoded=encoded, declared=text)
    key = "return" if expected is annotation else f"return:{expected!r}"
    adapter = _adapter(declared, key, expected)
    if isinstance(adapter, str):
        return ResultCheck(kind=CheckKind.UNDECLARED, encoded=encoded, problems=(adapter,), declared=text)
    problems = _misfits(adapter, value)
    kind = CheckKind.REJECTED if problems else CheckKind.PASSED
    return ResultCheck(kind=kind, encoded=encoded, problems=problems, declared=text)


def _of_result(annotation: Any, value: object) -> Any:
    """Give the type that the value itself should have: what is awaited, the items of a stream, what a generator returns."""
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin in _AWAITABLES:
        return _of_result(arguments[-1], value) if arguments else Any
    if origin not in _STREAMS or not isinstance(value, tuple):
        returns = arguments[2] if origin is collections.abc.Generator and len(arguments) == _GENERATOR_ARGUMENTS else annotation
        return Any if origin in _STREAMS and returns is annotation else returns
    return tuple[arguments[0], ...] if arguments else Any


def _misfits(adapter: TypeAdapter[Any], value: object) -> tuple[str, ...]:
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        return tuple(_line(entry) for entry in error.errors(include_url=False, include_input=False, include_context=False))
    except Exception as error:  # noqa: BLE001 - a validator of the user's that breaks is a misfit, and the result is kept
        return (f"its validator raised {type(error).__name__}",)
    return ()


def _line(entry: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in entry["loc"])
    return f"{place}: {entry['msg']}" if place else str(entry["msg"])


# ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def bind_inputs(fn: Callable[..., Any], given: Mapping[str, Any]) -> Bound:
    """Bind inputs that a caller gives as Python values.

    A value that fits its declared type is passed on as the very object. One that fits as JSON (``"412.50"`` for a Decimal, an object
    for a dataclass) is read as that, and recorded as read. Defaults that nobody overrides are the function's and not recorded.
    """
    declared = _declared(fn)
    arguments, problems = _bind(declared, given, _fit_python)
    return Bound(arguments=arguments, encoded=encode_value(arguments), problems=problems)


def read_inputs(fn: Callable[..., Any], raw: bytes) -> Bound:
    """Make arguments from recorded inputs, or from those that a model or a person wrote; ``encoded`` are the bytes as they came."""
    try:
        given = loads_strict(raw)
    except InvalidInput as error:
        problem = InputProblem(field="", kind="type", message=error.message)
        return Bound(arguments={}, encoded=raw, problems=(problem,))
    if not isinstance(given, dict):
        wrong = f"the inputs are a {type(given).__name__}: give a JSON object with one member for each input"
        return Bound(arguments={}, encoded=raw, problems=(InputProblem(field="", kind="type", message=wrong),))
    arguments, problems = _bind(_declared(fn), cast("dict[str, Any]", given), _fit_json)
    return Bound(arguments=arguments, encoded=raw, problems=problems)


_Fit = Callable[[TypeAdapter[Any], Any], Any]


def _bind(declared: _Declared, given: Mapping[str, Any], fit: _Fit) -> tuple[dict[str, Any], tuple[InputProblem, ...]]:
    arguments: dict[str, Any] = {}
    problems: list[InputProblem] = []
    for name, value in given.items():
        try:
            arguments[name] = _one(declared, name, value, fit)
        except _Unfit as unfit:
            arguments[name] = value
            problems += [InputProblem(field=name, kind=unfit.kind, message=message) for message in unfit.messages]
    for name, parameter in declared.parameters.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            wanted = declared.types.get(name)
            what = f"; give a {inspect.formatannotation(wanted)}" if wanted is not None else ""
            problems.append(InputProblem(field=name, kind="missing", message=f"is required{what}"))
    return arguments, tuple(problems)


class _Unfit(Exception):
    """A value does not fit its parameter."""

    def __init__(self, kind: str, *messages: str) -> None:
        super().__init__(*messages)
        self.kind = kind
        self.messages = messages


def _one(declared: _Declared, name: str, value: Any, fit: _Fit) -> Any:
    """Give one argument as the body gets it, or raise ``_Unfit``."""
    parameter = declared.parameters.get(name)
    if parameter is None and not declared.takes_more:
        known = ", ".join(declared.parameters) or "none"
        raise _Unfit("unexpected", f"is not an input of this tool; it has: {known}")
    if parameter is not None and parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise _Unfit("type", "is positional-only in the function; tools get their inputs by name, so remove the slash")
    annotation = declared.types.get(name if parameter is not None else "**", Any)
    adapter = _adapter(declared, name if parameter is not None else "**", annotation)
    return fit(TypeAdapter(Any), value) if isinstance(adapter, str) else fit(adapter, value)


def _fit_python(adapter: TypeAdapter[Any], value: Any) -> Any:
    problems = _misfits(adapter, value)
    if not problems:
        return value
    if not _is_json(value):
        raise _Unfit("type", *problems)
    return _fit_json(adapter, value)


def _is_json(value: Any) -> bool:
    if value is None or isinstance(value, str | int | float):
        return True
    if isinstance(value, list):
        return all(_is_json(item) for item in cast("list[Any]", value))
    return isinstance(value, dict) and all(isinstance(key, str) and _is_json(item) for key, item in cast("dict[Any, Any]", value).items())


def _fit_json(adapter: TypeAdapter[Any], value: Any) -> Any:
    """Read a JSON value as the declared type; JSON has few types, so text may stand for a date, and a list for a tuple."""
    try:
        if is_marked(value):
            return adapter.validate_python(read_marks(value))
        return adapter.validate_json(json.dumps(value), strict=True)
    except CannotReadBack as error:
        raise _Unfit("type", str(error)) from None
    except ValidationError as error:
        entries = error.errors(include_url=False, include_input=False, include_context=False)
        raise _Unfit("type", *(_line(entry) for entry in entries)) from None
    except Exception as error:  # noqa: BLE001 - a validator of the user's that breaks is a misfit of the input
        raise _Unfit("type", f"its validator raised {type(error).__name__}") from None


# ── declarations ────────────────────────────────────────────────────────────────────────────────────────────────────


def _declared(fn: Callable[..., Any]) -> _Declared:
    try:
        return _cached(fn)
    except TypeError:  # a callable that cannot be hashed
        return _read_declaration(fn)


def _read_declaration(fn: Callable[..., Any]) -> _Declared:
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        unsigned = "its signature cannot be read, so nothing is checked"
        return _Declared(parameters={}, types={}, takes_more=True, unresolved=unsigned)
    hinted: Any = fn
    while isinstance(hinted, partial):
        hinted = cast("partial[Any]", hinted).func
    if not isinstance(hinted, types.FunctionType | types.MethodType | type):
        hinted = getattr(hinted, "__call__", hinted)  # noqa: B004 - its annotations are wanted, not whether it is callable
    unresolved = ""
    try:
        hints = typing.get_type_hints(hinted, include_extras=True)
    except Exception as error:  # noqa: BLE001 - an annotation is code of the user's and may raise anything
        hints, unresolved = {}, f"its annotations cannot be resolved ({error}), so nothing is checked"
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind not in {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    }
    more = next((p.name for p in parameters.values() if p.kind is inspect.Parameter.VAR_KEYWORD), None)
    if more is not None and more in hints:
        hints["**"] = hints[more]
    return _Declared(parameters=named, types=hints, takes_more=more is not None, unresolved=unresolved)


_cached: Final = lru_cache(maxsize=1024)(_read_declaration)


def _adapter(declared: _Declared, key: str, annotation: Any) -> "TypeAdapter[Any] | str":
    """Give the checker of a type, or the reason why there is none."""
    if key not in declared.adapters:
        declared.adapters[key] = _make_adapter(annotation)
    return declared.adapters[key]


def _make_adapter(annotation: Any) -> "TypeAdapter[Any] | str":
    try:
        return TypeAdapter(annotation)
    except PydanticSchemaGenerationError:
        pass
    except (PydanticUserError, TypeError, NameError) as error:
        return f"{inspect.formatannotation(annotation)} cannot be checked: {str(error).splitlines()[0]}"
    try:
        return TypeAdapter(annotation, config=ConfigDict(arbitrary_types_allowed=True))
    except Exception as error:  # noqa: BLE001 - whatever it is, the value is kept and the answer says that it was not checked
        return f"{inspect.formatannotation(annotation)} cannot be checked: {type(error).__name__}"
