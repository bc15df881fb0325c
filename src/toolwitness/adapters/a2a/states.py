"""What the state of an A2A task says, whatever message it came in. A state is read once; what comes after the end is late."""

from collections.abc import Mapping
from typing import Any, Final

from toolwitness.adapters.a2a.shapes import Object, state_of, words_of
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Termination
from toolwitness.core.times import parse_rfc3339
from toolwitness.reading import endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.disguises import disguised_cancel
from toolwitness.reading.lenient import members, text
from toolwitness.reading.pen import UNRECORDED

_ENDS: Final = frozenset({"completed", "failed", "canceled", "rejected"})
_SILENT: Final = frozenset({"submitted", "unknown", "unspecified"})


class States:
    """Reads the states of the tasks of one capture."""

    def __init__(self, calls: Calls) -> None:
        """Begin with none seen."""
        self._calls = calls
        self._last: dict[str, str] = {}
        """By call: the state, and when it was entered, that was read last."""

    def read(self, call: Call, status: Object, *, snapshot: Object | None = None) -> str:
        """Record what a status says; give why it says nothing to us, or what is odd about it, where there is something.

        ``snapshot`` is the whole task, where it came with one: its artifacts are the result.
        """
        state, odd = state_of(status)
        entry = f"{state} {text(status.get('timestamp'))}"
        if self._last.get(call.invocation_id) in {entry, state} or (call.over and state == self._last_state(call)):
            return odd
        late = call.over and state in _ENDS | {"working"}
        self._last[call.invocation_id] = entry
        why = self._say(call, state, status, snapshot)
        return why or odd or ("an update after the end: it is kept and revives nothing" if late else "")

    def _last_state(self, call: Call) -> str:
        return self._last.get(call.invocation_id, "").split(" ", 1)[0]

    def _say(self, call: Call, state: str, status: Object, snapshot: Object | None) -> str:
        if state == "working":
            self._working(call, _time(status))
        elif state == "input-required":
            self._ask(call, status)
        elif state == "auth-required":
            self._ask_authorization(call, status)
        elif state in {"completed", "failed"}:
            self._ended(call, state, status, snapshot)
        elif state in {"canceled", "rejected"}:
            self._closed(call, state, status)
        elif state not in _SILENT:
            return f"the table does not have the state {state!r}" if state else "a status without a state"
        return ""

    def _working(self, call: Call, time: str | None) -> None:
        pen = self._calls.pen
        if not call.taken_up:
            call.taken_up = 1
            pen.write(
                Kind.STARTED, "state working", call.invocation_id, attempt=call.attempt, time=time,
                data={"attempt": call.attempt, "executor": self._calls.framework, "lease": call.provider_id},
            )  # fmt: skip  # facts in lines
            call.waits_for = ""
            return
        word = "state working again"
        if call.waits_for == "question":
            facts = {"inputs_digest": "the answer, as the agent read it", "checked_by": self._calls.framework}
            pen.write(Kind.INPUTS_ACCEPTED, word, call.invocation_id, attempt=call.attempt, data=facts)
        elif call.waits_for == "approval":
            facts = {"approval_id": call.approval_id, "reason": "the agent went on; whether and by whom it was authorised is not said"}
            pen.write(Kind.APPROVAL_INVALIDATED, word, call.invocation_id, attempt=call.attempt, data=facts)
        call.waits_for = ""
        facts = {"attempt": call.attempt, "lease": call.provider_id}
        pen.write(Kind.HEARTBEAT, word, call.invocation_id, attempt=call.attempt, time=time, data=facts)

    def _ask(self, call: Call, status: Object) -> None:
        call.waits_for = "question"
        prompt = words_of(status.get("message"))
        self._calls.pen.write(
            Kind.INPUT_REQUIRED, "state input-required", call.invocation_id, attempt=call.attempt, time=_time(status),
            data={"unresolved": ["answer"], "collector": "person", "prompt": prompt or None},
        )  # fmt: skip  # facts in lines

    def _ask_authorization(self, call: Call, status: Object) -> None:
        call.waits_for, call.answer = "approval", ""
        call.approvals += 1
        call.approval_id = self._calls.pen.new_id("apr", call.invocation_id, str(call.approvals))
        said = words_of(status.get("message"))
        self._calls.pen.write(
            Kind.APPROVAL_REQUESTED, "state auth-required", call.invocation_id, attempt=call.attempt, time=_time(status),
            data={
                "approval_id": call.approval_id, "attempt": call.attempt, "authority": "a2a auth-required",
                "authorization_owner": self._calls.framework, "scope": "this A2A task",
                "consequence_summary": said or "The agent asks to be authorised. It does not say for what.",
            },
        )  # fmt: skip  # facts in lines

    def _ended(self, call: Call, state: str, status: Object, snapshot: Object | None) -> None:
        word, said = f"state {state}", words_of(status.get("message"))
        disguise = disguised_cancel(said)
        if disguise:
            reason = f"its message reads like a cancellation ({disguise}); it proves neither end"
            endings.doubt(self._calls, call, f"{word} disguised", reason, time=_time(status))
        elif state == "completed":
            endings.succeed(self._calls, call, word, _result(status, snapshot), time=_time(status))
        else:
            detail = "The agent says that the task failed."
            endings.fail(self._calls, call, word, "agent-failed", dict(status), detail=detail, time=_time(status))

    def _closed(self, call: Call, state: str, status: Object) -> None:
        call.over = call.ended = True
        said = words_of(status.get("message"))
        why = {"canceled": "the agent says canceled", "rejected": "the agent rejected it"}[state]
        self._calls.pen.write(
            Kind.CANCEL_ACKNOWLEDGED, f"state {state}", call.invocation_id, attempt=call.attempt, time=_time(status),
            data={
                "termination": Termination.CONFIRMED.value, "initiator": UNRECORDED if state == "canceled" else "agent",
                "scope": "this A2A task", "reason": f"{why}: {said}" if said else why, "at": _time(status) or self._calls.pen.clock,
            },
        )  # fmt: skip  # facts in lines


def _result(status: Object, snapshot: Object | None) -> Mapping[str, Any]:
    """Give what the agent handed over with its end: its message, and the artifacts where the whole task came."""
    told = {"message": members(status.get("message")) or None, "artifacts": (snapshot or {}).get("artifacts")}
    return {name: value for name, value in told.items() if value is not None}


def _time(status: Object) -> str | None:
    stamp = text(status.get("timestamp"))
    return stamp if parse_rfc3339(stamp) is not None else None
