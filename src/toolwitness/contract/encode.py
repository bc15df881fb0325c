"""Documents as bytes. A value is never silently changed on the way: what cannot be said exactly in JSON is an error."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

import orjson


def encode(document: Any) -> bytes:
    """Give the JSON bytes of a document, in UTF-8, changing no value.

    Integers beyond 64 bits keep every digit, and a lone surrogate goes out as its JSON escape.

    Raises:
        ValueError: a number in it is not finite, which JSON cannot say.
    """
    try:
        encoded = orjson.dumps(document)
    except TypeError:
        return _encode_slowly(document)
    # orjson writes null for NaN and the infinities. Where a null is seen, and only there, it is worth a look.
    if b"null" in encoded and _holds_fractions(document):
        return _encode_slowly(document)
    return encoded


def _encode_slowly(document: Any) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")


def _holds_fractions(node: Any) -> bool:
    if isinstance(node, dict):
        return any(map(_holds_fractions, cast("dict[str, Any]", node).values()))
    if isinstance(node, list | tuple):
        return any(map(_holds_fractions, cast("list[Any]", node)))
    return isinstance(node, float)


def join(fragments: Iterable[bytes]) -> bytes:
    """Make a JSON array of encoded documents."""
    return b"[" + b",".join(fragments) + b"]"


def extend(fragment: bytes, fields: Mapping[str, Any]) -> bytes:
    """Add fields to an encoded object that holds none of them; used for what depends on who asks."""
    if not fields:
        return fragment
    separator = b"" if fragment == b"{}" else b","
    return fragment[:-1] + separator + encode(dict(fields))[1:]
