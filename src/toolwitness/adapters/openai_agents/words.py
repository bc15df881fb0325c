"""One handler for each word of the framework; each says what its row of the table says."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolwitness.adapters.openai_agents import mapping
from toolwitness.adapters.openai_agents.story import Story, shown
from toolwitness.reading import endings
from toolwitness.reading.arguments import doubts
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED, exact

Event = Mapping[str, Any]
Handler = Callable[[Story, str, Event], str]
"""Maps one event; gives why it says nothing, where that is worth a report."""

_HOSTED_END: Final = {"completed": "succeeded", "failed": "failed"}


def nothing(story: Story, word: str, event: Event) -> str:
    """Say nothing: the table gives the reason."""
    return ""


# ── the stream ──────────────────────────────────────────────────────────────────────────────────────────────────────


def raw_item(story: Story, word: str, event: Event) -> str:
    """Record a function call that the model has finished writing."""
    item = members(members(event.get("data")).get("item"))
    if item.get("type") != "function_call":
        return ""
    story.propose("raw_response_event:response.output_item.done", text(item.get("call_id")), text(item.get("name")), item.get("arguments"))
    return doubts(text(item.get("arguments")))


def tool_called(story: Story, word: str, event: Event) -> str:
    """Record a call, unless the model's own stream has shown this very one."""
    item = members(event.get("raw_item"))
    if item.get("type") is not None and item.get("type") != "function_call":
        return _hosted(story, item)
    provider_id = text(item.get("call_id")) or text(event.get("call_id"))
    known = [call for call in story.calls.known(provider_id) if not story.of(call).called and not call.told]
    call = (
        known[0]
        if known
        else story.propose("run_item_stream_event:tool_called", provider_id, text(item.get("name")), item.get("arguments"))
    )
    story.of(call).called = True
    return ""


def _hosted(story: Story, item: Event) -> str:
    """Record a call that the provider itself ran; only of MCP calls it says how they ended."""
    word, kind = "run_item_stream_event:tool_called hosted", text(item.get("type"))
    if kind != "mcp_call":
        return f"{kind}: a tool that the provider or the application runs under its own protocol; its end is not told here"
    if story.calls.known(text(item.get("id"))):
        return ""
    call = story.propose(word, text(item.get("id")), text(item.get("name")), item.get("arguments"))
    if item.get("error") is not None or _HOSTED_END.get(text(item.get("status"))) == "failed":
        endings.fail(story.calls, call, word, "tool-error", item.get("error"), detail="The provider reports that the call failed.")
    elif _HOSTED_END.get(text(item.get("status"))) == "succeeded":
        endings.succeed(story.calls, call, word, item.get("output"), executed="by the provider")
    return ""


def tool_output(story: Story, word: str, event: Event) -> str:
    """Judge a result."""
    word, item = "run_item_stream_event:tool_output", members(event.get("raw_item"))
    provider_id = text(item.get("call_id")) or text(event.get("call_id"))
    known = story.calls.current(provider_id)
    if known is None:
        if item.get("type") not in ("function_call_output", None):
            return f"{text(item.get('type'))}: the output of a tool with a protocol of its own"
        known = story.calls.meant(provider_id)
    content = event.get("output") if "output" in event and event.get("output") is not None else item.get("output")
    return story.result(known, word, content)


def handed_over(story: Story, word: str, event: Event) -> str:
    """Record that a handoff, which the model asks for as for a tool, has happened."""
    call = story.calls.current(text(event.get("call_id")) or text(members(event.get("raw_item")).get("call_id")))
    if call is not None and not call.over:
        endings.succeed(story.calls, call, "run_item_stream_event:handoff_occured", event.get("output"), executed="by the framework")
        call.told = True
    return ""


def mcp_asked(story: Story, word: str, event: Event) -> str:
    """Record that the provider asks before it runs an MCP call."""
    item = members(event.get("raw_item"))
    word, provider_id = "run_item_stream_event:mcp_approval_requested", text(item.get("id"))
    story.calls.ask_approval(word, story.known(word, provider_id, text(item.get("name")), item.get("arguments")))
    return ""


def mcp_answered(story: Story, word: str, event: Event) -> str:
    """Record the application's answer to it."""
    item = members(event.get("raw_item"))
    call = story.calls.current(text(item.get("approval_request_id")))
    if call is None:
        return "an answer to a request that nothing has shown"
    word = "run_item_stream_event:mcp_approval_response"
    if item.get("approve") is True:
        story.calls.grant(word, call, UNRECORDED)
    elif item.get("approve") is False:
        story.deny(call, word)
    return ""


