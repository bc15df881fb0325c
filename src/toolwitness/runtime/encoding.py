"""Python values as exact JSON bytes, and back: what JSON cannot say is marked, and nothing is changed in silence.

Plain JSON values are written as they are. Decimals, dates, UUIDs and enum members become their text or value; dataclasses, named
tuples and pydantic models become objects. Everything else is an object with the member ``$toolwitness``::

    {"$toolwitness": "bytes", "base64": "…"}                  bytes
    {"$toolwitness": "number", "text": "NaN"}                 NaN and the infinities
    {"$toolwitness": "map", "items": [[key, value], …]}       a mapping with keys that are not text
    {"$toolwitness": "set", "items": […]}                     a set; the order means nothing
    {"$toolwitness": "nonjson", "type": "…", "repr": "…"}     an object known only by its repr; it cannot be read back
    {"$toolwitness": "cycle"} and {"$toolwitness": "deep"}    a value inside itself; a value 200 levels down
    {"$toolwitness": "literal", "value": {…}}                 the caller's own object that has such a member
"""

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any, Final, cast
from uuid import UUID

import orjson
from pydantic import BaseModel

MARK: Final = "$toolwitness"
_DEEPEST: Final = 200
_LONGEST_REPR: Final = 2000
_AS_TEXT: Final = (Decimal, Fraction, UUID, PurePath)


class CannotReadBack(ValueError):
    """A recorded value is known by its repr only; the object that it was cannot be made again."""


def encode_value(value: object) -> bytes:
    """Write ``value`` as JSON; never raises, whatever the value is."""
    plain = to_json(value)
    try:
        return orjson.dumps(plain)
    except TypeError:
        # orjson knows neither integers above 64 bits nor lone surrogates; the standard library writes both exactly.
        return json.dumps(plain, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()


def to_json(value: object) -> Any:
    """Give ``value`` as plain JSON data, marked where JSON has no word for it."""
    return _written(value, ())


def _written(value: object, inside: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _written(value.value, inside)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {MARK: "number", "text": _not_finite(value)}
    if len(inside) >= _DEEPEST:
        return {MARK: "deep"}
    if id(value) in inside:
        return {MARK: "cycle"}
    writer = next((write for kind, write in _WRITERS if isinstance(value, kind)), _unknown)
    try:
        return writer(value, (*inside, id(value)))
    except RecursionError:
        return {MARK: "deep"}
    except Exception:  # noqa: BLE001 - a value whose own code fails is still a value that was there
        return _nonjson(value)


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _nonjson(value: object) -> dict[str, str]:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - as above
        text = f"<its repr raised {type(error).__name__}>"
    cut = text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}… ({len(text)} characters in all)"
    return {MARK: "nonjson", "type": kind, "repr": cut}


def _mapping(value: Any, inside: tuple[int, ...]) -> Any:
    items = cast("Mapping[object, object]", value)
    if not all(isinstance(key, str) for key in items):
        return {MARK: "map", "items": [[_written(key, inside), _written(item, inside)] for key, item in items.items()]}
    written = {str.__str__(cast("str", key)): _written(item, inside) for key, item in items.items()}
    return {MARK: "literal", "value": written} if MARK in written else written


def _model(value: Any, inside: tuple[int, ...]) -> Any:
    model = cast("BaseModel", value)
    return _mapping(model.model_dump(mode="python"), inside)


def _fields(value: Any, inside: tuple[int, ...]) -> Any:
    return _mapping({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, inside)


def _sequence(value: Any, inside: tuple[int, ...]) -> Any:
    named = getattr(value, "_asdict", None)
    if isinstance(value, tuple) and callable(named):
        return _mapping(named(), inside)
    return [_written(item, inside) for item in cast("Sequence[object]", value)]


def _set(value: Any, inside: tuple[int, ...]) -> Any:
    items = [_written(item, inside) for item in cast("AbstractSet[object]", value)]
    return {MARK: "set", "items": sorted(items, key=lambda item: json.dumps(item, sort_keys=True))}


def _bytes(value: Any, _inside: tuple[int, ...]) -> Any:
    return {MARK: "bytes", "base64": base64.b64encode(bytes(value)).decode("ascii")}


def _unknown(value: Any, inside: tuple[int, ...]) -> Any:
    is_instance = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return _fields(value, inside) if is_instance else _nonjson(value)


_WRITERS: Final[tuple[tuple[Any, Callable[[Any, tuple[int, ...]], Any]], ...]] = (
    (BaseModel, _model),
    (Mapping, _mapping),
    ((bytes, bytearray, memoryview), _bytes),
    (_AS_TEXT, lambda value, _inside: str(value)),
    ((datetime, date, time), lambda value, _inside: value.isoformat()),
    (timedelta, lambda value, _inside: str(Decimal(value // timedelta(microseconds=1)).scaleb(-6))),
    ((list, tuple), _sequence),
    (AbstractSet, _set),
)
"""Kinds of values and how they are written; the first that fits is used."""


def read_marks(value: Any) -> Any:
    """Give recorded JSON data with its marks turned back into the values that they stand for.

    Raises:
        CannotReadBack: a part was recorded by its repr only.
    """
    if isinstance(value, list):
        return [read_marks(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    data = cast("dict[str, Any]", value)
    match data.get(MARK):
        case None:
            return {key: read_marks(item) for key, item in data.items()}
        case "bytes":
            return base64.b64decode(data["base64"])
        case "number":
            return float(data["text"])
        case "map":
            return {_hashable(read_marks(key)): read_marks(item) for key, item in data["items"]}
        case "set":
            return {_hashable(read_marks(item)) for item in data["items"]}
        case "literal":
            return {key: read_marks(item) for key, item in data["value"].items()}
        case _:
            raise CannotReadBack(f"recorded as {data.get('repr', data[MARK])}, which cannot be read back")


def _hashable(value: Any) -> Any:
    return tuple(_hashable(item) for item in cast("list[Any]", value)) if isinstance(value, list) else value


def is_marked(value: Any) -> bool:
    """Tell whether recorded JSON data holds a mark anywhere."""
    if isinstance(value, list):
        return any(is_marked(item) for item in cast("list[Any]", value))
    if isinstance(value, dict):
        data = cast("dict[str, Any]", value)
        return MARK in data or any(is_marked(item) for item in data.values())
    return False
