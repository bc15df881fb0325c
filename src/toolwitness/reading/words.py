"""The row of a mapping table: one word of a stranger, and what it says in ours."""

from dataclasses import dataclass

from toolwitness.core.evidence import Kind


@dataclass(frozen=True, slots=True)
class Word:
    """One concrete word of the framework."""

    word: str
    says: tuple[Kind, ...]
    """The evidence it becomes; empty where it deliberately becomes none."""
    by: str
    """Which of its fields, or what around it, makes it say that."""
    lacks: str = ""
    """What it does not say, though one might read it so."""