def interruptions(story: Story, word: str, event: Any) -> str:
    """Record the approvals that a run waits for."""
    for one in items(event):
        row = members(one)
        raw = members(row.get("raw_item"))
        provider_id = text(one) or text(row.get("call_id")) or text(raw.get("call_id"))
        tool = text(row.get("tool")) or text(row.get("tool_name")) or text(raw.get("name"))
        arguments = row.get("args", row.get("arguments", raw.get("arguments")))
        if not provider_id:
            continue
        alone = [one for one in story.waiting if not any(c.tool == one[0] for c in story.calls.all)]
        if not tool and story.calls.current(provider_id) is None and len(alone) == 1:
            tool, arguments = alone[0]  # the list holds ids alone; one span waits, and it is this call's
        _ask(story, word, story.known(word, provider_id, tool, arguments))
    return ""


def _ask(story: Story, word: str, call: Call) -> None:
    """Ask, unless the call has been answered or has ended: what is listed then is history."""
    if not call.over and not call.answer and not story.of(call).entered:
        call.run = story.calls.run
        story.calls.ask_approval(word, call)


def saved_state(story: Story, word: str, event: Event) -> str:
    """Record the approvals that a saved state waits for."""
    step = members(event.get("current_step"))
    if step.get("type") != "next_step_interruption":
        return ""
    return interruptions(story, "RunState.to_json", members(step.get("data")).get("interruptions"))


def approvals_after(story: Story, word: str, event: Event) -> str:
    """Record the decisions that a saved state holds, and that nothing else has shown."""
    for record in event.values():
        for name, said in (("approved", "granted"), ("rejected", "denied")):
            for provider_id in items(members(record).get(name)):
                call = story.calls.current(text(provider_id))
                if call is None or not call.awaits_approval:
                    continue
                if said == "granted":
                    story.calls.grant("RunState.approvals_after", call, UNRECORDED)
                else:
                    story.calls.deny("RunState.approvals_after", call, UNRECORDED)
    return ""


def session(story: Story, word: str, event: Any) -> str:
    """Take the calls and results that a session holds and that nothing else has shown."""
    return history(story, "session.get_items", event)


def history(story: Story, word: str, listed: Any) -> str:
    """Take the calls and results of a list of items, in their order; as many of the first results as are on record are those."""
    counts: dict[str, int] = {}
    for one in map(members, items(listed)):
        kind, provider_id = text(one.get("type")), text(one.get("call_id"))
        if not provider_id:
            continue
        if kind == "function_call" and story.calls.current(provider_id) is None:
            story.propose(word, provider_id, text(one.get("name")), one.get("arguments"))
        elif kind == "tool_approval_item":
            call = story.calls.current(provider_id)
            if call is not None:
                _ask(story, word, call)
        elif kind in {"function_call_output", "tool_call_output_item"}:
            counts[provider_id] = counts.get(provider_id, 0) + 1
            call = story.calls.current(provider_id)
            ended = sum(1 for known in story.calls.known(provider_id) if known.told or known.over)
            if call is not None and not call.told and not call.over and counts[provider_id] > ended:
                story.result(call, word, one.get("output"))
    return ""


# ── inside the process ──────────────────────────────────────────────────────────────────────────────────────────────


def tool_start(story: Story, word: str, event: Event) -> str:
    """Note that a call is about to be made."""
    call = story.known(word, text(event.get("call_id")), text(event.get("tool")), event.get("args"))
    story.enter(call, word, event.get("args"))
    return ""


def tool_end(story: Story, word: str, event: Event) -> str:
    """Note what came back; the trace, or tool_output, says what it is."""
    call = story.calls.current(text(event.get("call_id")))
    if call is None or call.told:
        return ""
    told = story.of(call)
    told.left, told.has_left, told.left_word = shown(event.get("result")), True, word
    return ""


def formatter(story: Story, word: str, event: Event) -> str:
    """Record what the error formatter was asked about."""
    call = story.known(word, text(event.get("call_id")), text(event.get("tool")), None)
    kind, error = text(event.get("kind")), text(event.get("error"))
    if kind == "approval_rejected":
        story.deny(call, f"{word} approval_rejected")
    elif kind == "tool_exception" and mapping.REFUSED in error:
        story.refuse(call, f"{word} refused", error)
    elif kind == "tool_exception":
        story.fail(call, f"{word} tool_exception", error)
    else:
        return "the table does not have this kind of formatter"
    return ""


def span_start(story: Story, word: str, event: Event) -> str:
    """Note that the capture holds a trace."""
    story.traced = True
    return ""


def span_end(story: Story, word: str, event: Event) -> str:
    """Judge a call by its span, which names no call: it is known by its tool and its input."""
    story.traced = True
    data, error = members(event.get("data")), members(event.get("error"))
    if data.get("type") != "function":
        return ""
    if data.get("output") is None and not error:
        story.waiting.append((text(data.get("name")), data.get("input")))
        return ""
    detail = text(members(error.get("data")).get("error"))
    call = _of_span(story, data, detail)
    if call is None and any(one.tool == data.get("name") for one in story.calls.all):
        return ""
    if call is None:
        call = story.calls.meant(text(event.get("span_id")), text(data.get("name")))
    _judge(story, call, data, error, detail)
    return ""


