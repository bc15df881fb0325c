"""The framework's own events, and what a capability's hooks saw beside them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolwitness.adapters.pydantic_ai import results
from toolwitness.adapters.pydantic_ai.results import Result, take_result
from toolwitness.core.evidence import Kind
from toolwitness.reading import endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED, exact

Event = Mapping[str, Any]
Handler = Callable[[Calls, str, Event], None]


def part_end(calls: Calls, word: str, event: Event) -> None:
    """Record a proposal where the finished part is a tool call."""
    part = members(event.get("part"))
    if part.get("part_kind", "tool-call") == "tool-call" and text(part.get("tool_call_id")):
        calls.propose(word, part["tool_call_id"], text(part.get("tool_name")), _args(part))


def _args(part: Event) -> bytes:
    args = part.get("args")
    return exact({} if args is None or args == "" else args)


def _called(calls: Calls, word: str, event: Event) -> Call:
    """Find the call that a call event is about: the oldest not called yet, else the one the id means; propose it where none was seen."""
    part = members(event.get("part"))
    provider_id = text(part.get("tool_call_id"))
    fresh = [c for c in calls.known(provider_id) if not c.taken_up and not c.over and not c.refused and not c.followed]
    return (
        (fresh[0] if fresh else calls.current(provider_id))
        or calls.propose(word, provider_id, text(part.get("tool_name")), _args(part))
    )  # fmt: skip  # one choice after the other


def tool_call(calls: Calls, word: str, event: Event) -> None:
    """Record what a call event says: the arguments were refused, or the call is in hand, or its result was given from outside."""
    call = _called(calls, word, event)
    valid = event.get("args_valid")
    if valid is False:
        call.run = calls.run
        calls.refuse_inputs(f"{word} args_valid=false", call, "pydantic-ai: the arguments did not validate")
    elif valid is True:
        calls.take_up(f"{word} resumed", call)
    else:
        calls.settle_outside(call)


def tool_result(calls: Calls, word: str, event: Event) -> None:
    """Record a result."""
    take_result(calls, result_of(members(event.get("part")), word))


def result_of(part: Event, word: str) -> Result:
    """Read a tool return part."""
    made_up = members(part.get("metadata")).get("pydantic_ai_synthesized_tool_return")
    time = text(part.get("timestamp"))
    return Result(
        provider_id=text(part.get("tool_call_id")), outcome="interrupted" if made_up else text(part.get("outcome")),
        content=part.get("content"), word=word, tool=text(part.get("tool_name")), time=time or None, key=time,
        cause=text(members(part.get("retry")).get("cause")),
    )  # fmt: skip  # facts in lines


def deferred(calls: Calls, word: str, event: Event) -> None:
    """Record what the run waits for: approvals, answers, results of other executors."""
    _ask(calls, word, members(event.get("requests")))


def _ask(calls: Calls, word: str, requests: Event) -> None:
    kinds = members(requests.get("_kinds"))
    for part in map(members, items(requests.get("approvals"))):
        calls.ask_approval(f"{word} approvals", _waiting(calls, word, part))
    for part in map(members, items(requests.get("calls"))):
        call = _waiting(calls, word, part)
        calls.ask_input(f"{word} calls", call, "question" if kinds.get(call.provider_id) == "question" else "external")


def _waiting(calls: Calls, word: str, part: Event) -> Call:
    provider_id = text(part.get("tool_call_id"))
    return calls.current(provider_id) or calls.propose(word, provider_id, text(part.get("tool_name")), _args(part))


def answers(calls: Calls, word: str, event: Event) -> None:
    """Record the answers that a handler gave inside the run, with the names that it gave."""
    given = members(event.get("results"))
    named = members(given.get("answered_by"))
    for provider_id, decision in members(given.get("approvals")).items():
        decide(calls, word, calls.meant(provider_id), decision, text(named.get(provider_id)) or UNRECORDED)
    for provider_id, answer in members(given.get("calls")).items():
        call = calls.meant(provider_id)
        call.answer = "given"
        calls.supply(word, call, text(named.get(provider_id)) or UNRECORDED, answer)


def decide(calls: Calls, word: str, call: Call, decision: Any, actor: str) -> None:
    """Record one decision in the framework's form: true, false, or an object of kind tool-approved or tool-denied."""
    kind = text(members(decision).get("kind"))
    if decision is True or kind == "tool-approved":
        if members(members(decision).get("override_args")):
            calls.edit(word, call, actor, exact(members(decision)["override_args"]))
        calls.grant(word, call, actor)
        calls.take_up(word, call)
    elif decision is False or kind == "tool-denied":
        calls.deny(word, call, actor)


