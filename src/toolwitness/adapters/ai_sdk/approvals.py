"""Approvals in a UI message stream: who asked, who answered, and what may be concluded from it.

A client's answer is a decision that it submits; it is on no wire. That a call was taken up shows that the server took it for approved. An
automatic approval is a policy's decision and asks nobody.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolwitness.adapters.ai_sdk.mapping import ADAPTER
from toolwitness.core.evidence import Kind, evidence_ref
from toolwitness.core.states import ClosureKind
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.lenient import text
from toolwitness.reading.pen import UNRECORDED

_POLICY: Final = f"{ADAPTER} automatic approval"


class Approvals:
    """The approvals of one stream."""

    def __init__(self, calls: Calls, note: Callable[[str, str], None]) -> None:
        """Begin with none asked for."""
        self.calls = calls
        self.note = note
        self._asked: dict[str, Call] = {}
        """By the framework's id of the approval."""
        self._automatic: dict[str, Call] = {}
        self._denials: dict[str, tuple[str, str, str]] = {}
        """By invocation: who denied it, why, and the event that says so."""
        self._asked_in: dict[str, int] = {}
        """By invocation: the run that asked."""

    def ask(self, word: str, chunk: Mapping[str, Any], call: Call) -> None:
        """Record that the call waits for an approval; an automatic one waits for nobody."""
        approval = text(chunk.get("approvalId"))
        if chunk.get("isAutomatic") is True:
            self._automatic[approval] = call
            return
        if approval in self._asked:
            self.note(word, f"approval {approval} was already asked for")
            return
        self._asked[approval] = call
        self._asked_in[call.invocation_id] = self.calls.run
        self.calls.ask_approval(word, call, summary=text(chunk.get("reason")))

    def answered_by_policy(self, word: str, chunk: Mapping[str, Any]) -> None:
        """Record the answer that the stream itself gives: of a policy where the request was automatic, else of an unrecorded actor."""
        approval, approved = text(chunk.get("approvalId")), chunk.get("approved")
        call = self._automatic.get(approval)
        if not isinstance(approved, bool):
            self.note(word, "it says neither that it is approved nor that it is not")
        elif call is not None:
            reason = text(chunk.get("reason")) or "no reason given"
            self.calls.pen.write(
                Kind.PERMITTED if approved else Kind.REFUSED, f"{word} automatic", call.invocation_id, attempt=call.attempt,
                data={"rule": "automatic approval", "policy_version": UNRECORDED, "reason": reason},
            )  # fmt: skip  # facts in lines
            if not approved:
                call.answer = "denied"
                self._denials[call.invocation_id] = (_POLICY, reason, "")
        else:
            self.respond(word, {**chunk, "actor": UNRECORDED})

    def respond(self, word: str, answer: Mapping[str, Any]) -> None:
        """Record an answer that was submitted. It moves nothing; a second one is recorded, and refused by the record itself."""
        approval = text(answer.get("approvalId")) or text(answer.get("approval")) or text(answer.get("id"))
        approved, call = answer.get("approved"), self._asked.get(approval)
        if call is None or not isinstance(approved, bool):
            self.note(word, f"an answer to an approval that nobody was seen to ask for: {approval}" if call is None else "no answer in it")
            return
        actor, reason = text(answer.get("actor")) or UNRECORDED, text(answer.get("reason")) or None
        if approved:
            self.calls.grant(word, call, actor, reason=reason)
            return
        first = call.awaits_approval
        said = self.calls.deny(word, call, actor, reason=reason)
        if first:
            self._denials[call.invocation_id] = (actor, reason or "the approval was denied", said)

    def show_granted(self, word: str, call: Call) -> None:
        """Record that an approval was given, where a later run took the call up that an earlier one had asked about."""
        if call.awaits_approval and not call.over and self._asked_in.get(call.invocation_id, self.calls.run) < self.calls.run:
            self.calls.grant(f"{word} resumed", call, UNRECORDED)

    def close_denied(self, word: str, call: Call | None) -> None:
        """Record the closure of a denied call: only where an approval was seen to be asked for, and nothing has ended the call."""
        if call is None or not (call.approvals or call.invocation_id in self._denials):
            self.note(word, "a denial of a call for which nobody was seen to ask for an approval")
            return
        if call.over:
            self.note(word, "a denial of a call that has ended; the end stands")
            return
        if call.answer == "granted":
            self.note(word, "a denial after a grant: it is kept, and the grant stands")
            return
        if call.awaits_approval:
            said = self.calls.deny(word, call, UNRECORDED)
            self._denials[call.invocation_id] = (UNRECORDED, "the approval was denied", said)
        actor, reason, said = self._denials.get(call.invocation_id, (UNRECORDED, "the approval was denied", ""))
        caused_by = (evidence_ref(self.calls.pen.source, said),) if said else ()
        self.calls.close(word, call, ClosureKind.DENIED, actor, reason, caused_by=caused_by)
