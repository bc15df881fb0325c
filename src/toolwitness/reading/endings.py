"""How calls begin and end, as far as a stream tells.

Whoever was cancelled has lost a waiter: neither a stream nor a hook can know that the body has ended; it may be a thread. An end that only
looks like one is doubted, not believed.
"""

import json
from typing import Any

from toolwitness.core.evidence import Kind
from toolwitness.core.states import Deadline, Origin, Owner
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.pen import exact


def again(calls: Calls, call: Call, word: str, *, time: str | None = None) -> None:
    """Record the start of a second run, which its own end proves: a call that had ended was taken up again."""
    if call.ended and not call.over and not call.begun:
        start(calls, call, word, attempt=call.attempt + call.runs, time=time)


def run_again(calls: Calls, call: Call, word: str, *, time: str | None = None) -> None:
    """Record that a later run has run the call once more, though it had ended: the next end is that of another start.

    Nothing happens for a call that has not ended, was closed before it ran, whose end is doubted, or that ended in this very run.
    """
    if call.over and call.runs and not call.doubted and call.run < calls.run:
        call.over = False
        call.results.clear()
        again(calls, call, word, time=time)
    call.run = calls.run


def start(
    calls: Calls, call: Call, word: str, *, attempt: int | None = None, inputs: Any = None, time: str | None = None, compared: str = ""
) -> None:  # fmt: skip  # a signature in two lines
    """Record that the body was entered. Who ran it is only the framework: it may be a task or a thread.

    ``compared``: ``different`` where something else than the bytes shows that not this call was run, such as another tool's name.
    """
    values: dict[str, bytes] = {}
    data: dict[str, Any] = {"attempt": attempt or call.attempt, "executor": calls.framework}
    if inputs is not None:
        values["inputs"] = exact(inputs)
        if call.proposal:
            data["inputs_compared"] = compared or ("same" if same_inputs(call.args, inputs) else "different")
    calls.pen.write(Kind.STARTED, word, call.invocation_id, attempt=call.attempt, data=data, values=values, time=time)


def same_inputs(args: bytes, inputs: Any) -> bool:
    """Tell whether the proposed bytes are these inputs: their JSON, or the very text."""
    if isinstance(inputs, str) and exact(inputs) == args:
        return True
    try:
        return bool(json.loads(args) == inputs)
    except ValueError:
        return False


def succeed(calls: Calls, call: Call, word: str, content: Any, *, time: str | None = None, executed: str | None = None) -> None:
    """Record a success with its result."""
    _over(call)
    call.well = True
    calls.pen.write(
        Kind.SUCCEEDED, word, call.invocation_id, attempt=call.attempt, time=time, values={"result": exact(content)},
        data={"completed_at": time or calls.pen.clock, "executed": executed},
    )  # fmt: skip  # facts in lines


def fail(
    calls: Calls, call: Call, word: str, category: str, content: Any, *, detail: str, time: str | None = None, wants_retry: bool = False,
    effects: str | None = None,
) -> None:  # fmt: skip  # a signature in three lines
    """Record a failure: its stable category, a sentence, and the framework's own words beside it as a value.

    ``wants_retry``: the model was asked to call again. ``effects``: ``unknown`` where the failure leaves open what it did.
    """
    _over(call)
    call.wants_retry = wants_retry
    calls.pen.write(
        Kind.FAILED, word, call.invocation_id, attempt=call.attempt, time=time, values={"exception": exact(content)},
        data={"category": category, "detail": detail, "retryable": call.wants_retry, "effects": effects},
    )  # fmt: skip  # facts in lines


def time_out(calls: Calls, call: Call, word: str, limit: str, *, time: str | None = None) -> None:
    """Record that the framework's own ``limit`` (such as ``2 seconds``) passed. Whether the body ended is not known: a thread runs on.

    The limit counts from the moment the body is entered, so where no hook saw the start, passing it is the evidence of one.
    """
    if not call.begun and not call.ended:
        start(calls, call, word, time=time)
    _over(call)
    call.wants_retry = True
    calls.pen.write(
        Kind.DEADLINE_ELAPSED, word, call.invocation_id, attempt=call.attempt, owner=Owner.RUNTIME, time=time,
        data={"deadline": Deadline.RESULT.value, "declared_at": f"{limit} after the start", "judged_at": time or calls.pen.clock},
    )  # fmt: skip  # facts in lines


def _over(call: Call) -> None:
    call.over, call.begun, call.ended, call.runs = True, False, True, call.runs + 1
    call.well = call.doubted = False


def release(calls: Calls, call: Call, word: str, reason: str, *, origin: Origin = Origin.SERVER) -> None:
    """Record that the waiter is gone, once a run; it says nothing about the body."""
    if call.released:
        return
    call.released = True
    calls.pen.write(
        Kind.WAITER_RELEASED, word, call.invocation_id, attempt=call.attempt, origin=origin,
        data={"waiter": f"{calls.framework} run", "reason": reason, "body": "unknown"},
    )  # fmt: skip  # facts in lines


def end_run(calls: Calls, word: str, reason: str = "") -> None:
    """Note the end of the run; where it has a ``reason``, whatever it had in hand has lost its waiter."""
    if reason:
        for call in calls.live():
            release(calls, call, word, reason)
    calls.running = False


def leave_refused(calls: Calls, word: str) -> None:
    """Close the calls that were sent back to the model and that it did not make again before its final answer."""
    for call in calls.all:
        if call.refused and not call.followed and not call.over and call.run == calls.run:
            calls.withdraw(word, call, "the model gave its final answer instead")


def doubt(calls: Calls, call: Call, word: str, reason: str, *, time: str | None = None) -> None:
    """Record that what came as an end is none that can be believed: the state stays, and somebody must find out what happened."""
    _over(call)
    call.doubted = True
    calls.pen.write(Kind.LOST, word, call.invocation_id, attempt=call.attempt, time=time, data={"reason": reason})
