"""Several answers in one submission: each call is decided by itself, and two opposite answers to one request decide nothing."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from toolwitness.core.errors import InvalidInput, NotPermitted, ToolwitnessError
from toolwitness.core.verdicts import Actor
from toolwitness.service.answer import answer_together, approve, deny
from toolwitness.service.workplace import Receipt, Workplace, read

MOST: Final = 100
"""How many answers one submission may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer of a submission: to which call, and bound to what was shown."""

    invocation_id: str
    answer: str
    """``approve`` or ``deny``."""
    approval_id: str = ""
    inputs_digest: str = ""
    reason: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one answer: the receipt, or the error that it alone met."""

    said: Answered
    receipt: Receipt | None = None
    error: ToolwitnessError | None = None


Once = Callable[[Answered, str, str, Callable[[], Awaitable[Receipt]]], Awaitable[Receipt]]
"""Carries out an act on an answer, under the name of the action and a request id, unless it was carried out before under that id."""


async def _every_time(_one: Answered, _action: str, _request_id: str, act: Callable[[], Awaitable[Receipt]]) -> Receipt:
    return await act()


async def decide_together(place: Workplace, said: Sequence[Answered], *, actor: Actor, once: Once = _every_time) -> list[Result]:
    """Decide each call by itself, in the order given; what is refused to one says nothing about the others.

    ``once`` gives the first answer to a request that comes again.

    The same answer twice is one answer. Two opposite ones to the same request are both refused, and on record as refused.

    Raises:
        InvalidInput: the submission is empty or too long; nothing was decided.
    """
    if not said or len(said) > MOST:
        raise InvalidInput(f"{len(said)} answers came in one submission.", field="decisions", remedy=f"Send 1 to {MOST}.")
    opposed = await _opposed(place, said)
    results: dict[tuple[str, str, str, str], Result] = {}
    answers: list[Result] = []
    for one in said:
        request = await _request(place, one)
        key = (*request, "" if request in opposed else one.answer, one.inputs_digest)
        if key not in results:
            results[key] = await _decide(place, one, actor, once, together=opposed.get(request, [one.answer]))
        known = results[key]
        answers.append(Result(said=one, receipt=known.receipt, error=known.error))
    return answers


async def _opposed(place: Workplace, said: Sequence[Answered]) -> dict[tuple[str, str], list[str]]:
    """Give the requests to which the submission holds two answers."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in said:
        answers = found.setdefault(await _request(place, one), [])
        if one.answer not in answers:
            answers.append(one.answer)
    return {request: answers for request, answers in found.items() if len(answers) > 1}


async def _request(place: Workplace, one: Answered) -> tuple[str, str]:
    """Name the request that an answer is to: the one that it names, or the one that waits at its call."""
    if one.approval_id:
        return one.invocation_id, one.approval_id
    try:
        record = (await read(place, one.invocation_id)).record
    except ToolwitnessError:
        return one.invocation_id, ""
    return one.invocation_id, record.approval.id if record.approval else ""


async def _decide(place: Workplace, one: Answered, actor: Actor, once: Once, *, together: Sequence[str]) -> Result:
    asked = {"approval_id": one.approval_id, "reason": one.reason, "request_id": one.request_id}
    contradicts = len(together) > 1 or one.answer not in {"approve", "deny"}

    async def act() -> Receipt:
        if contradicts:
            return await answer_together(place, one.invocation_id, actor=actor, answers=together, **asked)
        if one.answer == "approve":
            return await approve(place, one.invocation_id, actor=actor, inputs_digest=one.inputs_digest, **asked)
        return await deny(place, one.invocation_id, actor=actor, **asked)

    try:
        receipt = await once(one, " and ".join(together) if contradicts else one.answer, one.request_id, act)
    except (NotPermitted, InvalidInput) as error:
        return Result(said=one, error=error)
    return Result(said=one, receipt=receipt)
