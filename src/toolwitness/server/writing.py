"""The routes that record something: decisions of people, and observations of registered sources."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from pydantic import ValidationError
from starlette.responses import Response

from toolwitness.contract.parse import parse_events
from toolwitness.contract.problems import from_validation
from toolwitness.core.errors import InvalidInput, ToolwitnessError
from toolwitness.core.evidence import Kind
from toolwitness.core.strict_json import loads_strict
from toolwitness.core.verdicts import Actor, Verdict
from toolwitness.ports import Draft, Recorded
from toolwitness.server.actions import ActionBody, DecisionsBody, perform
from toolwitness.server.answers import Id, Json, Writer
from toolwitness.server.body import json_body
from toolwitness.server.problems import as_problem
from toolwitness.server.repeats import Repeats
from toolwitness.service import views
from toolwitness.service.record import Register, record_observations
from toolwitness.service.together import Answered, Result, decide_together
from toolwitness.service.workplace import Receipt, Workplace


def add(api: FastAPI, place: Workplace, register: Register) -> None:
    """Add what records something."""
    repeats = Repeats(place)

    @api.post("/api/invocations/{invocation_id}/actions/{action}", summary="Decide: one action on one invocation", operation_id="act")
    async def act(request: Request, invocation_id: Id, action: Id, actor: Writer) -> Response:
        body = read_action(await json_body(request))
        await views.require_visible(place, invocation_id, actor)
        command = partial(perform, place, invocation_id, action, actor, body)
        receipt = await repeats.once(actor, invocation_id, action, body.request_id, command)
        document = await views.document(place, receipt.record.id, actor)
        accepted = not receipt.recorded or any(one.verdict is not Verdict.REFUSED for one in receipt.recorded)
        return Json({"accepted": accepted, "recorded": [str(r.event.ref) for r in receipt.recorded], "document": document})

    @api.post("/api/decisions", summary="Decide: several answers, each call by itself", operation_id="decide")
    async def decide(request: Request, actor: Writer) -> Response:
        said = read_decisions(await json_body(request))
        return Json({"decisions": await decide_for(place, said, actor, repeats)})

    async def observe(raw: bytes, actor: Actor, only: str = "") -> Response:
        drafts = [Draft(event=parsed.event, values=parsed.values) for parsed in parse_events(raw)]
        stranger = next((number for number, draft in enumerate(drafts) if only and draft.event.kind != only), None)
        if stranger is not None:
            remedy = "Send other observations to /api/events."
            raise InvalidInput("Only render receipts belong here.", field=f"/{stranger}/type", remedy=remedy)
        recorded = await record_observations(place, register, drafts, actor=actor)
        return Json({"events": [_verdict(one) for one in recorded]})

    @api.post("/api/events", summary="Record observations of a registered source (CloudEvents batch)", operation_id="record_events")
    async def record_events(request: Request, actor: Writer) -> Response:
        return await observe(await json_body(request), actor)

    @api.post("/api/receipts", summary="Record what a person was really shown", operation_id="record_receipts")
    async def record_receipts(request: Request, actor: Writer) -> Response:
        return await observe(await json_body(request), actor, only=Kind.CARD_RENDERED)


async def decide_for(place: Workplace, said: Sequence[Answered], actor: Actor, repeats: Repeats) -> list[dict[str, Any]]:
    """Decide what the actor may see, and say of each answer what came of it; what is not visible is not there.

    An answer that comes again under its request id gets the first answer to it, whether it came alone or in a submission.
    """

    async def once(one: Answered, action: str, request_id: str, act: Callable[[], Awaitable[Receipt]]) -> Receipt:
        return await repeats.once(actor, one.invocation_id, action, request_id, act)

    unseen: dict[int, ToolwitnessError] = {}
    for number, one in enumerate(said):
        try:
            await views.require_visible(place, one.invocation_id, actor)
        except ToolwitnessError as error:
            unseen[number] = error
    seen = [one for number, one in enumerate(said) if number not in unseen]
    decided = iter(await decide_together(place, seen, actor=actor, once=once) if seen else ())
    results = [Result(said=one, error=unseen[number]) if number in unseen else next(decided) for number, one in enumerate(said)]
    return [await _result(place, result, actor) for result in results]


async def _result(place: Workplace, result: Result, actor: Actor) -> dict[str, Any]:
    plain: dict[str, Any] = {"invocationId": result.said.invocation_id, "answer": result.said.answer, "accepted": result.error is None}
    if result.receipt is not None:
        document = await views.document(place, result.said.invocation_id, actor)
        return plain | {"recorded": [str(r.event.ref) for r in result.receipt.recorded], "document": document}
    return plain | {"recorded": [], "problem": loads_strict(bytes(as_problem(result.error or ToolwitnessError("")).body))}


def read_decisions(raw: bytes) -> list[Answered]:
    """Read the body of a submission, strictly.

    Raises:
        InvalidInput: not JSON, ambiguous JSON, or a field that is not known or not of its type; ``facts['field']`` names it.
    """
    try:
        body = DecisionsBody.model_validate(loads_strict(raw))
    except ValidationError as error:
        raise from_validation(error, "body") from None
    return [Answered(**one.model_dump()) for one in body.decisions]


def _verdict(one: Recorded) -> dict[str, str]:
    """Say what became of one observation."""
    return {"id": one.event.id, "source": one.event.source, "verdict": str(one.verdict), "reason": one.reason, "ref": one.event.ref}


def read_action(raw: bytes) -> ActionBody:
    """Read the body of an action, strictly; an empty one says nothing more than the click itself.

    Raises:
        InvalidInput: not JSON, ambiguous JSON, or a field that is not known or not of its type; ``facts['field']`` names it.
    """
    try:
        return ActionBody.model_validate(loads_strict(raw) if raw.strip() else {})
    except ValidationError as error:
        raise from_validation(error, "body") from None
