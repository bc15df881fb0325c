"""Ends that only look like one: a cancellation that comes as a result, or as an error, in a framework that has no word for it.

Classify by type, not by text: nothing here makes a call cancelled, and nothing here makes it succeed or fail. What is recognised is
doubted, so that somebody finds out (R11). The spellings are those that were recorded from real front ends and frameworks.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

_STATUS: Final = frozenset({"cancelled", "canceled", "aborted", "abort", "interrupted", "stopped", "cancelling"})
_STATUS_NAMES: Final = ("status", "state", "outcome", "kind", "type", "result")
_FLAGS: Final = ("cancelled", "canceled", "aborted", "isCancelled", "isCanceled", "is_cancelled", "isAborted", "interrupted")
_TEXT: Final = re.compile(
    r"^\W*(?:(?:Error|Exception)?:?\s*)?(?:[\w.]*\.)?(?:"
    r"AbortError\b|CancelledError\b|RunCancelled\b|OperationCancel(?:l)?edException\b"
    r"|Cancel(?:l)?ed(?:Exception)?(?=\s*(?:$|[^\w\s])|\s+(?:by|due|because|on|after|before)\b)"
    r"|(?:the|this|your|a)?\s*(?:tool|call|operation|request|run|task|action|execution|it)(?:[\w' ]{0,30}?)\b(?:was|is|has been|were)?\s*"
    r"(?:cancel(?:l)?ed|aborted|interrupted|stopped by)\b"
    r")",
    re.IGNORECASE,
)
"""A text that *is* a notice of cancellation, from its first word; a report that mentions one (``2 cancelled flights``) is not."""
_LONGEST: Final = 300
"""No notice of cancellation that was recorded is longer; a longer text is a result that mentions one."""


def disguised_cancel(content: Any) -> str:
    """Say which words make this result, or error, look like a cancellation; empty where none do.

    ``content`` is the result of any JSON type, or its text; a text that holds JSON is read as that.
    """
    if isinstance(content, str):
        return _in_text(content)
    if isinstance(content, Mapping):
        return _in_object(cast("Mapping[str, Any]", content))
    return ""


def _in_text(text: str) -> str:
    stripped = text.strip()
    if stripped[:1] == "{":
        try:
            parsed: object = json.loads(stripped)
        except ValueError:
            return ""
        return _in_object(cast("Mapping[str, Any]", parsed)) if isinstance(parsed, Mapping) else ""
    if len(stripped) > _LONGEST:
        return ""
    if stripped.strip("\"'.! ").lower() in _STATUS:
        return stripped
    found = _TEXT.match(stripped)
    return found.group(0).strip() if found else ""


def _in_object(told: Mapping[str, Any]) -> str:
    for name in _STATUS_NAMES:
        value = told.get(name)
        if isinstance(value, str) and value.strip().lower() in _STATUS:
            return f"{name}: {value}"
    for name in _FLAGS:
        if told.get(name) is True:
            return f"{name}: true"
    for name in ("error", "message", "errorText", "reason"):
        value = told.get(name)
        if set(told) <= {name, "isError", "is_error", "ok", "success", "code"} and isinstance(value, str) and _in_text(value):
            return f"{name}: {value}"
    return ""


_FAILED: Final = frozenset({"failed", "failure", "error", "errored", "denied", "rejected"})
_BESIDE_AN_ERROR: Final = frozenset({
    "error", "errors", "message", "code", "status", "statusCode", "status_code", "type", "name", "kind", "details", "detail", "reason",
    "ok", "success", "isError", "is_error", "retryable", "stack",
})  # fmt: skip  # a set reads better in lines
"""What an object that reports an error holds, and nothing else; one that holds more is a result that mentions one."""
_TIMEOUT: Final = re.compile(
    r"^\W*(?:[\w.]*\.)?(?:TimeoutError\b|TimeoutException\b|the operation was aborted due to timeout\b)", re.IGNORECASE
)


def disguised_failure(content: Any) -> str:
    """Say which words make a result that came as a success say that it failed; empty where none do."""
    if isinstance(content, str):
        stripped = content.strip()
        if stripped[:1] != "{":
            return ""
        try:
            content = cast("object", json.loads(stripped))
        except ValueError:
            return ""
    if not isinstance(content, Mapping):
        return ""
    told = cast("Mapping[str, Any]", content)
    for name in ("status", "state", "outcome"):
        value = told.get(name)
        if isinstance(value, str) and value.strip().lower() in _FAILED:
            return f"{name}: {value}"
    for name, bad in (("isError", True), ("is_error", True), ("success", False), ("ok", False)):
        if told.get(name) is bad:
            return f"{name}: {str(bad).lower()}"
    if told.get("error") and set(told) <= _BESIDE_AN_ERROR:
        return f"error: {str(told['error'])[:80]}"
    return ""


def disguised_timeout(content: Any) -> str:
    """Say which words make an error read like a time-out, which ends a wait and perhaps no body; empty where none do."""
    found = _TIMEOUT.match(content) if isinstance(content, str) else None
    return found.group(0).strip() if found else ""


_ERROR_TEXT: Final = re.compile(
    r"^\W*(?:(?:[\w.]+)?(?:Error|Exception|Failure)\b\s*[:(\[]|Traceback \(most recent call last\)|(?:error|failed|failure)\s*:)",
    re.IGNORECASE,
)
_REFUSAL_TEXT: Final = re.compile(
    r"^\W*(?:(?:the )?(?:user|human|person|reviewer|operator|approver)\s+(?:has\s+)?(?:denied|rejected|declined|refused|disapproved)\b"
    r"|(?:(?:the|your|this)\s+)?(?:approval|permission|request|call|tool call|(?:tool )?execution)\s+"
    r"(?:was\s+|has been\s+)?(?:(?:denied|rejected|declined|refused)|(?:was\s+)?not (?:approved|permitted|allowed))\b"
    r"|(?:denied|rejected|declined|refused)\s+by\b)",
    re.IGNORECASE,
)


def error_text(content: Any) -> str:
    """Say which words make a text read like an error, or like a refusal, on a wire that has one word for every result."""
    if not isinstance(content, str):
        return ""
    found = _ERROR_TEXT.match(content) or _REFUSAL_TEXT.match(content)
    return found.group(0).strip() if found else ""
