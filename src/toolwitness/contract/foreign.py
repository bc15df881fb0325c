"""What others wrote, brought into the types of a document without changing what it says."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.strict_json import loads_strict

EMBEDDED_BYTES: Final = 64 * 1024
"""A larger value is not put into a document; its reference is there, and the value is asked for by it."""


def text(given: Any) -> str:
    """Give a text: itself, or nothing for what is absent, or how Python writes what is neither."""
    if isinstance(given, str):
        return given
    return "" if given is None else str(given)


def text_or_none(given: Any) -> str | None:
    """Give a text, or ``None`` where it is absent or empty."""
    if given is None or given == "":
        return None
    return given if isinstance(given, str) else str(given)


def texts(given: Any) -> list[str]:
    """Give a list of texts; a single text is a list of one, and what is absent an empty one."""
    if isinstance(given, str):
        return [given] if given else []
    if not isinstance(given, list | tuple | set | frozenset):
        return []
    return [text(item) for item in cast("Sequence[Any]", given)]


def reference(given: Any) -> str | None:
    """Give the reference of a value that lies beside its event, or ``None`` where this is no reference."""
    if not isinstance(given, dict):
        return None
    ref = cast("dict[str, Any]", given).get("ref")
    return ref if isinstance(ref, str) and ref else None


def embedded(name: str, ref: str | None, values: Mapping[str, bytes] | None) -> dict[str, Any]:
    """Give the value at ``ref`` as a field called ``name``, exactly; or as a text, said to be one, where it is no exact JSON.

    Nothing where the reader may not see it, where it was erased, or where it is too long for a document.
    """
    raw = (values or {}).get(ref or "")
    if raw is None or len(raw) > EMBEDDED_BYTES:
        return {}
    try:
        return {name: loads_strict(raw)}
    except InvalidInput as error:
        return {f"{name}Text": raw.decode("utf-8", "backslashreplace"), f"{name}Problem": error.facts["problem"]}
