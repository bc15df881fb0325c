"""Two declarations of one tool, at the tool and in the policy file, as one: to each question the stricter answer.

What a declaration leaves out is no answer. Where two answers cannot be ordered (two boundaries, two inverses) nobody can say which is
meant, and the declaration is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final, TypeVar

from toolwitness.core.errors import InvalidInput
from toolwitness.core.states import Consequence
from toolwitness.policy.consequences import Confirm, combine
from toolwitness.policy.tool_policy import CancelSupport, Idempotency, RetryPolicy, ToolPolicy

T = TypeVar("T")


def stricter(one: ToolPolicy, other: ToolPolicy) -> ToolPolicy:
    """Give the policy that answers each question as strictly as the stricter of the two. Doing it again changes nothing.

    Raises:
        InvalidInput: two answers that cannot be ordered differ, or nobody is left who may approve; the field is named.
    """
    silent = ToolPolicy(tool=one.tool)
    said: dict[str, Any] = {"tool": one.tool}
    for field in fields(ToolPolicy):
        first, second, nothing = getattr(one, field.name), getattr(other, field.name), getattr(silent, field.name)
        if field.name == "tool" or first == second == nothing:
            continue
        answers = [answer for answer in (first, second) if answer != nothing]
        said[field.name] = answers[0] if len(answers) == 1 or first == second else _stricter(field.name, first, second)
    asked = said.get("approvers") or said.get("approvals_needed") is not None
    if asked or combine(said.get("consequences", ())).confirm.value is Confirm.BEFORE_COMMITMENT:
        said.pop("standing_authorization", None)  # no mandate stands where the other wants somebody to be asked
    return ToolPolicy(**said)


def _stricter(name: str, one: Any, other: Any) -> Any:
    if name in _ALL_OF:
        return tuple(dict.fromkeys((*one, *other)))
    if name in _SHORTEST:
        return min(one, other)
    choose = _CHOICES.get(name)
    if choose is not None:
        return choose(one, other)
    raise InvalidInput(
        f"The tool says {name} is {one!r} and the policy file says {other!r}.", field=name, remedy="Say it in one of the two places."
    )


_ALL_OF: Final = frozenset({"scope_fields", "expected_effects", "recovery", "alternate_routes", "redact", "redact_outputs", "read_again"})
"""Lists of which everything counts: more in view, more said, more hidden."""
_SHORTEST: Final = frozenset({"approval_seconds", "input_seconds", "queue_seconds", "result_seconds"})


def _classes(one: tuple[Consequence, ...], other: tuple[Consequence, ...]) -> tuple[Consequence, ...]:
    """Take every class that either names; what destroys does not only read."""
    every = tuple(dict.fromkeys((*one, *other)))
    return tuple(c for c in every if c is not Consequence.READ_ONLY) if Consequence.DESTRUCTIVE in every else every


def _approvers(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Leave those whom both accept, and everybody's reservations."""
    named = [tuple(entry for entry in entries if not entry.startswith("not:")) for entries in (one, other)]
    reserved = tuple(dict.fromkeys(entry for entry in (*one, *other) if entry.startswith("not:")))
    both = tuple(entry for entry in named[0] if entry in named[1]) if all(named) else named[0] or named[1]
    if all(named) and not both:
        raise InvalidInput(
            f"The tool is approved by {', '.join(named[0])} and, as the policy file says, by {', '.join(named[1])}: by nobody who is both.",
            field="approvers", remedy="Name at least one in both places, or name them in one place only.",
        )  # fmt: skip  # message first, facts after
    return (*both, *reserved)


def _retry(one: RetryPolicy, other: RetryPolicy) -> RetryPolicy:
    """Allow the fewest attempts, after failures that both allow."""
    if not (one.categories and other.categories):
        return RetryPolicy(attempts=min(one.attempts, other.attempts), categories=one.categories or other.categories)
    both = tuple(category for category in one.categories if category in other.categories)
    return RetryPolicy(attempts=min(one.attempts, other.attempts) if both else 1, categories=both or one.categories)


def _reasons(one: str, other: str) -> str:
    """Keep both reasons for the same answer."""
    return one if other in one.split("; ") else f"{one}; {other}"


def _first_of(order: tuple[T, ...]) -> Callable[[T, T], T]:
    def choose(one: T, other: T) -> T:
        return min(one, other, key=order.index)

    return choose


_CHOICES: Final[Mapping[str, Any]] = MappingProxyType({
    "consequences": _classes,
    "approvers": _approvers,
    "approvals_needed": max,
    "retry": _retry,
    "plain_names": _reasons,
    "cancel_support": _first_of((CancelSupport.UNSUPPORTED, CancelSupport.THREAD, CancelSupport.TASK)),
    "idempotency": _first_of((Idempotency.NOT_IDEMPOTENT, Idempotency.IDEMPOTENT, Idempotency.KEYED)),
})  # fmt: skip  # one line a question
