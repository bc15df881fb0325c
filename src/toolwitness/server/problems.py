"""Errors as RFC 9457 problem documents: what was wrong, with which field, and what to do."""

import logging
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolwitness.contract.encode import encode
from toolwitness.core.errors import (
    Conflict,
    InvalidInput,
    NewerFormat,
    NotPermitted,
    OnceKeyTaken,
    Tampered,
    ToolwitnessError,
    Unavailable,
    UnknownId,
)

MEDIA_TYPE: Final = "application/problem+json"
_STATUS: Final[tuple[tuple[type[ToolwitnessError], int, str], ...]] = (
    (UnknownId, 404, "Nothing is recorded under this id"),
    (InvalidInput, 422, "The request could not be understood"),
    (NotPermitted, 409, "Policy does not permit this"),
    (OnceKeyTaken, 409, "Somebody decided first"),
    (Conflict, 409, "Somebody wrote first"),
    (Tampered, 500, "The record does not verify"),
    (NewerFormat, 503, "The record was written by a newer version"),
    (Unavailable, 503, "The record cannot be reached now"),
)
_log = logging.getLogger("toolwitness.server")


class Refused(Exception):
    """The request itself is refused, whatever is recorded: the HTTP status, a stable code, and what to do."""

    def __init__(self, status: int, code: str, title: str, *, detail: str = "", remedy: str = "") -> None:
        """Keep what the problem document says."""
        super().__init__(title)
        self.status, self.code, self.title = status, code, title
        self.detail, self.remedy = detail, remedy

    def answer(self) -> Response:
        """Give the problem document."""
        return problem(self.status, self.title, detail=self.detail, code=self.code, remedy=self.remedy)


def problem(status: int, title: str, *, detail: str = "", code: str = "", **facts: Any) -> Response:
    """Make a problem document; ``facts`` become extension members where they are plain JSON."""
    body: dict[str, Any] = {"type": f"urn:toolwitness:problem:{code or 'http'}", "title": title, "status": status}
    body |= {"detail": detail} if detail else {}
    body |= {"code": code} if code else {}
    body |= {
        name: value for name, value in facts.items() if name not in body and isinstance(value, str | int | list | dict) and value != ""
    }
    return Response(encode(body), status_code=status, media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store"})


def as_problem(error: ToolwitnessError) -> Response:
    """Turn an error of ours into its problem document."""
    status, title = next(((s, t) for kind, s, t in _STATUS if isinstance(error, kind)), (500, "This could not be done"))
    facts = dict(error.facts)
    if isinstance(error, OnceKeyTaken):
        won = error.winner
        facts["winner"] = {
            "kind": won.event.kind,
            "actor": str(won.event.data.get("actor") or ""),
            "at": won.recorded_time,
            "ref": won.event.ref,
        }
    return problem(status, title, detail=error.message, code=error.code, remedy=error.remedy, **facts)


def install(app: FastAPI) -> None:
    """Answer every error of ``app`` with a problem document."""

    async def known(request: Request, error: Exception) -> Response:
        return answer_or_log(error, request.scope)

    for kind in (ToolwitnessError, Refused, HTTPException):
        app.add_exception_handler(kind, known)
    app.add_middleware(Unforeseen)

    @app.exception_handler(RequestValidationError)
    async def _shape(_request: Request, error: RequestValidationError) -> Response:
        wrong = [{"field": ".".join(str(part) for part in e["loc"]), "message": str(e["msg"])} for e in error.errors()]
        first = wrong[0] if wrong else {"field": "body", "message": "it could not be read"}
        return problem(
            422, "The request could not be understood", detail=f"{first['field']}: {first['message']}", code="invalid-input",
            field=first["field"], problems=wrong,
        )  # fmt: skip  # facts in lines


def answer_to(error: Exception) -> Response | None:
    """Give the problem document for an error that is an answer; ``None`` for one that nobody foresaw."""
    if isinstance(error, ToolwitnessError):
        return as_problem(error)
    if isinstance(error, Refused):
        return error.answer()
    if isinstance(error, HTTPException):
        answer = problem(error.status_code, str(error.detail), code="http")
        answer.headers.update(error.headers or {})
        return answer
    return None


def answer_or_log(error: Exception, scope: Scope) -> Response:
    """Give the problem document for any error; of one that nobody foresaw it tells nothing, and the log tells those who run the server."""
    known = answer_to(error)
    if known is not None:
        return known
    _log.error("%s %s could not be answered", scope.get("method"), scope.get("path"), exc_info=error)
    return problem(500, "This could not be done", code="unforeseen", remedy="The server's log says why.")


class Unforeseen:
    """Answers every error with a problem document, unless something was answered already."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand in front of ``app``."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            if begun or scope["type"] != "http":
                raise
            await answer_or_log(error, scope)(scope, receive, send)
