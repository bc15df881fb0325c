"""The ASGI app: API, live stream and console page, to mount in an app of the user's or to serve alone."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from toolwitness.server import authority, openapi, pages, problems, reading, writing
from toolwitness.server.access import Authenticate, Gate, LoopbackLogin
from toolwitness.server.live import Live
from toolwitness.service.boards import Boards
from toolwitness.service.record import Register
from toolwitness.service.workplace import Workplace

__all__ = ["App", "Authenticate", "LoopbackLogin", "create_app"]


def create_app(
    place: Workplace, register: Register, *, authenticate: Authenticate | None = None, login: LoopbackLogin | None = None,
    secret: bytes = b"", start: Callable[[], Awaitable[Any]] | None = None,
) -> "App":  # fmt: skip  # a signature in three lines
    """Make the app around a workplace.

    ``authenticate`` tells who a request comes from; without it, and without ``login``, nothing is readable. ``secret`` makes the token that
    proves that our page sent a change: processes that answer for one another need the same. ``start`` is awaited before the first request
    is answered: a mounted app's own lifespan is never run by the app that mounts it.
    """
    gate = Gate(authenticate or (login.authenticate if login else None))
    if secret:
        gate.secret = secret
    boards = Boards(place)
    live = Live(place.ledger, boards)
    api = FastAPI(title="toolwitness", version="1", openapi_url=None, docs_url=None, redoc_url=None)
    api.state.gate = gate
    problems.install(api)
    reading.add(api, place, boards)
    writing.add(api, place, register)
    authority.add(api, place)
    openapi.add(api)
    pages.add(api, place, boards, live, login)
    return App(api, gate, live, start)


class App:
    """Everything under the mount point. The stream goes around the framework: nothing stands between the shared log and the socket."""

    def __init__(self, api: FastAPI, gate: Gate, live: Live, start: Callable[[], Awaitable[Any]] | None) -> None:
        """Put the API and the stream beside each other."""
        self.api = api
        self.live = live
        self._gate = gate
        self._start = start

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; what nobody foresaw is answered too, and logged."""
        if scope["type"] == "lifespan":
            await self.api(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        try:
            if self._start is not None:
                await self._start()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is answered, and logged where nobody foresaw it
            await problems.answer_or_log(error, scope)(scope, receive, send)
            return
        await (self._stream if _path(scope) == "/api/stream" else self.api)(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def begin(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._follow(Request(scope), receive, send, begin)
        except Exception as error:
            if begun:
                raise
            await problems.answer_or_log(error, scope)(scope, receive, send)

    async def _follow(self, request: Request, receive: Receive, send: Send, begin: Send) -> None:
        if request.method != "GET":
            raise problems.Refused(405, "http", "Method Not Allowed")
        actor = await self._gate.actor(request)
        cursor = request.headers.get("last-event-id") or request.query_params.get("cursor", "")
        await self.live.serve(receive, send, begin=begin, actor=actor, cursor=cursor, task_id=request.query_params.get("task", ""))


def _path(scope: Scope) -> str:
    """Give the path under the mount point."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and path.startswith(root) else path
