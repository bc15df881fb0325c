"""The parts of a document, each from the facts of one record; what has no evidence is null."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

from toolwitness.contract.foreign import embedded, reference, text, text_or_none, texts
from toolwitness.core.record import Approval, Effect, InvocationRecord, Request
from toolwitness.core.states import BEFORE_DISPATCH, TERMINAL, State
from toolwitness.core.transitions import ROWS, Basis

Values = Mapping[str, bytes]
"""Exact bytes of values by their reference, for readers who may see them."""

REDACTION: Final = "values lie apart from the evidence; what the tool's policy redacts is never rendered"
_NOT_CLOSED: Final[dict[str, None]] = dict.fromkeys(
    ("state", "owner", "kind", "initiator", "scope", "reason", "recordedAt", "acknowledgementRef")
)


def dependencies(record: InvocationRecord) -> list[str]:
    """Name what the attempt depends on, by the attempt that counts now: a retry takes its predecessor's place."""
    found: list[str] = []
    for declared in texts(record.proposal.get("dependencies")):
        current, seen = declared, {declared}
        while (moved := record.moved_dependencies.get(current)) and moved not in seen:
            seen.add(moved)
            current = moved
        found.append(current)
    return found


@cache
def expected_transitions(state: State | None) -> tuple[str, ...]:
    """Name the moves that the lifecycle expects from ``state``, each with the evidence that makes it."""
    moves = (f"{row.state} -> {row.next}(on {row.kind})" for row in ROWS if row.state is state and row.basis is Basis.EXPECTED)
    return () if state is None else tuple(dict.fromkeys(moves))


def rows(given: Any) -> list[Mapping[str, Any]]:
    """Give the objects of a list, whatever else a stranger put into it."""
    rows = cast("Sequence[Any]", given) if isinstance(given, list | tuple) else ()
    return [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]


def request_section(request: Request) -> dict[str, Any]:
    """Say what a person asked for; never that it was done (R3)."""
    return {
        "kind": request.kind,
        "actor": text(request.actor),
        "at": text_or_none(request.at),
        "evidenceRef": request.ref,
        "scope": text_or_none(request.scope),
        "reason": text_or_none(request.reason),
        "target": text_or_none(request.target),
    }


def correlation_section(row: Mapping[str, Any]) -> dict[str, Any]:
    """Say under which ids of others the attempt is known."""
    occurrence = row.get("occurrence")
    return {
        "source": text(row.get("source")),
        "runId": text_or_none(row.get("run_id")),
        "providerCallId": text_or_none(row.get("provider_call_id")),
        "occurrence": occurrence if type(occurrence) is int else None,
    }


def inputs_section(record: InvocationRecord, values: Values | None) -> dict[str, Any]:
    """Say which inputs stand, which were executed and where each came from."""
    proposal = record.proposal
    return {
        "schemaRef": text_or_none(proposal.get("inputs_schema")),
        "valuesRef": reference(record.inputs),
        "digest": text_or_none((record.inputs or {}).get("digest")),
        "executedValuesRef": reference(record.executed_inputs),
        "provenance": [
            {
                "field": text(row.get("field")),
                "source": text(row.get("source")),
                "sourceRef": text_or_none(row.get("source_ref")),
                **({"pointer": text(row["pointer"])} if row.get("pointer") else {}),
            }
            for row in rows(proposal.get("provenance"))
        ],
        "redactionPolicy": REDACTION,
        **embedded("values", reference(record.inputs), values),
    }


def output_section(record: InvocationRecord, result: Mapping[str, Any], values: Values | None) -> dict[str, Any]:
    """Say what the call gave, by reference and, where the reader may see it, itself."""
    ref = reference(result.get("result")) or text_or_none(result.get("result_ref"))
    return {
        "schemaRef": text_or_none(record.proposal.get("result_schema")),
        "resultRef": ref,
        "summary": said(result.get("summary"), values),
        "chunks": len(record.output_chunks),
        **embedded("result", ref, values),
    }


def said(given: Any, values: Values | None = None) -> str | None:
    """Give a text that lies in the event, or beside it where the reader may see it."""
    ref = reference(given)
    if ref is None:
        return text_or_none(given)
    raw = (values or {}).get(ref)
    return None if raw is None else raw.decode("utf-8", "backslashreplace")


def authorization_section(record: InvocationRecord) -> dict[str, Any]:
    """Say whose permission the attempt needs, exactly for what, and how that stands."""
    approval, permission = record.approval, record.permission
    if approval is None:
        known = permission or {}
        return {
            "source": text_or_none(known.get("rule")),
            "owner": None,
            "requiredDecision": None,
            "scope": None,
            "state": _unasked(record),
            "expiresAt": None,
        }
    asked, answer = approval.data, approval.answer
    return {
        "source": text_or_none(asked.get("rule")) or text_or_none(asked.get("authority")),
        "owner": text_or_none(asked.get("authorization_owner")),
        "requiredDecision": f"approval by {text(asked.get('authority'))}",
        "scope": text_or_none(asked.get("scope")),
        "state": answer.kind if answer else "pending",
        "expiresAt": text_or_none(asked.get("expires_at")),
        "approvalId": text(approval.id),
        "consequenceSummary": text_or_none(asked.get("consequence_summary")),
        "eligible": texts(asked.get("eligible")),
        "facts": _in_view(asked.get("facts")),
        "inputsDigest": text_or_none(asked.get("inputs_digest")),
        "requestRef": approval.ref,
        "approvalsNeeded": approval.needed,
        "agreed": [{"by": text(one.actor), "at": text_or_none(one.at), "evidenceRef": one.ref} for one in approval.agreed],
        **_decided(approval),
    }


