"""What a tool is told when it is asked what really happened to an attempt, and what its answer amounts to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.policy.retry import Conclusion

_LONGEST: Final = 500


class Happened(StrEnum):
    """What the other side can say of an attempt's effect."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did-not-happen"
    PARTLY = "partly"
    UNKNOWN = "unknown"


CONCLUSIONS: Final[Mapping[Happened, Conclusion]] = MappingProxyType({
    Happened.HAPPENED: Conclusion.HAPPENED,
    Happened.DID_NOT_HAPPEN: Conclusion.NO_EFFECT,
    Happened.PARTLY: Conclusion.PARTIAL,
})  # fmt: skip  # one line an answer
"""What each answer amounts to. Unknown amounts to nothing: it closes no finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The attempt that a tool's ``reconcile`` function is asked about."""

    invocation_id: str
    task_id: str
    tool: str
    attempt: int
    inputs: Mapping[str, Any]
    """The inputs as the tool takes them."""
    idempotency_key: str
    """The key that its body could read, the same over all attempts of the call."""
    references: tuple[str, ...] = ()
    """References of the other side that are on record for it."""
    started_at: str = ""
    """When it was seen to start, as recorded; empty where nobody saw it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the other side said."""

    happened: Happened
    reference: str = ""
    detail: str = ""


def read_answer(given: object) -> Said:
    """Read what a ``reconcile`` function gave: a word, a word and a reference, or a mapping with ``happened`` and more.

    Raises:
        InvalidInput: it is none of the four words; what cannot be understood concludes nothing.
    """
    said: dict[str, Any] = {"happened": given}
    if isinstance(given, Mapping):
        said = {str(name): value for name, value in cast("Mapping[object, object]", given).items()}
    elif isinstance(given, list | tuple) and len(cast("Sequence[object]", given)) == 2:
        word, reference = cast("Sequence[object]", given)
        said = {"happened": word, "reference": reference}
    elif isinstance(given, Said):
        return given
    word, more = said.get("happened"), {"happened", "reference", "detail"}
    words = [str(one) for one in Happened]
    if not isinstance(word, str) or word not in words:
        raise InvalidInput(f"The answer is {word!r}.", field="happened", remedy=f"Give one of {', '.join(words)}, with a reference.")
    unknown = [name for name in said if name not in more]
    if unknown:
        raise InvalidInput(f"The answer holds {unknown[0]!r}.", field=unknown[0], remedy=f"Give {', '.join(sorted(more))}.")
    reference, detail = (str(said.get(name) or "")[:_LONGEST] for name in ("reference", "detail"))
    return Said(happened=Happened(word), reference=reference, detail=detail)
