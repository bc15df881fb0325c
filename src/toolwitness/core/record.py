"""The record of one invocation: what its evidence amounts to, and nothing else.

A record is made by the fold (``core/invocation.py``) and is never stored: it is always refolded from its events. Values (inputs, results)
appear as references; who wants the bytes asks the ledger.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from toolwitness.core.entries import Answer, Approval, Claim, Closure, Data, Effect, Move, Outcome, Request
from toolwitness.core.evidence import Event
from toolwitness.core.findings import OPENS_RECONCILIATION, Code, Finding
from toolwitness.core.states import EXECUTING, TERMINAL, EvidenceRef, Reconciliation, State

__all__ = ["Answer", "Approval", "Claim", "Closure", "Data", "Effect", "InvocationRecord", "Move", "Outcome", "Request"]

new_list: Final = cast("Callable[[], list[Any]]", list)
new_dict: Final = cast("Callable[[], dict[Any, Any]]", dict)
new_set: Final = cast("Callable[[], set[Any]]", set)
"""What makes the empty containers of a record: the bare types, since ``list[Move]()`` costs six times what ``list()`` does."""

_MOST_REFS: Final = 24
"""A finding cites this much evidence; how often it was raised beyond that, its count says."""


@dataclass(slots=True)
class InvocationRecord:
    """What is known about one immutable attempt."""

    id: str
    task_id: str = ""
    tenant: str = ""
    attempt: int = 1
    proposal: Data = field(default_factory=new_dict)
    """The fields of ``invocation.proposed``: tool, purpose, dependencies, lineage, consequences, policy version, …"""
    correlation: Any = ()
    """What the proposal, or what came before it, calls this call in its own words: source, run, the provider's id and its occurrence."""
    state: State | None = None
    state_refs: tuple[EvidenceRef, ...] = ()
    moves: list[Move] = field(default_factory=new_list)
    version: int = 0
    """How many events have been judged; grows with every one of them."""
    last_at: str = ""
    evidence_refs: list[EvidenceRef] = field(default_factory=new_list)
    inputs: Data | None = None
    """The inputs that stand now, as a value reference."""
    inputs_history: list[Data] = field(default_factory=new_list)
    executed_inputs: Data | None = None
    input_request: Data | None = None
    """The open ``input.required`` or ``inputs.rejected``: what is unresolved and who collects it."""
    approvals: list[Approval] = field(default_factory=new_list)
    permission: Data | None = None
    """The fields of ``dispatch.permitted``, or of ``dispatch.refused`` with ``refused`` set; gone when inputs or approval change."""
    claim: Claim | None = None
    queue_ref: str = ""
    accepted_at: str = ""
    started_at: str = ""
    executor: str = ""
    lease: str = ""
    leases: tuple[str, ...] = ()
    """Every lease under which this attempt was seen to start or to live, that of a second start included."""
    lease_expires_at: str = ""
    """Until when the lease is good, where whoever gave it has said so; every heartbeat says it anew."""
    starts: list[EvidenceRef] = field(default_factory=new_list)
    ends: list[EvidenceRef] = field(default_factory=new_list)
    """Every believed report that a body ended, those after the end of the attempt included."""
    cancel_support: str = ""
    """``task``, ``thread``, ``unsupported`` or empty where nobody said."""
    requests: list[Request] = field(default_factory=new_list)
    output_order: int = -1
    output_chunks: list[Data] = field(default_factory=new_list)
    """In the order of their numbers; a chunk from after the end is marked ``late``."""
    progress: Data | None = None
    progress_order: int = -1
    parts: list[Data] = field(default_factory=new_list)
    open_parts: tuple[str, ...] = ()
    commitment: Outcome | None = None
    effects: list[Effect] = field(default_factory=new_list)
    outcome: Outcome | None = None
    closure: Closure | None = None
    result_rejected: str = ""
    """The evidence that policy rejected a result of this attempt."""
    deadlines: dict[str, str] = field(default_factory=new_dict)
    """Declared deadlines by name (``input``, ``approval``, ``queue_start``, ``result``), as the authority wrote them."""
    elapsed: str = ""
    """Which deadline ended the attempt, where one did."""
    retried_by: str = ""
    reversed_by: str = ""
    replaced_by: str = ""
    reconciliation: Reconciliation = Reconciliation.NOT_EXECUTED
    reconciliations: list[Outcome] = field(default_factory=new_list)
    resolved_dependencies: dict[str, str] = field(default_factory=new_dict)
    moved_dependencies: dict[str, str] = field(default_factory=new_dict)
    findings: dict[Code, Finding] = field(default_factory=new_dict)
    held: dict[str, dict[int, Event]] = field(default_factory=new_dict)
    held_times: dict[EvidenceRef, str] = field(default_factory=new_dict)
    """When each held event was recorded, for those whose source gave no time."""
    next_sequence: dict[str, int] = field(default_factory=new_dict)
    released_up_to: dict[str, int] = field(default_factory=new_dict)
    """The number of each source up to which nothing is waited for any more."""
    skipped: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=new_dict)
    """Ranges of numbers of each source that were given up and may still come."""
    rendered: list[Data] = field(default_factory=new_list)
    """Receipts of what people were really shown: the document's version, the actor where one is named, and when."""
    clocked: tuple[str, str, str] = ("", "", "")
    """The latest move whose source gave a time of its own: kind, source, time."""
    seen: set[EvidenceRef] = field(default_factory=new_set)

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
        """The approval request that still waits for its answer; none does once the attempt has ended."""
        latest = self.approval
        return latest if latest is not None and latest.answer is None and self.state not in TERMINAL else None

    @property
    def granted(self) -> bool:
        """Whether the latest approval request was granted."""
        latest = self.approval
        return latest is not None and latest.answer is not None and latest.answer.kind == "granted"

    @property
    def ungranted(self) -> Approval | None:
        """The approval without which nothing may start and that was not granted; ``None`` where nothing stands in the way."""
        latest = next((a for a in reversed(self.approvals) if a.gates_start), None) if self.approvals else None
        return latest if latest is not None and (latest.answer is None or latest.answer.kind != "granted") else None

    @property
    def cancellation(self) -> Request | None:
        """The first request to cancel that anybody made."""
        return next((r for r in self.requests if r.kind == "cancellation"), None) if self.requests else None

    @property
    def open_cancellation(self) -> Request | None:
        """The first cancellation request, while nothing has acknowledged it and a body may still be running."""
        acknowledged = self.closure is not None and self.closure.termination is not None
        over = acknowledged or self.state in TERMINAL
        return self.cancellation if not over or self.still_running else None

    @property
    def still_running(self) -> bool:
        """Whether evidence says that a body runs and nothing says that it ended, whatever the state is (R4)."""
        return self.state in EXECUTING or len(self.starts) > len(self.ends)

    @property
    def seen_at_work(self) -> bool:
        """Whether anything shows that a body ran, a recorded start or not."""
        return bool(
            self.starts or self.lease or self.output_chunks or self.progress or self.parts or self.effects or self.commitment
            or any(move.target in EXECUTING for move in self.moves)
        )  # fmt: skip  # one condition

    @property
    def handed_over(self) -> bool:
        """Whether somebody else holds the call: a permit was claimed, or a scheduler or executor accepted it."""
        return self.claim is not None or bool(self.queue_ref or self.accepted_at)

    @property
    def waits_for_person(self) -> bool:
        """Whether the call asks a person for something now; what a model is asked for is not a person's to answer."""
        if self.state in TERMINAL:
            return False
        asks_input = self.input_request is not None and self.input_request.get("collector") != "model"
        return asks_input or self.open_approval is not None

    @property
    def needs_reconciliation(self) -> bool:
        """Whether somebody must find out what really happened."""
        return not OPENS_RECONCILIATION.isdisjoint(self.findings)

    def raise_finding(self, code: Code, detail: str, *refs: EvidenceRef) -> None:
        """Raise a finding, or add evidence to the one that already stands."""
        old = self.findings.get(code)
        known = old.refs if old else ()
        cited = (known + tuple(r for r in refs if r not in known))[:_MOST_REFS]
        self.findings[code] = Finding(code, detail, cited, old.count + 1 if old else 1)
