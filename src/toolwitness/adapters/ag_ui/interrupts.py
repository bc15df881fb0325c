"""Interrupts and what resumes them: an open vocabulary, of which only what is plain is believed.

The reason of an interrupt is free text; its schema may ask for ``approved``. The protocol knows ``resolved`` and ``cancelled``; that a
resolved one was denied is said in its payload, by convention.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolwitness.adapters.ag_ui.mapping import ADAPTER
from toolwitness.core.evidence import Kind, evidence_ref
from toolwitness.core.states import ClosureKind
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED, exact

_APPROVAL: Final = re.compile(r"approv|confirm|permission|authoriz|consent", re.IGNORECASE)
_QUESTION: Final = re.compile(r"input|question|elicit|answer|select|choice|form|clarif|human|feedback|review", re.IGNORECASE)


@dataclass(slots=True)
class _Refusal:
    """What kept a call from being run, as a person was seen to say it."""

    kind: ClosureKind
    actor: str
    reason: str
    said: str


@dataclass(slots=True)
class Interrupts:
    """The interrupts of one stream, and their answers."""

    calls: Calls
    note: Callable[[str, str], None]
    asked: dict[str, Call] = field(default_factory=dict[str, Call])
    """By the interrupt's id."""
    refused: dict[str, _Refusal] = field(default_factory=dict[str, _Refusal])
    """By invocation: calls that were denied or dismissed."""
    strangers: list[bool] = field(default_factory=list[bool])
    """For each answer in the present run to an interrupt that was not seen: whether it approves."""

    # ── asked ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def ask(self, word: str, interrupt: Mapping[str, Any]) -> None:
        """Record what an interrupt asks, where it names a call."""
        key, reason = text(interrupt.get("toolCallId")), text(interrupt.get("reason"))
        if not key:
            self.note(word, f"an interrupt that names no call ({reason or 'no reason given'})")
            return
        call = self.calls.meant(key)
        self.asked[text(interrupt.get("id"))] = call
        schema = members(members(interrupt.get("responseSchema")).get("properties"))
        if _APPROVAL.search(reason) or "approved" in schema:
            summary, expires_at = text(interrupt.get("message")), text(interrupt.get("expiresAt")) or None
            self.calls.ask_approval(word, call, summary=summary, expires_at=expires_at)
            return
        if not _QUESTION.search(reason):
            self.note(word, f"the reason {reason!r} is nobody's vocabulary: it is taken for a question, not for an approval")
        self.calls.ask_input(word, call, "question")

    # ── answered ────────────────────────────────────────────────────────────────────────────────────────────────────

    def resume(self, word: str, entries: Sequence[Any], actor: str) -> None:
        """Record the answers that begin a run. They are decisions that were submitted; the record itself refuses a second one."""
        self.strangers = []
        for entry in map(members, entries):
            call = self.asked.get(text(entry.get("interruptId")))
            if call is None:
                self.note(word, f"an answer to an interrupt that was not seen: {text(entry.get('interruptId'))}")
                self.strangers.append(members(entry.get("payload")).get("approved") is True)
            elif call.approvals:
                self._answer(word, call, entry, actor)
            elif entry.get("status") == "cancelled":
                self._dismiss(word, call, actor)
            else:
                call.waits_for = ""
                self.calls.pen.write(
                    Kind.INPUT_SUPPLIED, word, call.invocation_id, attempt=call.attempt, data={"actor": actor},
                    values={"inputs": exact(entry.get("payload"))},
                )  # fmt: skip  # facts in lines

    def _answer(self, word: str, call: Call, entry: Mapping[str, Any], actor: str) -> None:
        payload = members(entry.get("payload"))
        approved, reason = payload.get("approved"), text(payload.get("reason")) or None
        first = call.awaits_approval
        if entry.get("status") == "cancelled":
            if first:
                self._dismiss(word, call, actor)
            else:
                self.calls.deny(word, call, actor, reason="the interrupt was cancelled")
        elif approved is True:
            if first and isinstance(payload.get("editedArgs"), Mapping):
                self.calls.edit(word, call, actor, exact(payload["editedArgs"]))
            self.calls.grant(word, call, actor, reason=reason)
        elif approved is False:
            said = self.calls.deny(word, call, actor, reason=reason)
            if first:
                self.refused[call.invocation_id] = _Refusal(ClosureKind.DENIED, actor, reason or "the approval was denied", said)
        else:
            self.note(word, "an answer in its own words: neither approved nor denied can be read from it")

    def _dismiss(self, word: str, call: Call, actor: str) -> None:
        """Record that the question was put aside. The protocol has no word for whether that denies, withdraws or dismisses."""
        said = self.calls.pen.write(
            Kind.DISMISSED, word, call.invocation_id, attempt=call.attempt, data={"actor": actor, "reason": "the interrupt was cancelled"}
        )
        self.refused[call.invocation_id] = _Refusal(ClosureKind.DISMISSED, actor, "the interrupt was cancelled", said)

    # ── what follows ────────────────────────────────────────────────────────────────────────────────────────────────

    def close_refused(self, word: str, call: Call) -> bool:
        """Record the closure of a call that was denied or dismissed and has not ended; tell whether it was."""
        refusal = self.refused.get(call.invocation_id)
        if refusal is None or call.over or call.answer == "granted":
            return False
        caused_by = (evidence_ref(self.calls.pen.source, refusal.said),)
        self.calls.close(f"{word} {refusal.kind}", call, refusal.kind, refusal.actor, refusal.reason, caused_by=caused_by)
        return True

    def doubt_about(self, call: Call) -> str:
        """Say why an answer to this call may hold a refusal instead of a result; empty where it may not."""
        if call.awaits_approval:
            return f"an answer to a call whose interrupt nobody was seen to answer: {ADAPTER} has no word for a refusal"
        if not call.proposal and self.strangers and not all(self.strangers):
            return "an answer in a run that was resumed with a refusal whose call was not seen"
        return ""


def entries_of(given: Mapping[str, Any]) -> Sequence[Any]:
    """Give the answers to interrupts in the input of a run."""
    return items(given.get("resume"))


ACTOR: Final = UNRECORDED
"""Who answers, as far as the protocol says."""
