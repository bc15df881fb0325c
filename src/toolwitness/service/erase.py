"""Have values forgotten: bytes, shown copy and salt are gone, and who wanted that, when and why stays on record.

What an open call still needs is not forgotten: it would run with something else, or nobody could say with what it ran.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput, UnknownId
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL
from toolwitness.core.verdicts import Actor, PolicyVerdict, Verdict
from toolwitness.policy.retry import body_may_run
from toolwitness.policy.tool_policy import objection_to
from toolwitness.ports import Draft, Recorded
from toolwitness.service.boards import no_invocation
from toolwitness.service.sealing import POLICY_VALUE
from toolwitness.service.workplace import Receipt, Refusal, Situation, Workplace, carry_out, make_draft, read, require

WHICH: Final = ("inputs", "outputs", "all")
"""What can be named of a call: what went in, what came out, or both."""
_VALUE: Final = "val_"
_AT_A_TIME: Final = 5_000
_OF_INPUTS: Final = frozenset({
    Kind.PROPOSED, Kind.STARTED, Kind.INPUT_REQUIRED, Kind.INPUT_SUPPLIED, Kind.INPUTS_ACCEPTED, Kind.INPUTS_EDITED, Kind.INPUTS_REJECTED,
})  # fmt: skip  # kinds in lines
"""Events whose values are inputs, the source's own text of them included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A value that an event of a call refers to."""

    ref: str
    which: str


async def erase(place: Workplace, what: str, *, actor: Actor, reason: str, which: str = "all") -> Receipt:
    """Have the values of an invocation, or one value by its reference, forgotten, once; the record says so and still verifies.

    ``which`` is ``inputs``, ``outputs`` or ``all``; a reference names one value whatever it is.

    Raises:
        InvalidInput: no reason was given, or ``which`` is none of these.
        NotPermitted: not theirs to erase, still needed, or nothing is left; the refused act is on record.
        UnknownId: nothing of the actor's tenant is recorded under this id.
    """
    if which not in WHICH:
        raise InvalidInput(f"{which!r} names nothing that can be erased.", field="which", remedy=f"Use {', '.join(WHICH)}.")
    if not reason.strip():
        raise InvalidInput("No reason was given.", field="reason", remedy="Say why it is erased; that stays on record.")
    invocation_id = await _call_of(place, what) if what.startswith(_VALUE) else what
    if (await read(place, invocation_id)).record.tenant != actor.tenant:
        raise no_invocation(what)
    events = await place.ledger.read(invocation_id=invocation_id)
    named = [kept.ref for kept in _kept(events) if (kept.ref == what if what.startswith(_VALUE) else which in {"all", kept.which})]
    if what.startswith(_VALUE) and not named:
        raise UnknownId(f"{what} holds a policy, by which the call is judged.", field="value", remedy="Name inputs or outputs.")
    before = {str(one.event.data.get("value_ref")): one for one in events if _erases(one)}
    left = [ref for ref in dict.fromkeys(named) if ref not in before]

    def decide(situation: Situation) -> list[Draft]:
        acts = [_act(place, situation, ref, actor, reason) for ref in left or named[:1]]
        first = acts[0] if acts else None
        require(_may_erase(place, situation.record, actor), first)
        require(_not_needed(situation.record), first)
        if not left:
            raise Refusal(_nothing_left(which, before.get(named[0]) if named else None), first)
        return acts

    return await carry_out(place, invocation_id, decide)


def _act(place: Workplace, situation: Situation, ref: str, actor: Actor, reason: str) -> Draft:
    facts = {"value_ref": ref, "by": actor.id, "reason": reason}
    return make_draft(place, situation.record, Kind.VALUE_ERASED, facts, once_key=f"erase:{ref}")


def _may_erase(place: Workplace, record: InvocationRecord, actor: Actor) -> PolicyVerdict:
    if not actor.id:
        return PolicyVerdict(allowed=False, rule="actor", reason="nobody is signed in: a decision without an actor is no decision")
    why = objection_to(actor, place.file.erasers, proposer=str(record.proposal.get("proposer") or ""))
    return PolicyVerdict(allowed=not why, rule="eraser", reason=why or f"{actor.id} may have values forgotten")


def _not_needed(record: InvocationRecord) -> PolicyVerdict:
    """Say whether anybody can still need the values of a call: to run it, to see it end, or to find out what it did."""
    settled = Code.OUTCOME_UNKNOWN in record.findings and bool(record.reconciliations)
    if record.state not in TERMINAL and not settled:
        state = record.state or "not proposed yet"
        return PolicyVerdict(allowed=False, rule="still-needed", reason=f"the call is {state}: what it holds is needed until it has ended")
    if body_may_run(record):
        return PolicyVerdict(allowed=False, rule="still-needed", reason="its body may still run: reconcile what it did first")
    return PolicyVerdict(allowed=True, rule="ended", reason="the call has ended")


def _nothing_left(which: str, earlier: Recorded | None) -> PolicyVerdict:
    if earlier is None:
        of = "values" if which == "all" else which
        return PolicyVerdict(allowed=False, rule="nothing-to-erase", reason=f"nothing is recorded of its {of}")
    said = earlier.event.data
    at = earlier.event.time or earlier.recorded_time
    return PolicyVerdict(allowed=False, rule="already-erased", reason=f"erased by {said.get('by')} at {at}: {said.get('reason')}")


def _erases(recorded: Recorded) -> bool:
    return recorded.event.kind == Kind.VALUE_ERASED and recorded.verdict is not Verdict.REFUSED


def _kept(events: Sequence[Recorded]) -> Iterator[_Kept]:
    """Name the values of a call; its policy is none of them, since the call is judged by it."""
    for recorded in events:
        which = "inputs" if recorded.event.kind in _OF_INPUTS else "outputs"
        for name, ref in _refs(recorded.event):
            if name != POLICY_VALUE:
                yield _Kept(ref=ref, which="inputs" if name == "inputs" else which)


def _refs(event: Event) -> Iterator[tuple[str, str]]:
    """Give the values that lie beside an event by their names, and the one that holds its source's own text."""
    for name, said in event.data.items():
        if isinstance(said, Mapping) and str(cast("Mapping[str, Any]", said).get("ref", "")).startswith(_VALUE):
            yield name, str(cast("Mapping[str, Any]", said)["ref"])
    if event.raw_ref.startswith(_VALUE):
        yield "raw", event.raw_ref


async def _call_of(place: Workplace, ref: str) -> str:
    """Find the call whose event refers to a value.

    Raises:
        UnknownId: no call's event does.
    """
    after = 0
    while batch := await place.ledger.read(after=after, limit=_AT_A_TIME):
        for recorded in batch:
            if recorded.event.invocation_id is not None and any(found == ref for _, found in _refs(recorded.event)):
                return recorded.event.invocation_id
        after = batch[-1].position
    raise UnknownId(f"No call refers to a value {ref!r}.", field="value", remedy="Copy the reference from `toolwitness show ID --json`.")
