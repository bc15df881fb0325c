"""The machine-readable description of the API, with the shapes of everything that it takes and gives."""

from typing import Any, Final, cast

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from toolwitness.contract.schemas import schema
from toolwitness.core.states import State
from toolwitness.core.verdicts import Verdict
from toolwitness.server.actions import COMMANDS, ActionBody, DecisionsBody
from toolwitness.server.answers import Json, Reader
from toolwitness.server.authority import AuthorityBody

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_WHOLE: Final[Schema] = {"type": "integer"}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _many(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _thing(description: str, **fields: Schema) -> Schema:
    """Describe an object whose named fields are always there and which may hold more."""
    return {"type": "object", "description": description, "properties": fields, "required": list(fields)}


_DRAWN: Final[dict[str, Schema]] = {"state": _TEXT, "label": _TEXT, "tone": {"enum": ["live", "ok", "bad", "wait", "off"]}, "glyph": _TEXT}
_SHAPES: Final[dict[str, Schema]] = {
    "Problem": _thing("RFC 9457; `code` is stable, `field` and `remedy` say where and what to do.", type=_TEXT, title=_TEXT, status=_WHOLE)
    | {"additionalProperties": True},
    "Card": _thing(
        "One invocation as a person is shown it; nothing in it is left to the reader to decide.",
        id=_TEXT, task=_TEXT, version=_WHOLE, title=_TEXT, tool=_TEXT, attempt=_WHOLE, **_DRAWN, meta=_many(_thing("", text=_TEXT)),
        findings=_many(_thing("", code=_TEXT, severity=_TEXT, headline=_TEXT, detail=_TEXT)),
        requests=_many(_thing("", kind=_TEXT, text=_TEXT)),
        facts=_many(_thing("", term=_TEXT, text=_TEXT)), lineage=_many(_thing("", text=_TEXT)), blocked=_many(_thing("", text=_TEXT)),
        controls=_many(_ref("Control")), disclosures=_many(_thing("", id=_TEXT, title=_TEXT, kind=_TEXT)),
        timeline=_thing("", title=_TEXT, rows=_many(_thing("", mark=_TEXT, text=_TEXT))),
    ),
    "Control": _thing("A button, on or off; off with its reason.", action=_TEXT, label=_TEXT, enabled={"type": "boolean"}),
    "TaskCard": _thing(
        "A task with the cards of its calls.", id=_TEXT, title=_TEXT, **_DRAWN, summary=_TEXT, cards=_many(_ref("Card")),
        controls=_many(_ref("Control")), version=_WHOLE,
    ),
    "TaskRow": _thing("One line of the list of tasks.", id=_TEXT, title=_TEXT, **_DRAWN, summary=_TEXT, at=_TEXT, waiting=_WHOLE),
    "Inbox": _thing("What waits for a decision.", title=_TEXT, items=_many(_ref("Card")), empty=_TEXT),
    "Session": _thing(
        "Who the request comes from, and the token for X-Toolwitness-CSRF.",
        actor=_thing("", id=_TEXT, name=_TEXT, roles=_many(_TEXT)), csrf=_TEXT,
    ),
    "Accepted": _thing(
        "What was recorded, and the document after it: of the new invocation where the action made one.",
        accepted={"type": "boolean"}, recorded=_many(_TEXT), document=_ref("Invocation"),
    ),
    "Decided": _thing(
        "What became of each answer, in the order of the submission; `problem` where it was not accepted.",
        decisions=_many(_thing("", invocationId=_TEXT, answer=_TEXT, accepted={"type": "boolean"}, recorded=_many(_TEXT))),
    ),
    "AuthorityChanged": _thing("What was recorded.", accepted={"const": True}, recorded=_many(_TEXT), voided=_many(_TEXT)),
    "Answered": _thing(
        "What became of each observation, in the order of the batch.",
        events=_many(_thing("", id=_TEXT, source=_TEXT, verdict={"enum": [str(v) for v in Verdict]}, reason=_TEXT, ref=_TEXT)),
    ),
    "State": {"enum": [str(s) for s in State]},
}  # fmt: skip  # a shape in as few lines as it takes

_EITHER: Final = "The document, or with `view=card` the card."
_GIVES: Final[dict[str, tuple[str, Schema]]] = {
    "session": ("Who asks.", _ref("Session")),
    "list_tasks": ("The tasks.", _thing("", tasks=_many(_ref("TaskRow")))),
    "read_task": (_EITHER, {"anyOf": [_ref("Task"), _ref("TaskCard")]}),
    "read_invocation": (_EITHER, {"anyOf": [_ref("Invocation"), _ref("Card")]}),
    "read_events": ("The evidence.", _thing("", events=_many(_ref("Event")))),
    "list_approvals": (_EITHER, {"anyOf": [_thing("", approvals=_many(_ref("Invocation"))), _ref("Inbox")]}),
    "act": ("It is recorded.", _ref("Accepted")),
    "list_authority": (
        "What was taken.",
        _thing("", revoked=_many(_thing("", holder=_TEXT, role=_TEXT, by=_TEXT, at=_TEXT, reason=_TEXT))),
    ),
    "revoke_authority": ("It is recorded, with the calls whose approval it voided.", _ref("AuthorityChanged")),
    "restore_authority": ("It is recorded.", _ref("AuthorityChanged")),
    "decide": ("Each answer's result.", _ref("Decided")),
    "record_events": ("Each observation's verdict.", _ref("Answered")),
    "record_receipts": ("Each receipt's verdict.", _ref("Answered")),
}
_TAKES: Final[dict[str, Schema]] = {
    "act": _ref("ActionBody"),
    "revoke_authority": _ref("AuthorityBody"),
    "restore_authority": _ref("AuthorityBody"),
    "decide": _ref("DecisionsBody"),
    "record_events": {"anyOf": [_ref("Event"), _many(_ref("Event"))]},
    "record_receipts": {"anyOf": [_ref("Event"), _many(_ref("Event"))]},
}
_REFUSALS: Final = {
    "401": "Nobody is signed in.",
    "404": "Nothing is recorded under this id.",
    "422": "The request could not be understood.",
}
_REFUSED_CHANGES: Final = {
    "403": "It may have been sent by another site.",
    "409": "Policy does not permit it, or somebody decided first: `winner` says who and when.",
    "413": "The body is larger than 4 MiB.", "415": "The body is not sent as JSON.",
}  # fmt: skip  # one line each


def add(api: FastAPI) -> None:
    """Add the description, for those who may read."""

    @api.get("/api/openapi.json", include_in_schema=False)
    async def description(request: Request, _actor: Reader) -> Response:
        base = str(request.scope.get("root_path", ""))
        return Json(describe(api) | ({"servers": [{"url": base}]} if base else {}))


def describe(api: FastAPI) -> Schema:
    """Give the OpenAPI 3.1 document."""
    document = get_openapi(title="toolwitness", version="1", routes=api.routes, description="What your users see is what happened.")
    schemas: dict[str, Schema] = {**_SHAPES, "ActionBody": ActionBody.model_json_schema(by_alias=True)}
    schemas["AuthorityBody"] = AuthorityBody.model_json_schema(by_alias=True)
    schemas |= _components("DecisionsBody", DecisionsBody.model_json_schema(by_alias=True))
    for name, published in (("Invocation", "contract"), ("Task", "task"), ("Event", "event")):
        schemas |= _components(name, schema(published))
    document["components"] = {
        "schemas": schemas,
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer"},
            "session": {
                "type": "apiKey",
                "in": "cookie",
                "name": "toolwitness_session",
                "description": "Changes need X-Toolwitness-CSRF beside it.",
            },
        },
    }
    document["security"] = [{"bearer": []}, {"session": []}]
    for methods in document["paths"].values():
        for operation in methods.values():
            _complete(operation)
    document["paths"]["/api/stream"] = {"get": _STREAM}
    return document


