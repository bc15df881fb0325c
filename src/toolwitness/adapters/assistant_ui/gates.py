"""Approval gates in assistant-ui's streams: the server puts one on a call, and sets it again when it is answered."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolwitness.adapters.assistant_ui.mapping import ADAPTER
from toolwitness.core.evidence import Kind, evidence_ref
from toolwitness.core.states import ClosureKind, Deadline, Owner
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.lenient import text
from toolwitness.reading.pen import UNRECORDED

_POLICY: Final = f"{ADAPTER} automatic approval"


class Gates:
    """The gates of one stream. What stands on the wire was set by the server: its answer is one."""

    def __init__(self, calls: Calls, note: Callable[[str, str], None]) -> None:
        """Begin with none."""
        self.calls = calls
        self.note = note
        self._stood: dict[str, tuple[str, Any, Any]] = {}
        """By invocation: the gate's id and its answer when it was last set."""
        self._asked_in: dict[str, int] = {}
        """By invocation: the run that asked."""
        self._refused: set[str] = set()

    def stand(self, word: str, call: Call, gate: Mapping[str, Any]) -> None:
        """Record what a gate says now: that it asks, or how it was answered."""
        approved, resolution = gate.get("approved"), gate.get("resolution")
        now = (text(gate.get("id")), approved, resolution)
        if self._stood.get(call.invocation_id) == now:
            self.note(word, "the same gate again")
            return
        before = self._stood.get(call.invocation_id)
        self._stood[call.invocation_id] = now
        if gate.get("isAutomatic") is True:
            self._automatic(f"{word} automatic", call, gate)
            return
        if before is None or before[0] != now[0]:
            self._asked_in[call.invocation_id] = self.calls.run
            self.calls.ask_approval(word, call, summary=text(gate.get("requestReason")) or text(gate.get("prompt")))
        if isinstance(approved, bool):
            self._answered(word, call, gate, approved=approved)
        elif resolution == "cancelled" and not call.over:
            self.calls.withdraw(f"{word} withdrawn", call, "the host withdrew the approval request", by=UNRECORDED)
        elif resolution == "expired" and not call.over:
            self._expired(f"{word} expired", call)
        elif resolution is not None:
            self.note(word, f"the table does not have the resolution {resolution!r}, or the call has ended")

    def show_granted(self, word: str, call: Call) -> None:
        """Record that an approval was given, where a later run took the call up that an earlier one had asked about."""
        if call.awaits_approval and not call.over and self._asked_in.get(call.invocation_id, self.calls.run) < self.calls.run:
            self.calls.grant(f"{word} resumed", call, UNRECORDED)

    def was_refused(self, call: Call) -> bool:
        """Tell whether the call was closed by a denial: a result that follows repeats it."""
        return call.invocation_id in self._refused

    def _answered(self, word: str, call: Call, gate: Mapping[str, Any], *, approved: bool) -> None:
        reason = text(gate.get("reason")) or None
        if approved:
            self.calls.grant(word, call, UNRECORDED, reason=reason)
            return
        first = call.awaits_approval and not call.over
        said = self.calls.deny(word, call, UNRECORDED, reason=reason)
        if first:
            self._close(word, call, UNRECORDED, reason or "the approval was denied", (evidence_ref(self.calls.pen.source, said),))

    def _automatic(self, word: str, call: Call, gate: Mapping[str, Any]) -> None:
        """Record the decision of a policy; a gate that has none yet asks nobody."""
        approved, reason = gate.get("approved"), text(gate.get("reason")) or "no reason given"
        if not isinstance(approved, bool):
            return
        self.calls.pen.write(
            Kind.PERMITTED if approved else Kind.REFUSED, word, call.invocation_id, attempt=call.attempt,
            data={"rule": "automatic approval", "policy_version": UNRECORDED, "reason": reason},
        )  # fmt: skip  # facts in lines
        if not approved and not call.over:
            self._close(word, call, _POLICY, reason, ())

    def _close(self, word: str, call: Call, actor: str, reason: str, caused_by: tuple[str, ...]) -> None:
        self._refused.add(call.invocation_id)
        self.calls.close(word, call, ClosureKind.DENIED, actor, reason, caused_by=caused_by)

    def _expired(self, word: str, call: Call) -> None:
        call.over = call.ended = True
        self.calls.pen.write(
            Kind.DEADLINE_ELAPSED, word, call.invocation_id, attempt=call.attempt, owner=Owner.POLICY,
            data={
                "deadline": Deadline.APPROVAL.value, "declared_at": "set by the host, at a time that the stream does not tell",
                "approval_id": call.approval_id, "judged_at": self.calls.pen.clock,
            },
        )  # fmt: skip  # facts in lines
