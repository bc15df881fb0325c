"""How calls end, as far as the framework tells: results, what a hook saw, and the end of a run.

Three rules. The framework's own texts are read before the word ``success`` is believed. A result after the call was taken up again is a
second run of it. Whoever was cancelled has lost a waiter: neither a stream nor a hook can know that the body has ended; it may be a thread.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.adapters.pydantic_ai import mapping
from toolwitness.core.evidence import Kind, evidence_ref
from toolwitness.core.states import ClosureKind, Origin
from toolwitness.reading import endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.pen import UNRECORDED

_NEVER_RAN = frozenset({"unknown_tool", "unavailable_tool"})
_PAUSES = frozenset({"ApprovalRequired", "CallDeferred"})
_RAISED = {"ToolFailedError": "tool-failed", "ToolFailed": "tool-failed", "ToolRetryError": "retry-asked", "ModelRetry": "retry-asked"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the framework handed to the model as the result of a call."""

    provider_id: str
    outcome: str
    """``success``, ``failed``, ``retried``, ``denied``, ``interrupted``; ``error`` where a surface has one word for two of them."""
    content: Any
    word: str
    """The mapping's row, without its ending."""
    tool: str = ""
    time: str | None = None
    cause: str = ""
    key: str = ""
    """What tells this result from another under the same id; empty where nothing does."""

    @property
    def text(self) -> str:
        """The content where it is a text, else nothing."""
        return self.content if isinstance(self.content, str) else ""


def take_result(calls: Calls, result: Result) -> None:
    """Record what a result says about the call that it answers."""
    calls.turn_to_tools()
    call = calls.meant(result.provider_id, result.tool)
    if result.key:
        if result.key in call.results:
            return
        call.results.add(result.key)
    outcome = result.outcome
    if outcome == "interrupted" or result.text in {mapping.INTERRUPTED, mapping.BROKEN_OFF}:
        endings.release(
            calls, call, f"{result.word} interrupted", "the run was over before a result was produced", origin=Origin.SYNTHESIZED
        )
    elif outcome == "denied" or (call.settled_outside and result.text == mapping.DENIED_BY_DEFAULT):
        _denied(calls, call, result)
    elif result.text in mapping.NOT_EXECUTED:
        calls.withdraw(f"{result.word} not executed", call, "a final result was already there", by=calls.framework)
    elif call.settled_outside and not call.told:
        _settled(calls, call, result)
    elif call.told:
        return
    elif outcome == "success":
        _succeeded(calls, call, result)
    elif _refuses_inputs(call, result):
        calls.refuse_inputs(
            f"{result.word} refused",
            call,
            f"{calls.framework}: {result.cause or 'validation_error'}",
            details=result.content,
            time=result.time,
        )
    elif re.fullmatch(mapping.TIMED_OUT, result.text) and outcome != "failed":
        endings.again(calls, call, f"{result.word} timed out", time=result.time)
        time_out(calls, call, f"{result.word} timed out", result.text, time=result.time)
    else:
        endings.again(calls, call, f"{result.word} failed", time=result.time)
        fail(calls, call, f"{result.word} failed", _category(result), result.content, time=result.time)


def _succeeded(calls: Calls, call: Call, result: Result) -> None:
    if result.text in mapping.OUTPUT_FAILED:
        fail(calls, call, f"{result.word} failed", "output-not-taken", result.content, time=result.time)
        return
    endings.again(calls, call, f"{result.word} success, again", time=result.time)
    word = f"{result.word} success, again" if call.ended else f"{result.word} success"
    endings.succeed(calls, call, word, result.content, time=result.time)


def _denied(calls: Calls, call: Call, result: Result) -> None:
    """Record a denial: the person's, where an approval was asked for and nobody was seen to answer, and the framework's closure."""
    word = f"{result.word} denied"
    cause: tuple[str, ...] = ()
    if call.awaits_approval:
        said = calls.deny(word, call, UNRECORDED, time=result.time)
        cause = (evidence_ref(calls.pen.source, said),)
    calls.close(word, call, ClosureKind.DENIED, UNRECORDED, "the approval was denied", time=result.time, caused_by=cause)


