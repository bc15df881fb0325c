"""The ASGI app: API, live stream and console page, to mount in an app of the user's or to serve alone."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

from fastapi import Body, Depends, FastAPI, Path, Query
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolwitness.contract.document import encode
from toolwitness.contract.envelope import encode_recorded
from toolwitness.contract.parse import parse_events
from toolwitness.core.errors import InvalidInput
from toolwitness.core.verdicts import Actor
from toolwitness.ports import Draft
from toolwitness.server import page, problems
from toolwitness.server.access import COOKIE, Authenticate, CrossSite, Gate, LoopbackLogin, NoActor
from toolwitness.server.actions import ActionBody, perform
from toolwitness.server.live import Live, Receive, Scope, Send
from toolwitness.service import views
from toolwitness.service.record import Register, record_observations
from toolwitness.service.workplace import Workplace

__all__ = ["Authenticate", "LoopbackLogin", "create_app"]

_MAX_BODY: Final = 4 * 1024 * 1024
Id = Annotated[str, Path(max_length=200)]
View = Annotated[str, Query(pattern="^(document|card)$", description="`document`: the contract; `card`: what a person is shown.")]


class Json(Response):
    """A JSON answer whose bytes are already encoded."""

    media_type = "application/json"

    def __init__(self, content: Any) -> None:
        """Encode a document, or take bytes as they are."""
        super().__init__(content if isinstance(content, bytes) else encode(content), headers={"Cache-Control": "no-store"})


def create_app(
    place: Workplace, register: Register, *, authenticate: Authenticate | None = None, login: LoopbackLogin | None = None,
    start: Callable[[], Awaitable[Any]] | None = None,
) -> FastAPI:  # fmt: skip  # a signature in three lines
    """Make the app around a workplace.

    ``authenticate`` tells who a request comes from; without it, and without ``login``, nothing is readable. ``start`` is awaited before the
    first request is answered: a mounted app's own lifespan is never run by the app that mounts it.
    """
    app = FastAPI(title="toolwitness", version="1", openapi_url="/api/openapi.json", docs_url=None, redoc_url=None)
    gate = Gate(authenticate or (login.authenticate if login else None))
    live = Live(place.ledger, lambda actor, batch: views.draw(place, actor, batch))
    app.state.live = live
    problems.install(app)

    @app.exception_handler(NoActor)
    async def _nobody(request: Request, _error: NoActor) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return page.not_signed_in(base=request.scope.get("root_path", ""))
        return problems.problem(401, "Nobody is signed in", code="no-actor", remedy="Send the session cookie or an Authorization header.")

    @app.exception_handler(CrossSite)
    async def _elsewhere(_request: Request, _error: CrossSite) -> Response:
        detail = "The request changes something and does not prove that this page sent it."
        return problems.problem(403, "Refused as cross-site", detail=detail, code="cross-site", remedy="Send X-Toolwitness-CSRF from the page.")

    async def reader(request: Request) -> Actor:
        return await gate.actor(request)

    async def writer(request: Request) -> Actor:
        actor = await gate.actor(request)
        gate.check_origin(request, actor)
        if int(request.headers.get("content-length") or 0) > _MAX_BODY:
            raise InvalidInput("The body is larger than 4 MiB.", field="body", remedy="Send fewer events at once.")
        return actor

    _add_reading(app, place, reader)
    _add_writing(app, place, register, writer)
    _add_pages(app, place, gate, login)
    app.router.routes.insert(0, Route("/api/stream", endpoint=_Stream(gate, live)))
    if start is not None:
        app.add_middleware(_StartsFirst, start=start)
    return app


class _StartsFirst:
    """Awaits ``start`` before the first request is answered."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], start: Callable[[], Awaitable[Any]]) -> None:
        self._app = app
        self._start = start

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._start()
        await self._app(scope, receive, send)


class _Stream:
    """The live stream as plain ASGI: nothing stands between the shared log and the socket."""

    def __init__(self, gate: Gate, live: Live) -> None:
        self._gate = gate
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            actor = await self._gate.actor(request)
        except NoActor:
            await problems.problem(401, "Nobody is signed in", code="no-actor")(scope, receive, send)
            return
        query = QueryParams(scope.get("query_string", b""))
        cursor = request.headers.get("last-event-id") or query.get("cursor", "")
        await self._live.serve(receive, send, actor=actor, cursor=cursor, task_id=query.get("task", ""))


