"""Chat messages as an application keeps them: the model's calls, and the messages of the role ``tool`` that answer them.

Providers give one id to several calls, across turns and inside one message. Each is a call of its own; the messages that answer a turn are
paired with its calls in order, and where their numbers differ nothing is guessed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from toolwitness.adapters.openai_api import answers
from toolwitness.ports import Draft
from toolwitness.reading.arguments import doubts
from toolwitness.reading.calls import Calls
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pairing import Pairing, Unassigned
from toolwitness.reading.pen import exact

Message = Mapping[str, Any]


class Messages:
    """The messages of one conversation, in order."""

    def __init__(self, calls: Calls, note: Callable[[str, str], None]) -> None:
        """Write into ``calls``; ``note`` reports a word that says nothing, and why."""
        self._calls = calls
        self._note = note
        self._pairing = Pairing(calls)

    def take(self, message: Message) -> None:
        """Take one message."""
        role = text(message.get("role"))
        if role == "assistant":
            self._report()
            self._calls.turn_to_tools()
            self.propose("assistant", message)
        elif role in {"tool", "function"}:
            content = message.get("content")
            self._pairing.give(
                "tool", text(message.get("tool_call_id")), lambda call: answers.take(self._calls, call, "tool", content),
                answers.shown(answers.plain(content)),
            )  # fmt: skip  # facts in lines
        elif role not in {"system", "developer", "user"}:
            self._note(role, "the table does not have this role")

    def propose(self, word: str, message: Message) -> None:
        """Record the calls of the model's message."""
        told = [members(one) for one in items(message.get("tool_calls"))]
        if function := members(message.get("function_call")):
            told.append({"function": function})
        for one in told:
            function = members(one.get("function")) or members(one.get("custom"))
            arguments = function.get("arguments", function.get("input"))
            self._note(word, answers.reused(self._calls, text(one.get("id"))))
            self._calls.propose(word, text(one.get("id")), text(function.get("name")), b"" if arguments is None else exact(arguments))
            self._note(word, doubts(text(arguments)) if one.get("type", "function") == "function" else "")

    def _report(self) -> None:
        for one in self.settle():
            self._note(one.word, one.why)

    def settle(self) -> list[Unassigned]:
        """Pair the answers of the turn, and give what could not be."""
        return self._pairing.settle()


def read_messages(messages: Iterable[Message], *, source: str) -> tuple[list[Draft], Sequence[tuple[str, str]]]:
    """Read a list of chat messages: the drafts of what they say, and the words that say nothing, each with its reason.

    ``source`` names where the list comes from; ids depend on it and on the place in the list alone.
    """
    from toolwitness.adapters.openai_api.chat import MessagesReader  # noqa: PLC0415 -- the reader takes its messages from here

    reader = MessagesReader(source)
    drafts: list[Draft] = []
    for number, message in enumerate(messages, start=1):
        drafts += reader.feed({**message, "seq": number})
    drafts += reader.close()
    return drafts, [(one.word, one.why) for one in reader.unmapped]
