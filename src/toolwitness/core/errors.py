"""What can go wrong, whose fault it is, and what to do about it.

::

    ToolwitnessError
    ├── InvalidInput          the caller's: a field is missing, of the wrong type or not understood
    │   └── UnknownId         the caller's: no such task, invocation or approval
    ├── NotPermitted          policy's answer: this actor may not do this now (rule and reason named)
    ├── Conflict              nobody's: somebody else wrote first; load again and decide anew
    │   └── OnceKeyTaken      nobody's: the one use was taken; the winner is named
    ├── Tampered              the file's: the record does not verify
    └── Unavailable           the environment's: locked, full, unreachable
        └── NewerFormat       the environment's: the file was written by a newer version

Cancelled, denied, dismissed, withdrawn and expired are outcomes and not in this tree (R5).
"""

from typing import Any, ClassVar


class ToolwitnessError(Exception):
    """Every error that toolwitness raises on purpose: a stable code, the facts, and a remedy."""

    code: ClassVar[str] = "error"
    fault: ClassVar[str] = "toolwitness"

    def __init__(self, message: str, *, remedy: str = "", **facts: Any) -> None:
        """Keep ``message`` (what was wrong), ``remedy`` (what to do) and ``facts`` (JSON values)."""
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.facts = facts

    def __str__(self) -> str:
        """Say what was wrong and, where something can be done, what to do."""
        return f"{self.message} {self.remedy}".strip()


class InvalidInput(ToolwitnessError):
    """A value was refused; ``facts['field']`` names it and nothing was recorded."""

    code = "invalid-input"
    fault = "caller"


class UnknownId(InvalidInput):
    """No record has this id."""

    code = "unknown-id"


class NotPermitted(ToolwitnessError):
    """Policy refused; ``facts['rule']`` names the rule and the message says why."""

    code = "not-permitted"
    fault = "caller"


class Conflict(ToolwitnessError):
    """The task moved on since it was read; nothing was written, decide again on what is there now."""

    code = "conflict"
    fault = "nobody"


class OnceKeyTaken(Conflict):
    """The single use that this append needed was already taken; ``winner`` is the event that took it."""

    code = "already-decided"

    def __init__(self, message: str, *, winner: Any, remedy: str = "", **facts: Any) -> None:
        """Keep the winning recorded event beside the message."""
        super().__init__(message, remedy=remedy, **facts)
        self.winner = winner


class Tampered(ToolwitnessError):
    """The record does not verify; ``facts['place']`` names the first place."""

    code = "tampered"
    fault = "file"


class Unavailable(ToolwitnessError):
    """Something needed is locked, full or unreachable; trying later may work."""

    code = "unavailable"
    fault = "environment"


class NewerFormat(Unavailable):
    """The file was written by a newer version than this one."""

    code = "newer-format"
