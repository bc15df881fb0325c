"""The routes that read: tasks, invocations, their evidence, what waits for a decision, and who one is here."""

from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from toolwitness.contract.envelope import encode_recorded
from toolwitness.core.verdicts import Actor
from toolwitness.server.answers import Id, Json, Reader, View, gate_of
from toolwitness.service import views
from toolwitness.service.boards import Boards
from toolwitness.service.workplace import Workplace


def add(api: FastAPI, place: Workplace, boards: Boards) -> None:
    """Add what can be read."""

    @api.get("/api/session", summary="Who this request comes from, and the token for changes", operation_id="session")
    async def session(request: Request, actor: Reader) -> Response:
        return Json({"actor": described(actor), "csrf": gate_of(request).csrf(actor)})

    @api.get("/api/tasks", summary="List tasks, the most recently touched first", operation_id="list_tasks")
    async def tasks(actor: Reader) -> Response:
        return Json({"tasks": await views.task_rows(place, actor)})

    @api.get("/api/tasks/{task_id}", summary="Read one task and its invocations", operation_id="read_task")
    async def task(task_id: Id, actor: Reader, view: View = "document") -> Response:
        return Json(await (boards.task_card(task_id, actor) if view == "card" else views.task_document(place, task_id, actor)))

    @api.get("/api/invocations/{invocation_id}", summary="Read one invocation as a tool-call-ui/1 document", operation_id="read_invocation")
    async def invocation(invocation_id: Id, actor: Reader, view: View = "document") -> Response:
        return Json(await (boards.card(invocation_id, actor) if view == "card" else views.document(place, invocation_id, actor)))

    @api.get("/api/invocations/{invocation_id}/events", summary="Read the evidence of one invocation, in order", operation_id="read_events")
    async def events(invocation_id: Id, actor: Reader) -> Response:
        return Json({"events": [encode_recorded(r) for r in await views.events(place, invocation_id, actor)]})

    @api.get("/api/approvals", summary="List what waits for a decision", operation_id="list_approvals")
    async def approvals(actor: Reader, view: View = "document") -> Response:
        if view == "card":
            return Json(await boards.inbox(actor))
        return Json({"approvals": await views.waiting_documents(place, actor)})


def described(actor: Actor) -> dict[str, Any]:
    """Say who an actor is, as the page shows it."""
    return {"id": actor.id, "name": actor.name or actor.id, "roles": sorted(actor.roles)}
