"""The routes that record something: decisions of people, and observations of registered sources."""

from functools import partial

from fastapi import FastAPI, Request
from pydantic import ValidationError
from starlette.responses import Response

from toolwitness.contract.parse import parse_events
from toolwitness.contract.problems import from_validation
from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Kind
from toolwitness.core.strict_json import loads_strict
from toolwitness.core.verdicts import Actor
from toolwitness.ports import Draft, Recorded
from toolwitness.server.actions import ActionBody, perform
from toolwitness.server.answers import Id, Json, Writer
from toolwitness.server.body import json_body
from toolwitness.server.repeats import Repeats
from toolwitness.service import views
from toolwitness.service.record import Register, record_observations
from toolwitness.service.workplace import Workplace


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
        return Json({"accepted": True, "recorded": [str(r.event.ref) for r in receipt.recorded], "document": document})

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