def _of_span(story: Story, data: Event, detail: str) -> Call | None:
    """Give the call that a span is about: the one that is entered, else the oldest that is open, of this tool with this input."""
    if named := re.search(r"^Tool execution for (.*) was manually rejected by user\.$", detail, re.DOTALL):
        return story.calls.current(named.group(1))
    wanted = exact(data.get("input")) if data.get("input") is not None else None
    alike = [c for c in story.calls.all if c.tool == data.get("name") and not c.told and (wanted is None or c.args == wanted)]
    entered = [call for call in alike if story.of(call).entered]
    return entered[0] if entered else alike[0] if alike else None


def _judge(story: Story, call: Call, data: Event, error: Event, detail: str) -> None:
    word, message, output = "trace.span_end", text(error.get("message")), data.get("output")
    if detail.endswith("was manually rejected by user."):
        story.deny(call, f"{word} denied")
    elif message == "Tool execution cancelled":
        story.doubt(
            call, f"{word} doubted", "the framework's trace says that the tool's execution was cancelled, and nobody was seen to ask"
        )
    elif limit := re.fullmatch(mapping.TIMED_OUT, detail, re.DOTALL):
        story.time_out(call, f"{word} timed out", limit.group(1))
    elif message == "Error running tool" and output is not None:
        story.refuse(call, f"{word} refused", detail)  # with an output this is only said of arguments that are no JSON
    elif message == "Error running tool (non-fatal)" and output != mapping.DEFAULT_ERROR and mapping.REFUSED in detail:
        story.refuse(call, f"{word} refused", detail)
    elif error and output == mapping.DEFAULT_ERROR:
        story.result(call, word, output)
    elif error:
        story.fail(call, f"{word} failed", output if output is not None else detail)
    else:  # tool_output has the very value, and the trace its text: judged now only where the run is over before it comes
        told = story.of(call)
        told.left, told.has_left, told.left_word, told.clean = output, True, word, True


def wrap_start(story: Story, word: str, event: Event) -> str:
    """Note that the wrapper was entered, with the arguments that it was given."""
    call = story.known(word, text(event.get("id")), text(event.get("tool")), event.get("args"))
    story.enter(call, word, event.get("args"))
    return ""


def wrap_returned(story: Story, word: str, event: Event) -> str:
    """Judge what came back through the wrapper."""
    call = story.calls.current(text(event.get("id")))
    if call is None or call.told:
        return ""
    content = shown(event.get("out", event.get("result")))
    return story.result(call, word, content)


def wrap_raised(story: Story, word: str, event: Event) -> str:
    """Record that the wrapped invoker raised."""
    call = story.calls.meant(text(event.get("id")), text(event.get("tool")))
    name, said = text(event.get("exc")), text(event.get("msg", event.get("str", event.get("error"))))
    if name == "CancelledError":
        return wrap_cancelled(story, "wrap.CANCELLED", event)
    if mapping.REFUSED in said:
        story.refuse(call, f"{word} refused", said)
    elif limit := re.fullmatch(mapping.TIMED_OUT, said, re.DOTALL):
        story.time_out(call, f"{word} timed out", limit.group(1))
    else:
        story.fail(call, f"{word} failed", {"exception": name, "message": said})
    return ""


def wrap_cancelled(story: Story, word: str, event: Event) -> str:
    """Record that the wait inside the wrapper was cancelled."""
    call = story.calls.current(text(event.get("id")))
    if call is not None and not call.told:
        story.cancelled_wait(call, word)
    return ""


HANDLERS: Final[Mapping[str, Handler]] = {
    "agent_updated_stream_event": nothing,
    "run_item_stream_event:tool_called": tool_called,
    "run_item_stream_event:tool_output": tool_output,
    "run_item_stream_event:mcp_approval_requested": mcp_asked,
    "run_item_stream_event:mcp_approval_response": mcp_answered,
    "run_item_stream_event:message_output_created": nothing,
    "run_item_stream_event:reasoning_item_created": nothing,
    "run_item_stream_event:handoff_requested": nothing,
    "run_item_stream_event:handoff_occured": handed_over,
    "run_item_stream_event:tool_search_called": nothing,
    "run_item_stream_event:tool_search_output_created": nothing,
    "run_item_stream_event:mcp_list_tools": nothing,
    "interruptions": interruptions,
    "RunState.to_json": saved_state,
    "RunState.approvals_after": approvals_after,
    "session.get_items": session,
    "hook.on_tool_start": tool_start,
    "hook.on_tool_end": tool_end,
    "tool_error_formatter": formatter,
    "trace.span_start": span_start,
    "trace.span_end": span_end,
}
"""The stream, what its result shows, and what hooks, formatter and trace saw."""
WRAPPED: Final[Mapping[str, Handler]] = {
    "wrap.START": wrap_start,
    "wrap.RETURNED": wrap_returned,
    "wrap.RAISED": wrap_raised,
    "wrap.CANCELLED": wrap_cancelled,
}
"""What a wrapper around ``on_invoke_tool`` saw."""
