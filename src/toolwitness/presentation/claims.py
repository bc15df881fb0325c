"""What a card claims: how the state came to be, what was asked for, where it belongs, until when. Each claim cites its evidence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord, Request
from toolwitness.core.states import BEFORE_DISPATCH, NO_REASON, ClosureKind, Consequence, Deadline, Owner, State, Termination
from toolwitness.presentation.foreign import line
from toolwitness.presentation.reading import UNNAMED, Reading, fields, place_words
from toolwitness.presentation.times import between, instant, iso, span, stamp, token
from toolwitness.presentation.words import (
    CLOSURES,
    CONSEQUENCES,
    DEADLINES,
    EXECUTORS,
    collector_words,
    counted,
    deadline_words,
    request_of,
    state_words,
)

Claim = dict[str, Any]
_UNSTOPPABLE: Final = MappingProxyType({
    "thread": "It runs in a thread and cannot be stopped; what it does is still recorded.",
    "unsupported": "Its executor offers no way to stop it; what it does is still recorded.",
})  # fmt: skip  # one line a kind of executor


def claim(text: str, evidence: Sequence[str], **more: Any) -> Claim:
    """Make one claim with the references it rests on."""
    return {"text": text, "evidence": list(evidence), **more}


# ── the line under the title ────────────────────────────────────────────────────────────────────────────────────────


def meta(reading: Reading) -> list[Claim]:
    """Say how the state came to be: who did what when, and what kind of call it is."""
    record = reading.record
    about = _PHRASES[record.state](reading) if record.state is not None else iter(())
    claims = [c for c in about if c["text"]]
    classes = [words for words in (_class_words(name) for name in record.consequences) if words]
    if classes and reading.proposal_refs and record.open_approval is None:
        claims.append(claim(", ".join(classes), reading.proposal_refs))
    if Code.POLICY_UNOBSERVED in record.findings:
        claims.append(claim("no policy of ours was asked", record.findings[Code.POLICY_UNOBSERVED].refs))
    return claims


def _class_words(name: str) -> str:
    known = next((c for c in Consequence if c == name), None)
    return CONSEQUENCES[known] if known else line(name)


def _proposed(reading: Reading) -> Iterator[Claim]:
    for ref in reading.proposal_refs:
        who = reading.who(reading.record.proposal.get("proposer"))
        yield claim(f"proposed {token(reading.at(reading.by_ref[ref]))} by {who}", [ref])


def _awaiting_input(reading: Reading) -> Iterator[Claim]:
    asked = reading.record.input_request or {}
    if asked:
        whom = collector_words(line(asked["collector"]))
        yield claim(f"asked {token(asked['at'])}; {whom} supplies the input", [asked["ref"]])


def _awaiting_approval(reading: Reading) -> Iterator[Claim]:
    asked = reading.record.approval
    if asked is None:
        return
    yield claim(f"asked {token(asked.at)} by {reading.who(asked.data.get('authorization_owner'))}", [asked.ref])
    for one in asked.agreed:
        yield claim(f"agreed {token(one.at)} by {reading.who(one.actor)}", [one.ref])
    if asked.needed > 1 and asked.lacking:
        yield claim(f"{asked.lacking} of {asked.needed} approvals still missing", [asked.ref])
    if asked.answer is not None and asked.answer.kind == "granted":
        yield claim(f"approved {token(asked.answer.at)} by {reading.who(asked.answer.actor)}", [asked.answer.ref])


def _queued(reading: Reading) -> Iterator[Claim]:
    record = reading.record
    queue = f" as {line(record.queue_ref)}" if record.queue_ref else ""
    yield claim(f"queued {token(record.accepted_at)}{queue}", reading.refs(Kind.ACCEPTED)[:1] or record.state_refs)


def _running(reading: Reading) -> Iterator[Claim]:
    record = reading.record
    if record.starts:
        where = place_words(_start(reading) or {"executor": record.executor})
        since = stamp(record.started_at) if Code.OUTCOME_UNKNOWN not in record.findings else None
        text = f"started {token(record.started_at)} {where}".rstrip()
        yield claim(text, record.starts[:1], **({"since": since} if since else {}))
    elif record.lease:
        yield claim(f"held under lease {line(record.lease)}", record.state_refs)


def _named_executor(reading: Reading) -> str:
    """Give the executor's name, where it has one and is not only a kind of executor."""
    executor = reading.record.executor
    return "" if executor in EXECUTORS else line(executor)


def _start(reading: Reading) -> Mapping[str, Any]:
    """Give what the first start said, where its event is here."""
    first = next(iter(reading.record.starts), "")
    return fields(reading.by_ref.get(first))


def _streaming(reading: Reading) -> Iterator[Claim]:
    record = reading.record
    yield from _running(reading)
    if record.progress and record.progress.get("text"):
        yield claim(reading.plain(record.progress["text"]), [record.progress["ref"]])
    elif record.output_chunks:
        yield claim(f"{counted(len(record.output_chunks), 'part')} of output", [record.output_chunks[-1]["ref"]])


