"""The record of one invocation: what its evidence amounts to, and nothing else.

A record is made by the fold (``core/invocation.py``) and is never stored: it is always refolded from its events. Values (inputs, results)
appear as references; who wants the bytes asks the ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolwitness.core.evidence import Event
from toolwitness.core.findings import OPENS_RECONCILIATION, Code, Finding
from toolwitness.core.states import ClosureKind, EvidenceRef, Reconciliation, State, Termination
from toolwitness.core.transitions import Basis

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Move:
    """One transition that evidence made."""

    origin: State | None
    target: State
    basis: Basis
    row: str
    ref: EvidenceRef
    at: str


@dataclass(frozen=True, slots=True)
class Answer:
    """How an approval request was answered: once, by whom, by which event."""

    kind: str
    """``granted``, ``denied``, ``withdrawn``, ``dismissed``, ``invalidated`` or ``expired``."""
    actor: str
    ref: EvidenceRef
    at: str
    reason: str = ""


@dataclass(slots=True)
class Approval:
    """One approval request and, once it has one, its only answer."""

    id: str
    data: Data
    ref: EvidenceRef
    at: str
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """Something a person asked for. A request is not its acknowledgement (R3)."""

    kind: str
    """``cancellation``, ``retry``, ``reversal``, ``input`` or ``route``."""
    actor: str
    ref: EvidenceRef
    at: str
    scope: str = ""
    reason: str = ""
    target: str = ""
    """The new invocation that answers it, where there is one."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that happened in the world, as reported."""

    data: Data
    ref: EvidenceRef
    at: str
    late: bool


@dataclass(frozen=True, slots=True)
class Closure:
    """Why and by whom the attempt ended without a result."""

    kind: ClosureKind
    owner: str
    initiator: str
    scope: str
    reason: str
    at: str
    ref: EvidenceRef
    termination: Termination | None = None
    replaced_by: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """The dispatch permit that was claimed for this attempt."""

    permit: str
    ref: EvidenceRef
    at: str
    data: Data


@dataclass(frozen=True, slots=True)
class Outcome:
    """The terminal result or failure as the runtime reported it."""

    data: Data
    ref: EvidenceRef
    at: str


@dataclass(slots=True)
class InvocationRecord:
    """What is known about one immutable attempt."""

    id: str
    task_id: str = ""
    tenant: str = ""
    attempt: int = 1
    proposal: Data = field(default_factory=dict)
    """The fields of ``invocation.proposed``: tool, purpose, dependencies, lineage, consequences, policy version, …"""
    state: State | None = None
    state_refs: tuple[EvidenceRef, ...] = ()
    moves: list[Move] = field(default_factory=list)
    version: int = 0
    """How many events have been judged; grows with every one of them."""
    last_at: str = ""
    evidence_refs: list[EvidenceRef] = field(default_factory=list)
    inputs: Data | None = None
    """The inputs that stand now, as a value reference."""
    inputs_history: list[Data] = field(default_factory=list)
    executed_inputs: Data | None = None
    input_request: Data | None = None
    """The open ``input.required`` or ``inputs.rejected``: what is unresolved and who collects it."""
    approvals: list[Approval] = field(default_factory=list)
    permission: Data | None = None
    """The fields of ``dispatch.permitted``, or of ``dispatch.refused`` with ``refused`` set."""
    claim: Claim | None = None
    queue_ref: str = ""
    accepted_at: str = ""
    started_at: str = ""
    executor: str = ""
    lease: str = ""
    starts: list[EvidenceRef] = field(default_factory=list)
    cancel_support: str = ""
    """``task``, ``thread``, ``unsupported`` or empty where nobody said."""
    requests: list[Request] = field(default_factory=list)
    output_order: int = -1
    output_chunks: list[Data] = field(default_factory=list)
    progress: Data | None = None
    progress_order: int = -1
    parts: list[Data] = field(default_factory=list)
    open_parts: tuple[str, ...] = ()
    commitment: Outcome | None = None
    effects: list[Effect] = field(default_factory=list)
    outcome: Outcome | None = None
    closure: Closure | None = None
    deadlines: dict[str, str] = field(default_factory=dict)
    """Declared deadlines by name (``input``, ``approval``, ``queue_start``, ``result``), as the authority wrote them."""
    elapsed: str = ""
    """Which deadline ended the attempt, where one did."""
    retried_by: str = ""
    reversed_by: str = ""
    replaced_by: str = ""
    reconciliation: Reconciliation = Reconciliation.NOT_EXECUTED
    reconciliations: list[Outcome] = field(default_factory=list)
    resolved_dependencies: dict[str, str] = field(default_factory=dict)
    moved_dependencies: dict[str, str] = field(default_factory=dict)
    findings: dict[Code, Finding] = field(default_factory=dict)
    held: dict[str, dict[int, Event]] = field(default_factory=dict)
    next_sequence: dict[str, int] = field(default_factory=dict)
    seen: set[EvidenceRef] = field(default_factory=set)

    @property
    def tool(self) -> str:
        """The tool's name, or an empty string where no proposal was recorded."""
        return str(self.proposal.get("tool", ""))

    @property
    def governed(self) -> bool:
        """Whether a policy of ours applies to this invocation."""
        return bool(self.proposal.get("policy_version"))

    @property
    def consequences(self) -> tuple[str, ...]:
        """The consequence classes that the proposal declared."""
        return tuple(self.proposal.get("consequences") or ())

    @property
    def approval(self) -> Approval | None:
        """The approval request that counts: the latest one."""
        return self.approvals[-1] if self.approvals else None

    @property
    def open_approval(self) -> Approval | None:
        """The approval request that still waits for its answer."""
        latest = self.approval
        return latest if latest is not None and latest.answer is None else None

    @property
    def granted(self) -> bool:
        """Whether the latest approval request was granted."""
        latest = self.approval
        return latest is not None and latest.answer is not None and latest.answer.kind == "granted"

    @property
    def open_cancellation(self) -> Request | None:
        """The first cancellation request, while nothing has acknowledged it and the attempt has not ended by it."""
        return next((r for r in self.requests if r.kind == "cancellation"), None)

    @property
    def needs_reconciliation(self) -> bool:
        """Whether somebody must find out what really happened."""
        return any(code in OPENS_RECONCILIATION for code in self.findings)

    def raise_finding(self, code: Code, detail: str, *refs: EvidenceRef) -> None:
        """Raise a finding, or add evidence to the one that already stands."""
        old = self.findings.get(code)
        known = old.refs if old else ()
        self.findings[code] = Finding(code, detail, known + tuple(r for r in refs if r not in known), old.count + 1 if old else 1)
