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
    encoded = encode_built(document)
    # orjson writes null for NaN and the infinities. Where a null is seen, and only there, it is worth a look.
    return _encode_slowly(document) if b"null" in encoded and _holds_fractions(document) else encoded


def encode_built(document: Any) -> bytes:
    """Give the JSON bytes of a document that was built here, where no number can be other than finite.

    Its fields come from events, which hold no fractions, and its values through ``loads_strict``, which refuses them.
    """
    try:
        return orjson.dumps(document)
    except TypeError:
        return _encode_slowly(document)


def _encode_slowly(document: Any) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")


def _holds_fractions(document: Any) -> bool:
    stack: list[Any] = [document]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(cast("dict[str, Any]", node).values())
        elif isinstance(node, list | tuple):
            stack.extend(cast("list[Any]", node))
        elif type(node) is float:
            return True
    return False


def join(fragments: Iterable[bytes]) -> bytes:
    """Make a JSON array of encoded documents."""
    return b"[" + b",".join(fragments) + b"]"


def extend(fragment: bytes, fields: Mapping[str, Any]) -> bytes:
    """Add fields to an encoded object that holds none of them; used for what depends on who asks."""
    if not fields:
        return fragment
    separator = b"" if fragment == b"{}" else b","
    return fragment[:-1] + separator + encode(dict(fields))[1:]
