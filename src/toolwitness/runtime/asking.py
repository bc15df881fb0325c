"""The functions of a tool that read the world: its target, its price, and what the other side says of an attempt.

They run outside the ledger's turn, for a limited time. Whatever goes wrong with one of them is its answer: what could not be read is said
so, with the reason.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from toolwitness.core.errors import InvalidInput
from toolwitness.policy.looks import Look, Reread, read_quote, read_target
from toolwitness.policy.provider import Attempt, Happened, Said, read_answer

PATIENCE_SECONDS: Final = 10.0
"""How long one of these functions may take."""
_NAMED: Final = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})
Given = TypeVar("Given")


async def look(
    arguments: Mapping[str, Any], *, target: Callable[..., Any] | None, quote: Callable[..., Any] | None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Look:  # fmt: skip  # a signature in three lines
    """Read the target and the price that a call with these arguments has now; both functions get the arguments that they name."""
    read: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for name, function, understand in ((Reread.TARGET, target, read_target), (Reread.PRICE, quote, read_quote)):
        if function is None:
            continue
        try:
            read[name] = understand(await _answer(function, _fitting(function, arguments), patience_seconds))
        except Exception as error:  # noqa: BLE001 - whatever breaks it, what was not read is not taken for unchanged
            failures[str(name)] = _why(error, patience_seconds)
    return Look(target=read.get(Reread.TARGET), price=read.get(Reread.PRICE), failures=failures)


async def ask(function: Callable[..., Any], attempt: Attempt, *, patience_seconds: float = PATIENCE_SECONDS) -> Said:
    """Ask a tool's ``reconcile`` function about an attempt; what fails or cannot be understood is ``unknown``, with the reason."""
    try:
        return read_answer(await _answer(function, {"": attempt}, patience_seconds))
    except Exception as error:  # noqa: BLE001 - as above: a broken answer concludes nothing
        return Said(happened=Happened.UNKNOWN, detail=f"the tool's reconcile function failed: {_why(error, patience_seconds)}")


async def _answer(function: Callable[..., Any], arguments: Mapping[str, Any], patience_seconds: float) -> Any:
    positional = [arguments[""]] if "" in arguments else []
    named = {name: value for name, value in arguments.items() if name}
    async with asyncio.timeout(patience_seconds):
        if inspect.iscoroutinefunction(function):
            return await function(*positional, **named)
        found = await asyncio.to_thread(function, *positional, **named)
        return await found if inspect.isawaitable(found) else found


def _fitting(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give those arguments that the function names; all where it takes any."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return arguments
    named = {one.name for one in parameters if one.kind in _NAMED}
    return {name: value for name, value in arguments.items() if name in named}


def _why(error: Exception, patience_seconds: float) -> str:
    """Say what went wrong, in words that may stand in the record for ever.

    The text of a stranger's exception may hold a key, an address or an input that is to be forgotten later: only its name is kept. A
    function that wants to say why raises ``InvalidInput``.
    """
    if isinstance(error, TimeoutError):
        return f"it gave no answer in {patience_seconds:g} seconds"
    if isinstance(error, InvalidInput):
        return f"{error.message} {error.remedy}".strip()
    return f"it raised {type(error).__name__}"
