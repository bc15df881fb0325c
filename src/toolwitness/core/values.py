"""Values beside evidence: how one is referred to, and what stands in the place of one that is sealed.

A sealed value lies in the value table as an envelope: the box that only a key opens, and the copy that may be shown. None is opened here.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

SEALED_MEDIA: Final = "application/vnd.toolwitness.sealed+json"
"""The media type under which an event refers to a sealed value: the evidence itself says that parts of it are secret."""
MARKER: Final = "toolwitness.redacted"
"""The one member of the object that stands, in a shown copy, in the place of a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """One place of a value that is not shown."""

    at: str
    """JSON Pointer; empty for the whole value."""
    by: str
    """What made it secret, in words."""


class Redacted(bytes):
    """The bytes of a value that may be shown, where parts of it are secret; what is missing is named, so that no data can pass for it."""

    hidden: tuple[Hidden, ...]

    def __new__(cls, shown: bytes, hidden: tuple[Hidden, ...]) -> Self:
        """Take the copy that may be shown, and what is not in it."""
        made = super().__new__(cls, shown)
        made.hidden = hidden
        return made


def value_ref(source: str, event_id: str, name: str, *, reuse: int = 0) -> str:
    """Give the reference of the value called ``name`` in one event; ``reuse`` counts the earlier events with the same id."""
    again = f"\0{reuse}" if reuse else ""
    return "val_" + sha256(f"{source}\0{event_id}\0{name}{again}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def same_value(one: bytes, other: bytes, media: object) -> bool:
    """Tell whether two values say the same: byte by byte, or, where each was sealed by another key, as far as both may be shown."""
    if one == other:
        return True
    if media != SEALED_MEDIA:
        return False
    try:
        first, second = json.loads(one), json.loads(other)
        if first["by"] == second["by"]:  # one key makes one envelope of one value
            return False
        return (first["shown"], first["hidden"]) == (second["shown"], second["hidden"])
    except (ValueError, TypeError, KeyError):
        return False
