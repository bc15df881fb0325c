"""What the ledger answered, what policy answered, and what a person may click: as types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from toolwitness.core.transitions import Row


class Verdict(StrEnum):
    """What became of an observation when it arrived (R2)."""

    MOVED = "moved"
    NOTED = "noted"
    HELD = "held"
    REFUSED = "refused"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one event, with the reason and, where it moved, the row that moved it."""

    verdict: Verdict
    reason: str = ""
    row: Row | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVerdict:
    """Policy's answer to one question: allowed or not, by which rule, and why."""

    allowed: bool
    rule: str
    reason: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One thing a person may click, or the reason why it is off."""

    action: str
    enabled: bool
    rule: str
    reason: str = ""
    binding: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the click is bound to (approval id, inputs digest), sent back with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts: an authenticated id, the roles it holds, and the tenant it belongs to."""

    id: str
    roles: frozenset[str] = frozenset()
    tenant: str = ""
    name: str = ""
    channel: str = ""
    """How the actor reached us: ``http``, ``cli``, ``python``; ``client`` where a client's library answers in a person's name."""