def _partial(reading: Reading) -> Iterator[Claim]:
    record = reading.record
    yield from _running(reading)
    if record.parts:
        still = ", ".join(line(part) for part in record.open_parts) or "nothing named"
        yield claim(f"{counted(len(record.parts), 'part')} complete; still open: {still}", [part["ref"] for part in record.parts])


def _succeeded(reading: Reading) -> Iterator[Claim]:
    record, outcome = reading.record, reading.record.outcome
    if outcome is None:
        return
    ended = str(outcome.data["completed_at"])
    yield claim(f"succeeded {token(ended)}", [outcome.ref])
    took = between(record.started_at, ended)
    if record.starts and took is not None and took >= 0:
        yield claim(f"took {span(took)}", [record.starts[0], outcome.ref])
    if outcome.data.get("summary"):
        yield claim(reading.plain(outcome.data["summary"]), [outcome.ref])


def _failed(reading: Reading) -> Iterator[Claim]:
    outcome = reading.record.outcome
    if outcome is not None:
        said = reading.plain(outcome.data["detail"]).removesuffix(".")
        yield claim(f"failed {token(outcome.at)}: {said} ({line(outcome.data['category'])})", [outcome.ref])


def _cancelled(reading: Reading) -> Iterator[Claim]:
    closure = reading.record.closure
    if closure is None:
        return
    word, who = CLOSURES[closure.kind], reading.who(closure.initiator)
    if closure.termination is None:
        by = "" if closure.kind is ClosureKind.ANSWERED_BY_HUMAN and closure.initiator in UNNAMED else f" by {who}"
        yield claim(f"{word} {token(closure.at)}{by}", [closure.ref])
    else:
        executor = line(_start(reading).get("worker") or "") or _named_executor(reading) or "its executor"
        how = "seen to end by" if closure.termination is Termination.UNWOUND else "confirmed by"
        by = request_of(who) if closure.request_ref else f"by {who}"
        refs = [closure.ref, *([closure.request_ref] if closure.request_ref else [])]
        yield claim(f"{word} {token(closure.at)} {by}, {how} {executor}", refs)
    reason = line(closure.reason)
    yield claim(reason if reason == NO_REASON else f"reason: {reason}", [closure.ref])


def _expired(reading: Reading) -> Iterator[Claim]:
    passed = reading.by_ref.get(reading.record.state_refs[0])
    if passed is None:
        return
    name = deadline_words(reading.record.elapsed)
    clock = "the server's clock" if passed.event.owner is Owner.POLICY else "the runtime's clock"
    declared = token(fields(passed)["declared_at"])
    yield claim(f"{name[0].lower()}{name[1:]} lapsed {declared}, by {clock}", [passed.event.ref])


_PHRASES: Final = MappingProxyType[State, Callable[[Reading], Iterator[Claim]]]({
    State.PROPOSED: _proposed,
    State.AWAITING_INPUT: _awaiting_input,
    State.AWAITING_APPROVAL: _awaiting_approval,
    State.QUEUED: _queued,
    State.RUNNING: _running,
    State.STREAMING: _streaming,
    State.PARTIALLY_COMPLETE: _partial,
    State.SUCCEEDED: _succeeded,
    State.FAILED: _failed,
    State.CANCELLED: _cancelled,
    State.EXPIRED: _expired,
})  # fmt: skip  # one line a state

# ── requests that nobody has acknowledged ───────────────────────────────────────────────────────────────────────────


def requests(reading: Reading) -> list[Claim]:
    """Show what was asked for and is not yet so; ``text`` is the request and what still holds, ``at`` and ``by`` say when and by whom."""
    record = reading.record
    shown = [_cancellation(reading, r) for r in record.requests if r.kind == "cancellation" and record.open_cancellation is not None]
    shown += [_unanswered(reading, r) for r in record.requests if r.kind in _WAITS_FOR and not r.target]
    asked = record.open_approval
    meanwhile = f"The call stays {state_words(record.state).phrase} meanwhile."
    if asked is not None and reading.past_dispatch:
        by = str(asked.data["authorization_owner"])
        shown.append(_strip(reading, "approval", "Approval asked for", asked.at, by, [asked.ref], meanwhile))
    wanted = record.input_request
    if wanted is not None and reading.past_dispatch:
        shown.append(_strip(reading, "input", "Input asked for", wanted["at"], "policy", [wanted["ref"]], meanwhile))
    return shown


_WAITS_FOR: Final = MappingProxyType({
    "retry": ("Retry requested", "No new attempt is recorded yet."),
    "reversal": ("Undo requested", "No call that undoes it is recorded yet."),
    "route": ("Another route chosen", "No call on that route is recorded yet."),
})  # fmt: skip  # one line a kind


