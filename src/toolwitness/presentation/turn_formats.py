"""The shapes in which model providers and frameworks take the end of a tool call, as data: what each calls what happened.

A mark is chosen by what it claims. Anthropic's ``is_error`` claims a breakage and its absence claims nothing: only a breakage gets it, and
a denial is none (R5). LangChain's ``status`` has two words, and *success* stands where none is given, so that whatever gave no answer must
be ``error`` there: a false breakage is asked about, a false success is built upon. Pydantic AI has a word for a denial; ``interrupted`` is
its word for an end, or a wait, without a result. OpenAI has no mark at all. The text says in every format what happened.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

Message = dict[str, Any]


class Told(StrEnum):
    """What a model can be told of a call; finer than states, since a model must know what it may do again."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INPUTS_REFUSED = "inputs refused"
    DENIED = "denied"
    DISMISSED = "dismissed"
    WITHDRAWN = "withdrawn"
    ANSWERED = "answered by a person"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    UNKNOWN = "outcome unknown"
    FOUND_OUT = "outcome found out"
    RUNNING = "running"
    QUEUED = "queued"
    APPROVED = "approved, not started"
    AWAITING_APPROVAL = "awaiting approval"
    AWAITING_INPUT = "awaiting input"
    PROPOSED = "proposed"
    UNRECORDED = "not recorded"


class Marks(NamedTuple):
    """How each format marks it, beside the text that they all carry."""

    is_error: str
    """Anthropic: ``yes`` where the block carries ``is_error: true``; else it carries none."""
    outcome: str
    """Pydantic AI's ``outcome``."""
    status: str
    """LangChain's ``status``."""
    says: str
    """What the text says, for the documentation."""


MARKS: Final[Mapping[Told, Marks]] = MappingProxyType({
    Told.SUCCEEDED: Marks("no", "success", "success", "the recorded result, byte for byte; after it, in brackets, what else must be known"),
    Told.FAILED: Marks("yes", "failed", "error", "the category and the detail meant for readers; what is known of effects; partial output"),
    Told.INPUTS_REFUSED: Marks("yes", "retried", "error", "what is wrong with the inputs; that it did not run; to make the call anew"),
    Told.DENIED: Marks("no", "denied", "error", "by whom, when and why; that it did not run; that this is a decision and no malfunction"),
    Told.DISMISSED: Marks("no", "interrupted", "error", "by whom, when and why; that it did not run"),
    Told.WITHDRAWN: Marks("no", "interrupted", "error", "by whom, when and why; that it did not run; what has taken its place"),
    Told.ANSWERED: Marks("no", "success", "success", "who answered in the tool's place; that the tool did not run; the answer, exactly"),
    Told.CANCELLED: Marks("no", "interrupted", "error", "who asked, who confirmed; the known effects, late ones included; partial output"),
    Told.EXPIRED: Marks("no", "interrupted", "error", "which deadline passed, by whose clock; whether it ran; partial output"),
    Told.UNKNOWN: Marks("no", "interrupted", "error", "that nobody knows how it ended; not to make it again before that is known"),
    Told.FOUND_OUT: Marks("no", "interrupted", "error", "that its end was not seen, and what somebody has found out since"),
    Told.RUNNING: Marks("no", "interrupted", "error", "that it still runs and must not be made again; what it has given so far"),
    Told.QUEUED: Marks("no", "interrupted", "error", "that it is accepted and not seen to start; not to make it again"),
    Told.APPROVED: Marks("no", "interrupted", "error", "who approved it; that nothing has accepted it yet; not to make it again"),
    Told.AWAITING_APPROVAL: Marks("no", "interrupted", "error", "whose approval it waits for; that it has not run; not to make it again"),
    Told.AWAITING_INPUT: Marks("no", "interrupted", "error", "what is missing, and from whom; that it has not run; not to make it again"),
    Told.PROPOSED: Marks("no", "interrupted", "error", "that it has not been handed on; which calls it waits for; not to make it again"),
    Told.UNRECORDED: Marks("no", "interrupted", "error", "that nothing is recorded of it, so that nobody here knows whether it ran"),
})  # fmt: skip  # one line a row


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What one tool call of a model is answered with."""

    call_id: str
    """The provider's id of the call; ours where it has none."""
    tool: str
    told: Told
    text: str
    at: str
    """When the record last changed, RFC 3339."""
    about: Mapping[str, Any]
    """For the application and never for the model: our id, the state and the evidence that it rests on."""


def _openai(closings: Sequence[Closing]) -> list[Message]:
    return [{"role": "tool", "tool_call_id": closing.call_id, "content": closing.text} for closing in closings]


def _openai_responses(closings: Sequence[Closing]) -> list[Message]:
    return [{"type": "function_call_output", "call_id": closing.call_id, "output": closing.text} for closing in closings]


def _anthropic(closings: Sequence[Closing]) -> list[Message]:
    """All results of a turn belong in the one user message that follows it."""
    blocks: list[Message] = []
    for closing in closings:
        block: Message = {"type": "tool_result", "tool_use_id": closing.call_id, "content": closing.text}
        blocks.append({**block, "is_error": True} if MARKS[closing.told].is_error == "yes" else block)
    return [{"role": "user", "content": blocks}] if blocks else []


def _pydantic_ai(closings: Sequence[Closing]) -> list[Message]:
    parts = [
        {
            "part_kind": "tool-return", "tool_name": closing.tool, "tool_call_id": closing.call_id, "content": closing.text,
            "outcome": MARKS[closing.told].outcome, "timestamp": closing.at, "metadata": {"toolwitness": dict(closing.about)},
        }
        for closing in closings
    ]  # fmt: skip  # facts in lines
    return [{"kind": "request", "parts": parts}] if parts else []


def _langchain(closings: Sequence[Closing]) -> list[Message]:
    return [
        {
            "type": "tool", "tool_call_id": closing.call_id, "name": closing.tool, "content": closing.text,
            "status": MARKS[closing.told].status, "artifact": {"toolwitness": dict(closing.about)},
        }
        for closing in closings
    ]  # fmt: skip  # facts in lines


FORMATS: Final[Mapping[str, Callable[[Sequence[Closing]], list[Message]]]] = MappingProxyType({
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "pydantic-ai": _pydantic_ai,
    "langchain": _langchain,
})  # fmt: skip  # one line a format
"""Every format that there is, by the name under which it is asked for."""