def _in_view(facts: Any) -> list[dict[str, Any]]:
    """Give the inputs that must be in view, by name, and whether they can be; their values are the inputs' own."""
    said: Mapping[str, Any] = cast("Mapping[str, Any]", facts) if isinstance(facts, Mapping) else {}
    unreadable = texts(said.get("unreadable"))
    return [{"field": name, "readable": name not in unreadable} for name in texts(said.get("fields"))]


def _decided(approval: Approval) -> dict[str, Any]:
    answer = approval.answer
    return {
        "decidedBy": text(answer.actor) if answer else None,
        "decidedAt": text_or_none(answer.at) if answer else None,
        "decisionRef": answer.ref if answer else None,
    }


def _unasked(record: InvocationRecord) -> str:
    if record.permission is not None:
        return "refused" if record.permission.get("refused") else "permitted"
    return "not-requested" if record.governed else "unobserved"


def observations_section(record: InvocationRecord) -> list[dict[str, Any]]:
    """Give what the runtime was seen to do: the moves after dispatch, and how far it said it was."""
    seen: list[dict[str, Any]] = [
        {"state": move.target, "at": move.at or None, "basis": move.basis, "evidenceRef": move.ref}
        for move in record.moves
        if move.target not in BEFORE_DISPATCH and (move.target not in TERMINAL or move.origin not in BEFORE_DISPATCH)
    ]
    if record.progress is not None:
        progress = {"text": said(record.progress.get("text")), "percent": record.progress.get("percent")}
        seen.append({"progress": progress, "at": record.progress.get("at") or None, "evidenceRef": record.progress.get("ref")})
    return seen


_EFFECT_NAMES: Final = {"provider_reference": "providerReference"}


def effect_section(effect: Effect) -> dict[str, Any]:
    """Say what happened in the world, as it was reported, and whether that was after the end."""
    named = {_EFFECT_NAMES.get(name, name): value for name, value in effect.data.items()}
    return {**named, "recordedAt": effect.at or None, "evidenceRef": effect.ref, "late": effect.late}


def closure_section(record: InvocationRecord) -> dict[str, Any]:
    """Say why and by whom the attempt was closed without a result; all null while it was not."""
    closure = record.closure
    if record.state is State.EXPIRED and record.moves:
        last = record.moves[-1]
        return {
            "state": "expired",
            # Policy's clock or the runtime that owns the deadline; the evidence says which.
            "owner": "deadline authority",
            "kind": "expired",
            "initiator": "deadline",
            "scope": "this attempt",
            "reason": f"the {record.elapsed} deadline elapsed",
            "recordedAt": last.at or record.last_at,
            "acknowledgementRef": last.ref,
        }
    if closure is None or record.state not in TERMINAL:
        return {**_NOT_CLOSED}
    return {
        "state": record.state,
        "owner": text(closure.owner),
        "kind": closure.kind,
        "initiator": text(closure.initiator),
        "scope": text(closure.scope),
        "reason": text(closure.reason),
        "recordedAt": text(closure.at),
        "acknowledgementRef": closure.ref,
        "termination": closure.termination,
    }


_STOPPING: Final = {
    "": ["request cancellation when supported"],
    "task": ["request cancellation"],
    "thread": ["request cancellation; the body runs in a thread and ends when it ends"],
    "unsupported": [],
}


def recovery_section(record: InvocationRecord) -> dict[str, Any]:
    """Say what can still be done in each phase."""
    answers = ["deny"] if record.approval is not None else []
    return {
        "beforeDispatch": [*answers, "withdraw", "dismiss"],
        "afterDispatchBeforeCommitment": list(_STOPPING.get(record.cancel_support, _STOPPING[""])),
        "afterCommitment": texts(record.proposal.get("recovery")),
        # An inverse can fail too; what is offered is a reversal, which is an invocation of its own.
        "undoGuaranteed": False,
    }


def timestamps_section(record: InvocationRecord) -> dict[str, str | None]:
    """Say when each step was recorded; null where it was not."""
    first, last = (record.moves[0], record.moves[-1]) if record.moves else (None, None)
    completed = record.outcome.data.get("completed_at") if record.outcome else None
    approval = record.approval
    answer = approval.answer if approval is not None else None
    return {
        "proposedAt": (first.at or None) if first and first.target is State.PROPOSED else None,
        "approvedAt": (answer.at or None) if answer and answer.kind == "granted" else None,
        "acceptedAt": record.accepted_at or None,
        "startedAt": record.started_at or None,
        "completedAt": (text_or_none(completed) or last.at or None) if last and last.target in TERMINAL else None,
    }


def result_section(record: InvocationRecord) -> dict[str, Any] | None:
    """Say how the attempt ended, in the fields that its state asks for; ``None`` while it has not."""
    told: Mapping[str, Any] = record.outcome.data if record.outcome else {}
    match record.state:
        case State.SUCCEEDED:
            ref = reference(told.get("result")) or text_or_none(told.get("result_ref"))
            return {"summary": said(told.get("summary")), "resultRef": ref}
        case State.FAILED:
            return {"errorCategory": text(told.get("category")), "userMessage": said(told.get("detail"))}
        case State.CANCELLED:
            closure = closure_section(record)
            return {"kind": closure["kind"], "scope": text(closure["scope"]), "reason": text(closure["reason"])}
        case State.EXPIRED:
            return {"deadline": record.elapsed}
        case _:
            return None
