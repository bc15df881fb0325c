"""A scripted chat model for LangChain: it gives its responses in turn, counted by the messages of its own in the history."""

from collections.abc import Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

Calls = list[tuple[str, Any, str]] | str
"""What the model says: tool calls (name, arguments, id) or a text. Arguments that are a text are streamed as they are."""


class ScriptedModel(BaseChatModel):
    """Gives ``responses`` one after the other, the last one for ever."""

    responses: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedModel":
        """Take any tools: the script knows what it calls."""
        return self

    def _said(self, messages: list[BaseMessage]) -> Calls:
        said = sum(isinstance(message, AIMessage) for message in messages)
        return self.responses[min(said, len(self.responses) - 1)]

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        said = self._said(messages)
        calls = [] if isinstance(said, str) else [{"name": n, "args": a, "id": i, "type": "tool_call"} for n, a, i in said]
        message = AIMessage(content=said if isinstance(said, str) else "", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


class StreamingModel(ScriptedModel):
    """The same, and its responses come in parts."""

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:  # fmt: skip  # a signature in two lines
        said = self._said(messages)
        if isinstance(said, str):
            yield ChatGenerationChunk(message=AIMessageChunk(content=said))
            return
        import json  # noqa: PLC0415 -- only a model that streams writes JSON

        for place, (name, args, call_id) in enumerate(said):
            text = args if isinstance(args, str) else json.dumps(args)
            for part in (
                ToolCallChunk(name=name, args=text[:7], id=call_id, index=place),
                ToolCallChunk(name=None, args=text[7:], id=None, index=place),
            ):
                yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[part]))
