"""The console page: the elements, and the data for their first paint in the page itself."""

from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from toolwitness.contract.encode import encode
from toolwitness.core.errors import UnknownId
from toolwitness.server.access import LoopbackLogin, NoActor
from toolwitness.server.answers import Id, gate_of
from toolwitness.server.live import Live
from toolwitness.server.problems import Refused
from toolwitness.server.reading import described
from toolwitness.service import views
from toolwitness.service.boards import Boards
from toolwitness.service.workplace import Workplace

_HEADERS: Final = {
    # No code and no request but our own. Styles of custom elements are adopted sheets; some browsers count them as inline.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{base}/static/toolwitness.css">
<script type="application/json" id="tw-boot">{boot}</script>
<script type="module" src="{base}/static/toolwitness.js"></script>
<tool-console></tool-console>
<noscript>This page draws recorded facts with script. The same facts as JSON: <a href="{base}/api/tasks">tasks</a>.</noscript>
"""

_STRANGER: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>toolwitness: {title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{base}/static/toolwitness.css">
<main class="tw-plain"><h1>{title}</h1><p>{text}</p></main>
"""
_SIGN_IN: Final = (
    "The address that toolwitness prints when it starts holds a token. It opens one session, once. Copy that address from the terminal; "
    "if it was used already, start the server again for a new one."
)

_ELSEWHERE: Final = "Sign in to the app that this page belongs to, and come back."


def add(api: FastAPI, place: Workplace, boards: Boards, live: Live, login: LoopbackLogin | None) -> None:
    """Add the console page and its assets."""

    async def show(request: Request, view: str, subject: str = "") -> Response:
        base = str(request.scope.get("root_path", ""))
        token = request.query_params.get("token")
        if token is not None and login is not None:
            return _enter(request, login, token, base)
        gate = gate_of(request)
        try:
            actor = await gate.actor(request)
        except NoActor:
            return _plain(401, "Nobody is signed in here", _SIGN_IN if login else _ELSEWHERE, base)
        cursor = await live.cursor()  # before the data: what is recorded in between comes twice, and is not lost
        try:
            if view == "tasks":
                title, shown = "Tasks", {"tasks": await views.task_rows(place, actor)}
            else:
                title, shown = await boards.page(view, subject, actor)
        except UnknownId as error:
            return _plain(404, "Nothing is recorded under this address", error.message, base)
        waiting = await boards.waiting_count(actor)
        boot = {
            "view": view, "data": shown, "cursor": cursor, "csrf": gate.csrf(actor), "base": base, "actor": described(actor),
            "waiting": waiting,
        }  # fmt: skip  # facts in lines
        return console(title, boot, base=base)

    @api.get("/", include_in_schema=False)
    async def tasks_page(request: Request) -> Response:
        return await show(request, "tasks")

    @api.get("/inbox", include_in_schema=False)
    async def inbox_page(request: Request) -> Response:
        return await show(request, "inbox")

    @api.get("/tasks/{task_id}", include_in_schema=False)
    async def task_page(request: Request, task_id: Id) -> Response:
        return await show(request, "task", task_id)

    @api.get("/invocations/{invocation_id}", include_in_schema=False)
    async def invocation_page(request: Request, invocation_id: Id) -> Response:
        return await show(request, "invocation", invocation_id)

    @api.get("/static/{name}", include_in_schema=False)
    async def static(request: Request, name: Id) -> Response:
        return asset(name, known=request.headers.get("if-none-match", ""))


def _enter(request: Request, login: LoopbackLogin, token: str, base: str) -> Response:
    """Open the session that the token stands for, and take the token out of the address."""
    session = login.open_session(token)
    if session is None and login.authenticate(request) is None:
        return _plain(401, "This address was used already", _SIGN_IN, base)
    answer = RedirectResponse(request.url.path, status_code=303, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
    if session is not None:
        # Lax and not Strict: a strict cookie does not come along when the address was followed from a page, as in a browser's terminal.
        secure = request.url.scheme == "https"
        answer.set_cookie(login.cookie, session, httponly=True, samesite="lax", secure=secure, path=base or "/")
    return answer


def console(title: str, boot: dict[str, Any], *, base: str) -> HTMLResponse:
    """Make the console page with ``boot`` as the data of its first paint."""
    # In a script element only "<" can end it or open a comment: escaped, no recorded text can.
    safe = encode(boot).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return HTMLResponse(_PAGE.format(title=_safe(title), base=_safe(base), boot=safe), headers=_HEADERS)


def _plain(status: int, title: str, text: str, base: str) -> HTMLResponse:
    """Make a page that says one thing, without script."""
    return HTMLResponse(_STRANGER.format(title=_safe(title), text=_safe(text), base=_safe(base)), status_code=status, headers=_HEADERS)


def _safe(text: str) -> str:
    """Give text that means itself in HTML and can be encoded."""
    return escape(text.encode("utf-8", "replace").decode(), quote=True)


def _built(name: str) -> tuple[bytes, str]:
    """Give the bytes of a built file and the tag that changes with them."""
    content = (files("toolwitness.server") / "static" / name).read_bytes()
    return content, f'"{sha256(content).hexdigest()[:20]}"'


def asset(name: str, *, known: str = "") -> Response:
    """Give one built file of the elements; nothing of it where the browser holds the same.

    Raises:
        Refused: there is no such file.
    """
    kinds = {".js": "text/javascript", ".css": "text/css"}
    suffix = next((s for s in kinds if name.endswith(s)), "")
    if not suffix or "/" in name or not (files("toolwitness.server") / "static" / name).is_file():
        raise Refused(404, "http", "No such file", remedy="If the elements are not built: run `make web`, or install a wheel.")
    content, tag = _built(name)
    headers = {"Cache-Control": "no-cache", "ETag": tag, "X-Content-Type-Options": "nosniff"}
    if tag in known:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kinds[suffix], headers=headers)
