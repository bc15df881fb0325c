"""Where a call is: its conversation, the message that proposed it, and the execution that has it in hand.

A thread outlives its process, so a call on a thread is found again by the message that proposed it and by its id. A graph without a
checkpointer has no thread: nothing of it is ever resumed, and the same id is another call each time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NotRequired

from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from toolwitness.core.record import InvocationRecord

RUN: Final = "toolwitness_run"
_PURPOSE: Final = 200


class RecordedState(AgentState[Any]):
    """The state of an agent that is recorded: it knows which turn of the conversation it is in."""

    toolwitness_run: NotRequired[Annotated[str, PrivateStateAttr]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Where one call is."""

    conversation: str
    message: str
    """The id of the message that proposed it."""
    durable: bool
    """Whether it can be resumed: only then is a second execution the same call."""
    execution: tuple[str, float | None]
    """What tells one execution of a node from the next: a resumed one has another time."""
    purpose: str
    told_when_over: bool
    """Whether the recorder is told when the run is over: an agent tells it, a graph of somebody's own does not."""


def whereabouts(state: Any, info: Any, call_id: str | None = None) -> Whereabouts:
    """Tell where a call of this state is; without ``call_id``, where the latest message is."""
    messages = list(_messages(state))
    proposers = [m for m in messages if isinstance(m, AIMessage) and (call_id is None or any(c["id"] == call_id for c in m.tool_calls))]
    thread = getattr(info, "thread_id", None)
    run = state.get(RUN) if isinstance(state, Mapping) else None
    first = messages[0].id if messages else None
    asked = next((m.text for m in reversed(messages) if isinstance(m, HumanMessage)), "")
    return Whereabouts(
        conversation=str(thread or run or first or getattr(info, "checkpoint_id", "")),
        message=str((proposers[-1].id if proposers else None) or ""),
        durable=thread is not None,
        execution=(str(getattr(info, "task_id", "")), getattr(info, "node_first_attempt_time", None)),
        purpose=asked.strip()[:_PURPOSE] or "An agent run",
        told_when_over=run is not None,
    )


def _messages(state: Any) -> Iterator[BaseMessage]:
    """Give the messages of a state, under whatever key it holds them."""
    if isinstance(state, BaseMessage):
        yield state
    elif isinstance(state, Mapping):
        for value in state.values():
            yield from _messages(value) if isinstance(value, list | tuple) else ()
    elif isinstance(state, list | tuple):
        for value in state:
            yield from (value,) if isinstance(value, BaseMessage) else ()
    elif hasattr(state, "__dict__"):
        yield from _messages(vars(state))


def carried(records: Sequence[InvocationRecord], where: Whereabouts, call_id: str) -> list[InvocationRecord]:
    """Give the latest attempt of each call that this message proposed with this id, oldest first."""
    mine = [record for record in records if _is(record, where, call_id)]
    followed = {str(record.proposal.get(edge)) for record in mine for edge in ("retry_of", "replaces") if record.proposal.get(edge)}
    return [record for record in mine if record.id not in followed]


def _is(record: InvocationRecord, where: Whereabouts, call_id: str) -> bool:
    return any(
        row.get("provider_call_id") == call_id and row.get("run_id") == where.message for row in record.proposal.get("correlation") or ()
    )