def _settled(calls: Calls, call: Call, result: Result) -> None:
    """Record a result that the framework was given instead of running the call."""
    if result.outcome in {"retried", "error"}:
        why = "sent back to the model instead of being run"
        calls.refuse_inputs(f"{result.word} refused", call, why, details=result.content, time=result.time)
    elif result.outcome == "failed":
        if call.waits_for == "external":
            fail(calls, call, f"{result.word} failed", "external-failure", result.content, time=result.time)
        else:
            calls.withdraw(f"{result.word} answered", call, "reported as failed instead of being run", by=UNRECORDED)
    elif call.waits_for == "external":
        endings.succeed(calls, call, f"{result.word} supplied", result.content, time=result.time, executed="elsewhere")
    else:
        if not call.answer:
            call.answer = "given"
            calls.supply(f"{result.word} answered", call, UNRECORDED, result.content)
        if call.waits_for:  # else nobody was seen to ask: what ran, and where, is not known
            calls.close(
                f"{result.word} answered", call, ClosureKind.ANSWERED_BY_HUMAN, UNRECORDED, "answered in the tool's place", time=result.time
            )


def _refuses_inputs(call: Call, result: Result) -> bool:
    """Tell whether the result says that the arguments were refused and the body never ran.

    Validation errors alone do not: a body may raise them about the very same values. Where a surface has no word of its own for refused
    arguments, the call counts as failed, which is true of both.
    """
    return call.refused or result.cause in _NEVER_RAN or (result.outcome == "error" and result.text.startswith("Unknown tool name: "))


def _category(result: Result) -> str:
    if result.outcome == "retried" or result.cause:
        return {"validation_error": "validation-error"}.get(result.cause, "retry-asked")
    return "tool-failed" if result.outcome == "failed" else "tool-error"


# ── failures ────────────────────────────────────────────────────────────────────────────────────────────────────────


_DETAILS: Final = {
    "tool-failed": "The tool reported a failure.",
    "retry-asked": "The tool asked the model to call it again.",
    "validation-error": "A value inside the tool did not validate.",
    "retries-exhausted": "The tool asked for one retry more than it may.",
    "output-not-taken": "The final answer was not taken.",
    "external-failure": "The external executor reported a failure.",
    "tool-error": "The call ended with an error.",
    "raised": "The tool raised an exception.",
}
_RETRIED: Final = frozenset({"retry-asked", "validation-error", "tool-error"})


def fail(calls: Calls, call: Call, word: str, category: str, content: Any, *, time: str | None = None) -> None:
    """Record a failure in one of the framework's categories."""
    endings.fail(calls, call, word, category, content, detail=_DETAILS[category], time=time, wants_retry=category in _RETRIED)


def time_out(calls: Calls, call: Call, word: str, text: str, *, time: str | None = None) -> None:
    """Record that the framework's own limit passed; ``text`` is its sentence."""
    endings.time_out(calls, call, word, text.removeprefix("Timed out after ").removesuffix("."), time=time)


# ── what a hook saw ─────────────────────────────────────────────────────────────────────────────────────────────────


def hook_started(calls: Calls, call: Call, word: str, seen: Mapping[str, Any]) -> None:
    """Record that the body was entered, with the arguments that it was given."""
    if seen.get("approved") is True and call.waits_for == "approval" and call.answer != "granted":
        calls.grant(f"{word} approved", call, UNRECORDED)
    endings.start(calls, call, word, inputs=seen.get("args"))
    call.run = calls.run
    call.over, call.begun, call.told, call.settled_outside = False, True, False, False


def hook_returned(calls: Calls, call: Call, word: str, result: Any) -> None:
    """Record that the body returned."""
    endings.succeed(calls, call, word, result)
    call.told = True


def hook_raised(calls: Calls, call: Call, word: str, exception: str, message: str) -> None:
    """Record that the body raised; a pause is no failure, and a time-out says nothing of the body's end."""
    if exception in _PAUSES:
        opened = "approval" if exception == "ApprovalRequired" else "answer"
        call.begun = False
        calls.pen.write(
            Kind.PART_COMPLETED, f"{word} a pause", call.invocation_id, attempt=call.attempt,
            data={"part": "the body until it asked", "open": [opened], "outcome": "paused"},
        )  # fmt: skip  # facts in lines
        return
    if re.fullmatch(mapping.TIMED_OUT, message):
        time_out(calls, call, f"{word} timed out", message)
    else:
        fail(calls, call, word, _RAISED.get(exception, "raised"), {"exception": exception, "message": message})
    call.told = True


def hook_cancelled(calls: Calls, call: Call, word: str) -> None:
    """Record that the wait inside the hook was cancelled. Not an acknowledgement: for a threaded tool it comes before the effect."""
    endings.release(calls, call, word, "the wait for the body was cancelled")
