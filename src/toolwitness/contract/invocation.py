"""The document ``tool-call-ui/1``: one invocation as its consumers see it.

Field names are those of the third seed, exactly, and all of them are required, null where nothing is known: a missing
key would leave open whether a fact is absent or was forgotten. What we add is optional. Times are texts here; whether
one can be read as a time is policy's to judge (R10).
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from toolwitness.contract.base import Attempt, Model, StateWord

CONTRACT_VERSION = "tool-call-ui/1"

_CLOSURE_FACTS = ("owner", "kind", "initiator", "scope", "reason", "recordedAt")


class Identity(Model):
    """Which attempt of what this is, and how it hangs together with others."""

    task_id: str = Field(alias="taskId")
    invocation_id: str = Field(alias="invocationId")
    parent_id: str | None = Field(alias="parentId")
    attempt: Attempt
    retry_of: str | None = Field(alias="retryOf")
    dependencies: list[str]


class Provenance(Model):
    """Where one input came from."""

    field: str
    source: str
    source_ref: str | None = Field(alias="sourceRef")


class Inputs(Model):
    """The inputs, by reference; additive ``values`` holds them where the reader may see them."""

    schema_ref: str | None = Field(alias="schemaRef")
    values_ref: str | None = Field(alias="valuesRef")
    provenance: list[Provenance]
    redaction_policy: str = Field(alias="redactionPolicy")
    digest: str | None = None
    executed_values_ref: str | None = Field(default=None, alias="executedValuesRef")
    values: Any = None


class ConsequenceSection(Model):
    """What the call can affect, and where it cannot be called back."""

    classes: list[str]
    commitment_boundary: str | None = Field(alias="commitmentBoundary")


class Agreement(Model):
    """One of several people who must agree, and has."""

    by: str
    at: str | None = None
    evidence_ref: str | None = Field(default=None, alias="evidenceRef")


class Authorization(Model):
    """Whose permission the call needs, and how that stands."""

    source: str | None
    owner: str | None
    required_decision: str | None = Field(alias="requiredDecision")
    scope: str | None
    state: str
    expires_at: str | None = Field(alias="expiresAt")
    approval_id: str | None = Field(default=None, alias="approvalId")
    eligible: list[str] = Field(default_factory=list[str])
    inputs_digest: str | None = Field(default=None, alias="inputsDigest")
    approvals_needed: Annotated[int, Field(ge=1)] = Field(default=1, alias="approvalsNeeded")
    """How many different people must agree."""
    agreed: list[Agreement] = Field(default_factory=list[Agreement])
    """Those who have agreed so far without it being enough; whoever makes it enough is ``decidedBy``."""
    decided_by: str | None = Field(default=None, alias="decidedBy")
    decided_at: str | None = Field(default=None, alias="decidedAt")
    decision_ref: str | None = Field(default=None, alias="decisionRef")


class Output(Model):
    """What the call gave, by reference; additive ``result`` holds it where the reader may see it."""

    schema_ref: str | None = Field(alias="schemaRef")
    result_ref: str | None = Field(alias="resultRef")
    summary: str | None
    chunks: int | None = None
    result: Any = None


class SideEffects(Model):
    """What was expected to happen in the world, what was seen to, and whether the two are reconciled."""

    expected: list[str]
    observed: list[dict[str, Any] | str]
    reconciliation_state: str = Field(alias="reconciliationState")


class ClosureSection(Model):
    """Why and by whom the attempt was closed without a result; all null while it was not."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"state": {"type": "string"}}},
            "then": {"properties": {name: {"type": "string"} for name in _CLOSURE_FACTS}},
        }
    )

    state: str | None
    owner: str | None
    kind: str | None
    initiator: str | None
    scope: str | None
    reason: str | None
    recorded_at: str | None = Field(alias="recordedAt")
    acknowledgement_ref: str | None = Field(alias="acknowledgementRef")
    termination: str | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> "ClosureSection":
        facts = (self.owner, self.kind, self.initiator, self.scope, self.reason, self.recorded_at)
        missing = [name for name, fact in zip(_CLOSURE_FACTS, facts, strict=True) if fact is None]
        if self.state is not None and missing:
            raise ValueError(f"a closure with a state needs {', '.join(missing)}")
        return self