def custom(calls: Calls, word: str, event: Event) -> None:
    """Record progress that a tool emitted; what it says lies beside it as a value."""
    call = calls.meant(text(event.get("tool_call_id")), text(event.get("tool_name")))
    call.steps += 1
    payload = {name: value for name, value in event.items() if name not in _STAMPS}
    whole = {name: _count(payload, *names) for name, names in _COUNTS.items()}
    calls.pen.write(
        Kind.PROGRESS, word, call.invocation_id, attempt=call.attempt, data={"order": call.steps, **whole}, values={"text": exact(payload)}
    )


_STAMPS: Final = frozenset({"name", "tool_call_id", "tool_name", "event_kind", "kind", "namespace"})
_COUNTS: Final = {"current": ("current", "done", "completed", "step", "progress"), "total": ("total", "of", "steps")}


def _count(payload: Event, *names: str) -> int | None:
    found = next((payload[name] for name in names if name in payload), None)
    return found if type(found) is int else None


def run_result(calls: Calls, word: str, event: Event) -> None:
    """Record a deferred output that no other event carried, and the end of the run."""
    output = members(event.get("output"))
    if {"calls", "approvals"} <= output.keys():
        _ask(calls, word, output)
    else:
        endings.leave_refused(calls, word)
    endings.end_run(calls, word)


def nothing(calls: Calls, word: str, event: Event) -> None:
    """Say nothing: the table gives the reason."""


HANDLERS: Final[Mapping[str, Handler]] = {
    "PartStartEvent": nothing,
    "PartDeltaEvent": nothing,
    "PartEndEvent": part_end,
    "FunctionToolCallEvent": tool_call,
    "OutputToolCallEvent": tool_call,
    "FunctionToolResultEvent": tool_result,
    "OutputToolResultEvent": tool_result,
    "DeferredToolRequestsEvent": deferred,
    "DeferredToolResultsEvent": answers,
    "AgentRunResultEvent": run_result,
    "FinalResultEvent": nothing,
    "EnqueuedMessagesEvent": nothing,
    "ToolAvailabilityDeltaEvent": nothing,
    "CapabilityLoadDeltaEvent": nothing,
    "ModelSettingsDeltaEvent": nothing,
}
"""The framework's own events."""


# ── hooks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _hooked(calls: Calls, event: Event) -> Call:
    calls.run_id = text(event.get("run_id")) or calls.run_id
    return calls.meant(text(event.get("id")), text(event.get("tool")))


def hook_start(calls: Calls, word: str, event: Event) -> None:
    """Record that the body was entered."""
    results.hook_started(calls, _hooked(calls, event), word, event)


def hook_returned(calls: Calls, word: str, event: Event) -> None:
    """Record that the body returned."""
    results.hook_returned(calls, _hooked(calls, event), word, event.get("result"))


def hook_raised(calls: Calls, word: str, event: Event) -> None:
    """Record that the body raised."""
    name, message = text(event.get("exc")), text(event.get("msg"))
    if name == "CancelledError":
        results.hook_cancelled(calls, _hooked(calls, event), "hook.CANCELLED")
    else:
        results.hook_raised(calls, _hooked(calls, event), word, name, message)


def hook_cancelled(calls: Calls, word: str, event: Event) -> None:
    """Record that the wait for the body was cancelled."""
    results.hook_cancelled(calls, _hooked(calls, event), word)


HOOKS: Final[Mapping[str, Handler]] = {
    "hook.before_tool_validate": nothing,
    "hook.after_tool_validate": nothing,
    "hook.on_tool_validate_error": nothing,
    "hook.START": hook_start,
    "hook.RETURNED": hook_returned,
    "hook.RAISED": hook_raised,
    "hook.CANCELLED": hook_cancelled,
}
"""What a capability saw from inside."""