def _strip(reading: Reading, kind: str, lead: str, at: str, by: str, refs: Sequence[str], rest: str) -> Claim:
    return claim(f"{lead}. {rest}", refs, kind=kind, at=stamp(at), by=reading.who(by))


def _cancellation(reading: Reading, request: Request) -> Claim:
    """Say that stopping was asked for, and what the record still shows."""
    record = reading.record
    if record.state is State.QUEUED:
        rest = "Still queued until its scheduler confirms."
    elif record.state in BEFORE_DISPATCH or record.state is None:
        rest = f"Still {state_words(record.state).phrase} until whoever has the call confirms."
    elif not reading.open:
        rest = f"The record is {state_words(record.state).phrase}; it may still run until its executor confirms."
    else:
        rest = _UNSTOPPABLE.get(record.cancel_support) or "Still running until its executor confirms."
    if request.reason:
        rest += f" Reason: {line(request.reason)}"
    return _strip(reading, "cancellation", "Cancellation requested", request.at, request.actor, [request.ref], rest)


def _unanswered(reading: Reading, request: Request) -> Claim:
    lead, rest = _WAITS_FOR[request.kind]
    return _strip(reading, request.kind, lead, request.at, request.actor, [request.ref], rest)


# ── where it belongs, and until when ────────────────────────────────────────────────────────────────────────────────


def lineage(reading: Reading) -> list[Claim]:
    """Say in sentences which attempt this one follows, undoes or replaces, and what followed it."""
    record = reading.record
    back = (("retry_of", "Retries"), ("reverses", "Is to undo"), ("replaces", "Replaces"))
    shown = [
        claim(f"{verb} {reading.label(str(record.proposal[name]))}", reading.proposal_refs, target=str(record.proposal[name]))
        for name, verb in back if record.proposal.get(name)
    ]  # fmt: skip  # one comprehension
    forward = (
        (record.retried_by, "retry", "Retried"),
        (record.reversed_by, "reversal", "Undo requested"),
        (record.replaced_by, "route", "Replaced"),
    )
    for target, kind, verb in forward:
        if target:
            asked = next((r for r in record.requests if r.kind == kind and r.target == target), None)
            when = f" {token(asked.at)} by {reading.who(asked.actor)}" if asked else ""
            refs = [asked.ref] if asked else [record.closure.ref] if record.closure else []
            shown.append(claim(f"{verb}{when}: {reading.label(target)}", refs, target=target))
    return shown


def blocked(reading: Reading, blocked_by: Sequence[str]) -> list[Claim]:
    """Say what the call waits for: before anybody may queue it, or while its body waits for calls that it made."""
    refs = reading.proposal_refs or list(reading.record.state_refs)
    return [claim(f"Waits for {reading.label(target)}", refs, target=target) for target in blocked_by]


def deadline(reading: Reading) -> Claim | None:
    """Say until when the open question or the permission stands, and by whose clock; ``None`` where nothing runs out."""
    which = _running_out(reading.record)
    declared = reading.record.deadlines.get(which)
    if not declared:
        return None
    name = DEADLINES[Deadline(which)]
    at = instant(declared)
    refs = _declared_by(reading, which)
    if at is None:
        text = f"{name} has a deadline that cannot be read: “{line(declared)}”. Until it can, nothing is approved here."
        return claim(text, refs, which=which, at=None)
    verb = "lapses" if reading.now < at else "has lapsed; the expiry is not recorded yet:"
    return claim(f"{name} {verb} {token(declared)}, by the server's clock", refs, which=which, at=iso(at))


def _running_out(record: InvocationRecord) -> str:
    """Name the deadline that counts now."""
    if record.open_approval is not None:
        return Deadline.APPROVAL
    if record.state is State.AWAITING_INPUT or record.input_request is not None:
        return Deadline.INPUT
    return Deadline.QUEUE_START if record.state in BEFORE_DISPATCH or record.state is State.QUEUED else Deadline.RESULT


def _declared_by(reading: Reading, which: str) -> list[str]:
    """Cite the event that declared a deadline."""
    record = reading.record
    if which == Deadline.APPROVAL and record.open_approval is not None:
        return [record.open_approval.ref]
    if which == Deadline.INPUT and record.input_request is not None:
        return [record.input_request["ref"]]
    return [record.permission["ref"]] if record.permission else []


# ── what it gives while it runs ─────────────────────────────────────────────────────────────────────────────────────


def progress(reading: Reading) -> Claim | None:
    """Show how far the tool says it is: the furthest point, never less."""
    said = reading.record.progress
    if said is None or not reading.open:
        return None
    percent = said.get("percent")
    current, total = said.get("current"), said.get("total")
    counts = f"{line(current)} of {line(total)}" if current is not None and total is not None else ""
    text = reading.plain(said["text"]) if said.get("text") else counts or (f"{percent} %" if percent is not None else "")
    return claim(text, [said["ref"]], percent=percent if isinstance(percent, int) else None, order=said["order"])
