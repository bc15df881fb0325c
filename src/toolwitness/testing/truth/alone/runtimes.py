"""Frameworks without a page of their own: the last word that each says of a call, as a page built straight on its stream shows it."""

from collections.abc import Mapping
from typing import Any, Final

from toolwitness.testing.truth.alone.pages import ag_ui_chunk, ai_sdk_chunk
from toolwitness.testing.truth.alone.shown import Board
from toolwitness.testing.truth.capture import Rows
from toolwitness.testing.truth.layout import Capture

PYDANTIC_AI: Final[Mapping[str, str]] = {
    "success": "succeeded", "failed": "failed", "retried": "failed", "denied": "denied", "interrupted": "cancelled",
}  # fmt: skip  # the outcome of a tool-return part
A2A: Final[Mapping[str, str]] = {
    "TASK_STATE_SUBMITTED": "queued", "TASK_STATE_WORKING": "running", "TASK_STATE_INPUT_REQUIRED": "awaiting_input",
    "TASK_STATE_AUTH_REQUIRED": "awaiting_input", "TASK_STATE_COMPLETED": "succeeded", "TASK_STATE_FAILED": "failed",
    "TASK_STATE_CANCELED": "cancelled", "TASK_STATE_REJECTED": "denied",
}  # fmt: skip  # the protocol's task states
MCP_TASK: Final[Mapping[str, str]] = {
    "working": "running", "input_required": "awaiting_input", "completed": "succeeded", "failed": "failed", "cancelled": "cancelled",
}  # fmt: skip  # the protocol's task states
CELERY: Final[Mapping[str, str]] = {
    "task-sent": "proposed", "task-received": "queued", "task-started": "running", "task-succeeded": "succeeded", "task-failed": "failed",
    "task-revoked": "cancelled", "task-rejected": "failed", "task-retried": "running",
    "PENDING": "proposed", "RECEIVED": "queued", "STARTED": "running", "PROGRESS": "running", "SUCCESS": "succeeded", "FAILURE": "failed",
    "REVOKED": "cancelled", "RETRY": "running", "ABORTED": "cancelled",
}  # fmt: skip  # event types, and states of the result backend


def pydantic_ai(capture: Capture, rows: Rows) -> Board:
    """Follow the events: called is running, the outcome of the result is the end; its two page streams as their own clients reduce them."""
    board = Board()
    for row in _runtime(rows):
        kind, event = str(row["kind"]), row["event"]
        if kind.startswith("vercel:"):
            ai_sdk_chunk(board, event, row["seq"])
        elif kind.startswith("agui:"):
            ag_ui_chunk(board, event, row["seq"])
        elif kind == "FunctionToolCallEvent":
            part = event.get("part") or {}
            board.say(str(part.get("tool_call_id")), "running", kind, row=row["seq"], tool=str(part.get("tool_name")))
        elif kind == "FunctionToolResultEvent":
            part = event.get("part") or {}
            word = str(part.get("outcome"))
            state = PYDANTIC_AI.get(word, "succeeded")
            board.say(
                str(part.get("tool_call_id")), state, f"outcome {word}", row=row["seq"], tool=str(part.get("tool_name")),
                result=part.get("content"),
            )  # fmt: skip  # one result
        elif kind == "DeferredToolRequestsEvent":
            for part in (event.get("requests") or {}).get("approvals") or ():
                board.say(str(part.get("tool_call_id")), "awaiting_approval", kind, row=row["seq"], tool=str(part.get("tool_name")))
        elif kind.startswith("hook."):
            _hook(board, kind, event, row["seq"])
    return board


def _hook(board: Board, kind: str, event: Mapping[str, Any], row: int) -> None:
    """What somebody who counts the calls of a hook would show: entered is running, left by an exception is failed or cancelled."""
    word = kind.partition(".")[2]
    states = {"START": "running", "RETURNED": "succeeded", "RAISED": "failed", "CANCELLED": "cancelled"}
    state = next((state for name, state in states.items() if word.startswith(name)), "")
    if state and event.get("id"):
        board.say(str(event["id"]), state, kind, row=row, tool=str(event.get("tool") or ""))


