"""Reports of the kind ``raw:langchain-hitl``: a reviewer's answers to an interrupt, as the proposals, questions and decisions they are.

The middleware asks for several calls at once and is answered in the same order. What the framework then writes (a tool message per call) is
its own history: that a reviewer's words stand there as a result says nothing about the tool.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from toolwitness.core.evidence import Kind
from toolwitness.testing.reports.case import Findings
from toolwitness.testing.reports.moments import Moment, look
from toolwitness.testing.reports.people_words import WORDS as PEOPLE
from toolwitness.testing.reports.policy_words import WORDS as POLICY
from toolwitness.testing.reports.raw.wire import Wire
from toolwitness.testing.reports.runtime_words import WORDS as RUNTIME
from toolwitness.testing.reports.stage import Answer, Stage
from toolwitness.testing.reports.story import Fields, Step, Story, text

KIND: Final = "raw:langchain-hitl"
_WORDS: Final = {**RUNTIME, **POLICY, **PEOPLE}
_DECISIONS: Final = {"approve": "approve", "accept": "approve", "edit": "edit", "reject": "deny", "ignore": "dismiss", "respond": "respond",
                     "response": "respond"}  # fmt: skip  # both generations of the middleware's words


def as_events(story: Story) -> Story:
    """Give the report with its items as events, one call after the other; an item keeps its number."""
    steps = [step for item in story.steps for step in _steps(story, item)]
    people = {who: {} for one in _policies(story).values() for who in one.get("eligible", ()) if isinstance(who, str)}
    told = dict(story.input) | ({"actors": people} if people and "actors" not in story.input else {})
    return replace(story, input=told, steps=tuple(replace(step, number=number) for number, step in enumerate(steps, start=1)))


async def play_hitl(stage: Stage, findings: Findings) -> tuple[list[Moment], list[Wire]]:
    """Play the events; there is a moment after each item of the report."""
    await stage.open_tasks()
    moments = [await look(stage, 0)]
    steps = stage.story.steps
    for place, step in enumerate(steps):
        stage.set_time(step)
        answer = await _message(stage, step) if step.type == "tool message" else await _WORDS[step.type](stage, step)
        if answer.unclear:
            findings.skip(f"item {step.seq}", answer.unclear)
        before = stage.answers.get(step.seq)
        if before is None or before.decision != "refused":
            stage.answers[step.seq] = answer
        if place + 1 == len(steps) or steps[place + 1].seq != step.seq:
            moments.append(await look(stage, len(moments)))
    return moments, []


def _steps(story: Story, item: Step) -> Iterator[Step]:
    fields = item.fields
    if isinstance(fields.get("interrupt"), Mapping):
        yield from _asked(story, item)
    elif isinstance(fields.get("resume"), Mapping):
        yield from _answered(story, item)
    elif isinstance(fields.get("message"), Mapping):
        message = cast("Fields", fields["message"])
        yield _step(item, "runtime", "tool message", _call(story, text(message.get("tool_call_id"))), message=message)
    elif fields.get("dispatch"):
        given = {name: fields[name] for name in ("tool", "args") if name in fields}
        yield _step(item, "orchestrator", "dispatch.requested", _call(story, text(fields["dispatch"])), **given)
    else:
        yield _step(item, "runtime", "trace", "")


def _asked(story: Story, item: Step) -> Iterator[Step]:
    interrupt = cast("Fields", item.fields["interrupt"])
    for wire_id, action in zip(_list(item.fields.get("calls")), _list(interrupt.get("action_requests")), strict=False):
        request = cast("Fields", action if isinstance(action, Mapping) else {})
        tool = text(request.get("name") or request.get("action"))
        policy = _policies(story).get(tool, {})
        call = _call(story, text(wire_id))
        yield _step(
            item, "proposer", "proposed", call, tool=tool, args=request.get("args", {}), provider_call_id=wire_id,
            consequence=policy.get("consequence", []), requested_by=_whose_thread(story),
        )  # fmt: skip  # one event
        yield _step(item, "policy", "approval.requested", call, approval=f"review of {wire_id}", eligible=policy.get("eligible", []))


def _answered(story: Story, item: Step) -> Iterator[Step]:
    resume = cast("Fields", item.fields["resume"])
    asked = [one for one in story.steps if isinstance(one.fields.get("interrupt"), Mapping) and one.number < item.number]
    waiting = _list(asked[-1].fields.get("calls")) if asked else []
    for wire_id, decision in zip(waiting, _list(resume.get("decisions")), strict=False):
        said = dict(cast("Fields", decision if isinstance(decision, Mapping) else {}))
        kind = text(said.pop("type", ""))
        why = {"reason": said["message"]} if kind in {"reject", "ignore"} and said.get("message") else {}
        yield _step(
            item, "user", "decision", _call(story, text(wire_id)), kind=_DECISIONS.get(kind, kind), approval=f"review of {wire_id}",
            actor=item.fields.get("actor"), **said, **why,
        )  # fmt: skip  # one event


async def _message(stage: Stage, step: Step) -> Answer:
    """Record that the framework's history holds something in the place of the call's result."""
    message = cast("Fields", step.fields["message"])
    data = {"history": "tool message", "call": text(message.get("tool_call_id")), "result": "present"}
    return Answer(recorded=await stage.observe(step, Kind.HISTORY_READ, data, key=stage.key(step)))


def _step(item: Step, source: str, kind: str, call: str, /, **fields: Any) -> Step:
    name, _, attempt = call.partition("#")
    told = {name: value for name, value in item.fields.items() if name in {"t", "clock"}} | fields
    if call:
        told |= {"invocation": name, "attempt": int(attempt or 1)}
    return Step(number=item.number, seq=item.seq, source=source, type=kind, fields=told)


def _call(story: Story, wire_id: str) -> str:
    named = story.input.get("map")
    return text(named.get(wire_id)) or f"{wire_id}#1" if isinstance(named, Mapping) else f"{wire_id}#1"


def _whose_thread(story: Story) -> str:
    """Give the person whose thread it is: whoever resumes it first; what it asks for is asked for in their name."""
    return next((text(item.fields.get("actor")) for item in story.steps if item.fields.get("actor")), "")


def _policies(story: Story) -> dict[str, Fields]:
    declared = story.input.get("policy")
    found = cast("Fields", declared if isinstance(declared, Mapping) else {})
    return {tool: cast("Fields", policy) for tool, policy in found.items() if isinstance(policy, Mapping)}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