def _complete(operation: Schema) -> None:
    """Say what an operation takes, gives and refuses with."""
    name = operation["operationId"]
    words, given = _GIVES[name]
    refusals = _REFUSALS | (_REFUSED_CHANGES if name in _TAKES else {})
    problem = {"application/problem+json": {"schema": _ref("Problem")}}
    operation["responses"] = {
        "200": {"description": words, "content": {"application/json": {"schema": given}}},
        **{code: {"description": why, "content": problem} for code, why in refusals.items()},
    }
    if name in _TAKES:
        needed = name != "act"
        operation["requestBody"] = {"required": needed, "content": {"application/json": {"schema": _TAKES[name]}}}
    for parameter in operation.get("parameters", ()):
        if parameter["name"] == "action":
            parameter["schema"] = {"enum": list(COMMANDS)}


def _components(name: str, published: Schema) -> dict[str, Schema]:
    """Make components of a published schema and its parts; the names of the parts begin with the whole's."""
    parts = cast("dict[str, Schema]", published.get("$defs", {}))
    whole = {key: value for key, value in published.items() if key not in {"$schema", "$id", "$defs"}}
    return {key: _moved(value, name) for key, value in {name: whole, **{f"{name}_{part}": inner for part, inner in parts.items()}}.items()}


def _moved(node: Any, name: str) -> Any:
    """Let references inside a published schema lead to its components."""
    if isinstance(node, dict):
        members = cast("Schema", node)
        ref = members.get("$ref")
        if isinstance(ref, str):
            return members | {"$ref": ref.replace("#/$defs/", f"#/components/schemas/{name}_")}
        return {key: _moved(value, name) for key, value in members.items()}
    return [_moved(item, name) for item in cast("list[Any]", node)] if isinstance(node, list) else node


def _parameter(name: str, place: str, description: str) -> Schema:
    return {"name": name, "in": place, "required": False, "schema": _TEXT, "description": description}


_STREAM: Final[Schema] = {
    "summary": "Follow what is recorded (Server-Sent Events)",
    "operationId": "stream",
    "description": (
        'Events: `card` (a Card), `task` (a TaskCard without its cards), `row` (a TaskRow), `inbox` (`{"waiting": n}`), and `resync`, '
        "which asks for a fresh snapshot. Each is the whole thing as it is now; `version` tells the newer one. `id` is an opaque cursor."
    ),
    "parameters": [
        _parameter("task", "query", "Follow this task only."),
        _parameter("cursor", "query", "Resume from here; the page's boot data holds the first one."),
        _parameter("Last-Event-ID", "header", "Resume from here; browsers send it when they reconnect. It goes before `cursor`."),
    ],
    "responses": {
        "200": {"description": "The stream.", "content": {"text/event-stream": {"schema": _TEXT}}},
        "401": {"description": "Nobody is signed in.", "content": {"application/problem+json": {"schema": _ref("Problem")}}},
    },
}  # fmt: skip  # a parameter in one line
