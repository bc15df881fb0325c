"""The routes by which authority is taken from people and given back: the same commands as on the desk, with the same judgement."""

from collections.abc import Sequence

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from toolwitness.contract.problems import from_validation
from toolwitness.core.strict_json import loads_strict
from toolwitness.ports import Recorded
from toolwitness.server.answers import Json, Reader, Writer
from toolwitness.server.body import json_body
from toolwitness.service import standing
from toolwitness.service.workplace import Workplace


class AuthorityBody(BaseModel):
    """Whose authority, all of it or one role, and why."""

    model_config = ConfigDict(extra="forbid")

    holder: str = Field(min_length=1, max_length=200)
    role: str = Field(default="", max_length=200)
    reason: str = Field(default="", max_length=500)


def add(api: FastAPI, place: Workplace) -> None:
    """Add what lists, takes and gives back authority."""

    @api.get("/api/authority", summary="List the authority that was taken and not given back", operation_id="list_authority")
    async def listed(actor: Reader) -> Response:
        return Json({"revoked": await standing.revoked_of(place, actor)})

    @api.post("/api/authority/revoke", summary="Take authority from somebody", operation_id="revoke_authority")
    async def revoke(request: Request, actor: Writer) -> Response:
        said = _read(await json_body(request))
        return _changed(await standing.revoke_authority(place, said.holder, actor=actor, role=said.role, reason=said.reason))

    @api.post("/api/authority/restore", summary="Give back authority that was taken", operation_id="restore_authority")
    async def restore(request: Request, actor: Writer) -> Response:
        said = _read(await json_body(request))
        return _changed([await standing.restore_authority(place, said.holder, actor=actor, role=said.role, reason=said.reason)])


def _changed(recorded: Sequence[Recorded]) -> Response:
    voided = [one.event.invocation_id for one in recorded if one.event.invocation_id]
    return Json({"accepted": True, "recorded": [str(one.event.ref) for one in recorded], "voided": voided})


def _read(raw: bytes) -> AuthorityBody:
    """Read a body, strictly.

    Raises:
        InvalidInput: not JSON, ambiguous JSON, or a field that is not known or not of its type; ``facts['field']`` names it.
    """
    try:
        return AuthorityBody.model_validate(loads_strict(raw))
    except ValidationError as error:
        raise from_validation(error, "body") from None