def langgraph(capture: Capture, rows: Rows) -> Board:
    """Follow the stream: the model's calls, tool-started, the status of the ToolMessage, and the error of a task that was cancelled."""
    board = Board()
    for row in _runtime(rows):
        kind, event, number = str(row["kind"]), row["event"], row["seq"]
        if kind.startswith("mw."):
            _hook(board, kind, event, number)
        elif kind in {"updates", "get_state", "values"} or kind.startswith("tasks:result"):
            _messages(board, event, number)
        elif kind == "tools:tool-started":
            board.say(str(event.get("tool_call_id")), "running", kind, row=number, tool=str(event.get("tool_name")))
        elif kind == "tools:tool-error":
            board.say(str(event.get("tool_call_id")), "failed", kind, row=number)
        if kind == "get_state":
            _cancelled_tasks(board, event, number)
    return board


def _messages(board: Board, value: Any, row: int) -> None:
    """Find every message in an update: the model's calls are shown as pending, a ToolMessage by its status."""
    if isinstance(value, Mapping):
        for call in value.get("tool_calls") or ():
            if isinstance(call, Mapping) and str(call.get("id")) not in board.calls:
                board.say(str(call.get("id")), "proposed", "tool_calls", row=row, tool=str(call.get("name")))
        if value.get("type") == "tool" and value.get("tool_call_id"):
            state = "failed" if value.get("status") == "error" else "succeeded"
            word = f"ToolMessage status {value.get('status')}"
            board.say(str(value["tool_call_id"]), state, word, row=row, tool=str(value.get("name") or ""), result=value.get("content"))
        for member in value.values():
            _messages(board, member, row)
    elif isinstance(value, list):
        for member in value:
            _messages(board, member, row)


def _cancelled_tasks(board: Board, event: Mapping[str, Any], row: int) -> None:
    """A task of the checkpoint with a CancelledError is shown as cancelled: it is that of the calls that still run."""
    if any("CancelledError" in str(task.get("error")) for task in event.get("tasks") or () if isinstance(task, Mapping)):
        for shown in board.calls.values():
            if shown.state == "running":
                board.say(shown.call, "cancelled", "task error CancelledError", row=row)


def openai_agents(capture: Capture, rows: Rows) -> Board:
    """Follow the run's items: tool_called is running, tool_output is done whatever it holds, an interruption waits for approval."""
    board = Board()
    for row in _runtime(rows):
        kind, event, number = str(row["kind"]), row["event"], row["seq"]
        if kind in {"run_item_stream_event:tool_called", "tool_called"}:
            item = event.get("raw_item") or {}
            board.say(str(item.get("call_id") or event.get("call_id") or ""), "running", kind, row=number, tool=str(item.get("name") or ""))
        elif kind in {"run_item_stream_event:tool_output", "tool_output"}:
            item = event.get("raw_item") or {}
            board.say(str(item.get("call_id") or event.get("call_id") or ""), "succeeded", kind, row=number, result=event.get("output"))
        elif kind == "interruptions":
            for item in event or ():
                call = item if isinstance(item, str) else str(item.get("call_id"))
                board.say(call, "awaiting_approval", kind, row=number)
    return board


def provider_wire(capture: Capture, rows: Rows) -> Board:
    """A model's wire: an item or block that is whole is shown as called, and a result that was sent back as done."""
    board = Board()
    for row in rows:
        if row.get("src") in {"runtime", "driver", "outcome"}:
            _items(board, row["event"], row["seq"])
    return board


def _items(board: Board, value: Any, row: int) -> None:
    if isinstance(value, Mapping):
        _item(board, value, row)
        for member in value.values():
            _items(board, member, row)
    elif isinstance(value, list):
        for member in value:
            _items(board, member, row)


