"""What became of a call before dispatch, as a recorder reads it from the record."""

from dataclasses import dataclass

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, State


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of a call before dispatch: may it go on, why not, and with which inputs."""

    permitted: str
    """``yes`` or ``no``."""
    why: str = ""
    inputs: bytes = b""
    """The exact bytes of the inputs that stand."""


def decided_of(record: InvocationRecord) -> Decided | None:
    """Read what was decided, where anything was."""
    if record.state is State.EXPIRED:
        return Decided("no", f"The {record.elapsed} deadline passed before anybody decided.")
    if record.state in TERMINAL:
        closure = record.closure
        return Decided("no", f"{closure.kind} by {closure.initiator}: {closure.reason}" if closure else f"It is already {record.state}.")
    if record.permission is not None:
        refused = record.permission.get("refused")
        return Decided("no", str(record.permission.get("reason"))) if refused else Decided("yes")
    answer = record.approval.answer if record.approval is not None else None
    if not record.starts or answer is None:
        return None
    # Asked for in the middle of a body that was seen to start: nothing is dispatched by the answer, and only the body's own end closes it.
    return Decided("yes") if record.granted else Decided("no", f"{answer.kind} by {answer.actor}: {answer.reason}")
