"""What an adapter can tell, declared: docs are made from it, and a test holds it to what the adapter does."""

from dataclasses import dataclass, fields
from enum import StrEnum


class Tells(StrEnum):
    """Whether an adapter can tell a fact."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Ability:
    """One answer, with the condition or the reason in a sentence."""

    tells: Tells
    why: str = ""


def yes(why: str = "") -> Ability:
    """It can."""
    return Ability(Tells.YES, why)


def partly(why: str) -> Ability:
    """It can under a condition, which ``why`` names."""
    return Ability(Tells.PARTLY, why)


def no(why: str) -> Ability:
    """It cannot; ``why`` says what is missing."""
    return Ability(Tells.NO, why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What one way into a framework (a recorder, a reader) can tell."""

    proposed: Ability
    approval_asked: Ability
    who_decided: Ability
    queued: Ability
    started: Ability
    executed_inputs: Ability
    progress: Ability
    ended: Ability
    scoped_cancel: Ability
    """Whether one call of a parallel batch can be stopped alone."""
    acknowledgement: Ability
    """Whether a cancellation's real effect on the body is seen."""
    expiry: Ability

    def rows(self) -> list[tuple[str, Ability]]:
        """Give every question in words with its answer, in the order of a call's life."""
        return [(field.name.replace("_", " "), getattr(self, field.name)) for field in fields(self)]