def _add_reading(app: FastAPI, place: Workplace, reader: Callable[[Request], Awaitable[Actor]]) -> None:
    """Add what can be read."""

    @app.get("/api/tasks", summary="List tasks, the most recently touched first")
    async def tasks(actor: Annotated[Actor, Depends(reader)]) -> Response:
        return Json({"tasks": await views.task_rows(place, actor)})

    @app.get("/api/tasks/{task_id}", summary="Read one task and its invocations")
    async def task(task_id: Id, actor: Annotated[Actor, Depends(reader)], view: View = "document") -> Response:
        return Json(await (views.task_card if view == "card" else views.task_document)(place, task_id, actor))

    @app.get("/api/invocations/{invocation_id}", summary="Read one invocation as a tool-call-ui/1 document")
    async def invocation(invocation_id: Id, actor: Annotated[Actor, Depends(reader)], view: View = "document") -> Response:
        return Json(await (views.card if view == "card" else views.document)(place, invocation_id, actor))

    @app.get("/api/invocations/{invocation_id}/events", summary="Read the recorded events of one invocation, in order")
    async def events(invocation_id: Id, actor: Annotated[Actor, Depends(reader)]) -> Response:
        recorded = await views.events(place, invocation_id, actor)
        return Json({"events": [encode_recorded(r) for r in recorded]})

    @app.get("/api/approvals", summary="List what waits for a decision")
    async def approvals(actor: Annotated[Actor, Depends(reader)], view: View = "document") -> Response:
        if view == "card":
            return Json(await views.inbox(place, actor))
        return Json({"approvals": await views.waiting_documents(place, actor)})


def _add_writing(app: FastAPI, place: Workplace, register: Register, writer: Callable[[Request], Awaitable[Actor]]) -> None:
    """Add what records something."""

    @app.post("/api/invocations/{invocation_id}/actions/{action}", summary="Decide: one action on one invocation")
    async def act(
        invocation_id: Id, action: Id, actor: Annotated[Actor, Depends(writer)], body: Annotated[ActionBody, Body()] = ActionBody(),  # noqa: B008 - FastAPI reads the default
    ) -> Response:  # fmt: skip  # a signature in three lines
        await views.require_visible(place, invocation_id, actor)
        receipt = await perform(place, invocation_id, action, actor, body)
        document = await views.document(place, receipt.record.id, actor)
        return Json({"accepted": True, "recorded": [str(r.event.ref) for r in receipt.recorded], "document": document})

    async def observations(request: Request, actor: Actor, kinds: str) -> Response:
        drafts = [Draft(event=parsed.event, values=parsed.values) for parsed in parse_events(await request.body())]
        if kinds == "receipts" and any(d.event.kind != "card.rendered" for d in drafts):
            raise InvalidInput("Only render receipts belong here.", field="type", remedy="Send other observations to /api/events.")
        recorded = await record_observations(place, register, drafts, actor=actor)
        answers = [{"id": r.event.id, "source": r.event.source, "verdict": str(r.verdict), "reason": r.reason, "ref": r.event.ref} for r in recorded]
        return Json({"events": answers})

    @app.post("/api/events", summary="Record observations of a registered source (CloudEvents batch)")
    async def record_events(request: Request, actor: Annotated[Actor, Depends(writer)]) -> Response:
        return await observations(request, actor, "events")

    @app.post("/api/receipts", summary="Record what a person was really shown")
    async def receipts(request: Request, actor: Annotated[Actor, Depends(writer)]) -> Response:
        return await observations(request, actor, "receipts")


def _add_pages(app: FastAPI, place: Workplace, gate: Gate, login: LoopbackLogin | None) -> None:
    """Add the console page and its assets."""

    async def show(request: Request, view: str, subject: str = "") -> Response:
        base = request.scope.get("root_path", "")
        token = request.query_params.get("token")
        if token is not None and login is not None:
            session = login.open_session(token)
            if session is None and login.authenticate(request) is None:
                return page.not_signed_in(base=base)
            answer = RedirectResponse(request.url.remove_query_params("token").path or "/", status_code=303)
            if session is not None:
                answer.set_cookie(COOKIE, session, httponly=True, samesite="strict", path=base or "/")
            return answer
        actor = await gate.actor(request)
        title, data = await views.page(place, view, subject, actor)
        boot = {
            "view": view, "data": data, "cursor": f"p{await place.ledger.head()}", "csrf": gate.csrf(actor), "base": base,
            "actor": {"id": actor.id, "name": actor.name or actor.id, "roles": sorted(actor.roles)},
        }  # fmt: skip  # facts in lines
        return page.console(title, boot, base=base)

    @app.get("/", include_in_schema=False)
    async def tasks_page(request: Request) -> Response:
        return await show(request, "tasks")

    @app.get("/inbox", include_in_schema=False)
    async def inbox_page(request: Request) -> Response:
        return await show(request, "inbox")

    @app.get("/tasks/{task_id}", include_in_schema=False)
    async def task_page(request: Request, task_id: Id) -> Response:
        return await show(request, "task", task_id)

    @app.get("/invocations/{invocation_id}", include_in_schema=False)
    async def invocation_page(request: Request, invocation_id: Id) -> Response:
        return await show(request, "invocation", invocation_id)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: Id) -> Response:
        return page.asset(name)