def _item(board: Board, item: Mapping[str, Any], row: int) -> None:
    kind, function = str(item.get("type") or item.get("role")), item.get("function")
    call = str(item.get("call_id") or item.get("tool_use_id") or item.get("tool_call_id") or item.get("id") or "")
    if kind in {"function_call_output", "tool_result", "tool"}:
        board.say(call, "failed" if item.get("is_error") else "succeeded", kind, row=row)
    elif kind == "mcp_call":
        state = "failed" if item.get("error") else "succeeded" if item.get("output") is not None else "running"
        board.say(call, state, kind, row=row, tool=str(item.get("name") or ""))
    elif kind == "mcp_approval_request":
        board.say(call, "awaiting_approval", kind, row=row, tool=str(item.get("name") or ""))
    elif (kind in {"function_call", "tool_use"} or (kind == "function" and isinstance(function, Mapping))) and call not in board.calls:
        named = function if isinstance(function, Mapping) else item
        board.say(call, "running", kind, row=row, tool=str(named.get("name") or ""))


def mcp(capture: Capture, rows: Rows) -> Board:
    """Follow the session: a request runs, its result or isError ends it, notifications/cancelled cancels it, a task has its status."""
    board = Board()
    tasks: dict[str, str] = {}
    asked: dict[str, str] = {}
    for row in _runtime(rows):
        kind, event, number = str(row["kind"]), row["event"], row["seq"]
        params = event.get("params") or {}
        if kind == "c2s:tools/call":
            board.say(str(event.get("id")), "running", kind, row=number, tool=str(params.get("name")))
        elif kind == "c2s:notifications/cancelled":
            call = str(params.get("requestId"))
            if call in board.calls:
                board.say(call, "cancelled", kind, row=number)
        elif kind.startswith("c2s:tasks/"):
            asked[str(event.get("id"))] = str(params.get("taskId"))
        elif kind == "s2c:notifications/tasks/status":
            _task(board, tasks, params, number)
        elif kind in {"s2c:result", "s2c:error"}:
            _answer(board, tasks, asked, event, number)
    return board


def _answer(board: Board, tasks: dict[str, str], asked: Mapping[str, str], event: Mapping[str, Any], row: int) -> None:
    call, result = str(event.get("id")), event.get("result")
    result = result if isinstance(result, Mapping) else {}
    task = result.get("task") if isinstance(result.get("task"), Mapping) else result if result.get("taskId") else None
    if task is not None:
        tasks.setdefault(str(task.get("taskId")), call)
        _task(board, tasks, task, row)
    elif call in board.calls and call not in asked:
        waits = "inputRequests" in result
        state = "awaiting_input" if waits else "failed" if result.get("isError") or "error" in event else "succeeded"
        board.say(call, state, f"result isError {bool(result.get('isError'))}", row=row, result=result.get("structuredContent"))


def _task(board: Board, tasks: Mapping[str, str], task: Mapping[str, Any], row: int) -> None:
    word, call = str(task.get("status")), tasks.get(str(task.get("taskId")), "")
    board.say(call, MCP_TASK.get(word, "running"), f"task {word}", row=row)


def a2a(capture: Capture, rows: Rows) -> Board:
    """Follow the task: its last state is what a page shows."""
    board = Board()
    for row in _runtime(rows):
        event = row["event"] if isinstance(row["event"], Mapping) else {}
        word = str((event.get("status") or {}).get("state") or "")
        if word:
            board.say(str(event.get("taskId") or event.get("id")), A2A.get(word, "running"), word, row=row["seq"])
    return board


def celery(capture: Capture, rows: Rows) -> Board:
    """Follow the events and the result backend: the last state is what a page such as Flower shows."""
    board = Board()
    document = rows[0].get("event") or rows[0] if rows else {}
    told = [(str(one.get("timestamp") or ""), str(one.get("uuid")), str(one.get("type"))) for one in document.get("events") or ()]
    for _, call, word in told:
        if word in CELERY:
            board.say(call, CELERY[word], word)
    return board


def _runtime(rows: Rows) -> Rows:
    return [row for row in rows if row.get("src") == "runtime" and isinstance(row.get("event"), Mapping | list)]