class Errors(Model):
    """What went wrong, in words that are safe to show, and where the evidence lies."""

    safe_category: str | None = Field(alias="safeCategory")
    user_message: str | None = Field(alias="userMessage")
    internal_evidence_ref: str | None = Field(alias="internalEvidenceRef")


class Recovery(Model):
    """What can still be done, by phase."""

    before_dispatch: list[str] = Field(alias="beforeDispatch")
    after_dispatch_before_commitment: list[str] = Field(alias="afterDispatchBeforeCommitment")
    after_commitment: list[str] = Field(alias="afterCommitment")
    undo_guaranteed: bool = Field(alias="undoGuaranteed")


class Timestamps(Model):
    """When each step was recorded; null where it was not."""

    proposed_at: str | None = Field(alias="proposedAt")
    approved_at: str | None = Field(alias="approvedAt")
    accepted_at: str | None = Field(alias="acceptedAt")
    started_at: str | None = Field(alias="startedAt")
    completed_at: str | None = Field(alias="completedAt")


class Acceptance(Model):
    """Who corrects what is wrong, when to test again, and what was decided."""

    correction_owner: str | None = Field(alias="correctionOwner")
    retest_trigger: str | None = Field(alias="retestTrigger")
    disposition: str


class FindingSection(Model):
    """A fact that a person must not miss."""

    code: str
    severity: str
    detail: str
    evidence_refs: list[str] = Field(alias="evidenceRefs")


class RequestSection(Model):
    """Something that a person asked for; never its acknowledgement (R3)."""

    kind: str
    actor: str
    at: str | None
    evidence_ref: str | None = Field(alias="evidenceRef")
    scope: str | None = None
    reason: str | None = None
    target: str | None = None


class Correlation(Model):
    """Under which ids of others this invocation is known; none of them identifies it (R9)."""

    source: str
    run_id: str | None = Field(default=None, alias="runId")
    provider_call_id: str | None = Field(default=None, alias="providerCallId")
    occurrence: int | None = None


class InvocationDocument(Model):
    """A ``tool-call-ui/1`` document: what is known about one attempt, and the evidence for it."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"state": {"const": "cancelled"}}, "required": ["state"]},
            "then": {"properties": {"closure": {"properties": {"state": {"type": "string"}}}}},
        }
    )

    contract_version: Literal["tool-call-ui/1"] = Field(alias="contractVersion")
    identity: Identity
    purpose: str
    inputs: Inputs
    consequence: ConsequenceSection
    authorization: Authorization
    expected_transitions: list[str] = Field(alias="expectedTransitions")
    runtime_observations: list[dict[str, Any] | str] = Field(alias="runtimeObservations")
    output: Output
    side_effects: SideEffects = Field(alias="sideEffects")
    closure: ClosureSection
    errors: Errors
    recovery: Recovery
    alternate_routes: list[str] = Field(alias="alternateRoutes")
    permitted_actions: list[str] = Field(alias="permittedActions")
    timestamps: Timestamps
    evidence_refs: list[str] = Field(alias="evidenceRefs")
    acceptance: Acceptance
    example_status: str | None = Field(default=None, alias="exampleStatus")
    """Only examples carry it; a record has none."""
    document_version: int | None = Field(default=None, alias="documentVersion")
    tool: str | None = None
    state: StateWord | None = None
    state_evidence_refs: list[str] | None = Field(default=None, alias="stateEvidenceRefs")
    findings: list[FindingSection] | None = None
    requests: list[RequestSection] | None = None
    blocked_by: list[str] | None = Field(default=None, alias="blockedBy")
    queue_ref: str | None = Field(default=None, alias="queueRef")
    replaces: str | None = None
    reverses: str | None = None
    correlation: list[Correlation] | None = None

    @model_validator(mode="after")
    def _a_cancelled_attempt_was_closed(self) -> "InvocationDocument":
        if self.state == "cancelled" and self.closure.state is None:
            raise ValueError("a cancelled attempt needs its closure: kind, initiator, scope, reason and time")
        return self
