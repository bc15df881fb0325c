"""Errors as RFC 9457 problem documents: what was wrong, with which field, and what to do."""

from typing import Any, Final

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

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


def problem(status: int, title: str, *, detail: str = "", code: str = "", **facts: Any) -> Response:
    """Make a problem document; ``facts`` become extension members where they are plain JSON."""
    body: dict[str, Any] = {"type": f"urn:toolwitness:problem:{code or 'http'}", "title": title, "status": status}
    body |= {"detail": detail} if detail else {}
    body |= {"code": code} if code else {}
    body |= {name: value for name, value in facts.items() if isinstance(value, str | int | list | dict) and value != ""}
    return Response(orjson.dumps(body), status_code=status, media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store"})


def as_problem(error: ToolwitnessError) -> Response:
    """Turn an error of ours into its problem document."""
    status, title = next(((s, t) for kind, s, t in _STATUS if isinstance(error, kind)), (500, "This could not be done"))
    return problem(status, title, detail=error.message, code=error.code, remedy=error.remedy, **error.facts)


def install(app: FastAPI) -> None:
    """Answer every error of ``app`` with a problem document."""

    @app.exception_handler(ToolwitnessError)
    async def _ours(_request: Request, error: ToolwitnessError) -> Response:
        return as_problem(error)

    @app.exception_handler(HTTPException)
    async def _http(_request: Request, error: HTTPException) -> Response:
        answer = problem(error.status_code, str(error.detail), code="http")
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(RequestValidationError)
    async def _shape(_request: Request, error: RequestValidationError) -> Response:
        wrong = [{"field": ".".join(str(part) for part in e["loc"]), "message": str(e["msg"])} for e in error.errors()]
        first = wrong[0] if wrong else {"field": "body", "message": "it could not be read"}
        return problem(
            422, "The request could not be understood", detail=f"{first['field']}: {first['message']}", code="invalid-input",
            field=first["field"], problems=wrong,
        )  # fmt: skip  # facts in lines
