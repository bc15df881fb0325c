"""What holds after every event, whatever is said, decided and claimed in whatever order."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.core.builders import INVOCATION, event, governed, value
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, TERMINAL, InvocationId, Origin, Reconciliation, State
from toolwitness.core.transitions import TABLE
from toolwitness.core.verdicts import Verdict

APPROVALS = st.sampled_from(["apr_1", "apr_2"])
INPUTS = st.sampled_from(["a", "b"])


def _proposal(policy: str, dangerous: str) -> Event:
    return event(Kind.PROPOSED, policy_version=policy, consequences=[dangerous], inputs=value("a"))


HAPPENINGS: st.SearchStrategy[Event] = st.one_of(
    st.builds(_proposal, st.sampled_from(["", "1"]), st.sampled_from(["read-only", "destructive"])),
    st.builds(lambda name: event(Kind.APPROVAL_REQUESTED, approval_id=name), APPROVALS),
    st.builds(lambda kind, name: event(kind, approval_id=name), st.sampled_from([Kind.GRANTED, Kind.DENIED]), APPROVALS),
    st.builds(lambda name: event(Kind.APPROVAL_INVALIDATED, approval_id=name), APPROVALS),
    st.builds(lambda name: event(Kind.INPUTS_ACCEPTED, inputs=value(name)), INPUTS),
    st.builds(lambda permit: event(Kind.CLAIMED, permit=permit), st.sampled_from(["prm_1", "prm_2"])),
    st.builds(
        lambda kind, origin: event(Kind.CLOSED, kind=kind, origin=origin),
        st.sampled_from(["denied", "dismissed", "withdrawn", "answered-by-human"]),
        st.sampled_from(Origin),
    ),
    st.builds(
        lambda termination, origin: event(Kind.CANCEL_ACKNOWLEDGED, termination=termination, origin=origin),
        st.sampled_from(["unwound", "confirmed", "perhaps"]),
        st.sampled_from(Origin),
    ),
    st.builds(lambda which: event(Kind.DEADLINE_ELAPSED, deadline=which), st.sampled_from(["input", "approval", "queue_start", "result"])),
    st.builds(lambda support: event(Kind.STARTED, cancel_support=support), st.sampled_from(["task", "thread"])),
    st.builds(lambda order: event(Kind.OUTPUT, order=order), st.integers(0, 3)),
    st.sampled_from([
        Kind.INPUT_REQUIRED, Kind.PERMITTED, Kind.REFUSED, Kind.ACCEPTED, Kind.HEARTBEAT, Kind.PART_COMPLETED, Kind.COMMITTED, Kind.EFFECT,
        Kind.SUCCEEDED, Kind.FAILED, Kind.LOST, Kind.CANCEL_REQUESTED, Kind.WITHDRAWN, Kind.RESULT_REJECTED, Kind.RECONCILED,
    ]).map(event),
)  # fmt: skip  # kinds in lines


OPENINGS = st.sampled_from([
    [],
    [governed()],
    [governed(), event(Kind.APPROVAL_REQUESTED)],
    [governed(), event(Kind.APPROVAL_REQUESTED), event(Kind.GRANTED)],
    [governed(), event(Kind.CLAIMED), event(Kind.STARTED)],
])  # fmt: skip  # one beginning a line


@settings(max_examples=300)
@given(OPENINGS, st.lists(HAPPENINGS, max_size=30))
def test_these_things_are_true_after_every_event(opening: list[Event], happenings: list[Event]) -> None:
    record = InvocationRecord(InvocationId(INVOCATION))
    for one in [*opening, *happenings]:
        before, claimed, waiting, ungranted = record.state, record.claim, record.input_request, record.ungranted
        granted_for = record.approval.inputs if record.approval else record.inputs
        judgement = judge(record, one)
        moved = judgement.verdict is Verdict.MOVED

        # A state moves by a row and by nothing else, and never once it is terminal (R1, R4).
        assert (judgement.row is not None) == moved
        if moved and judgement.row is not None:
            assert (judgement.row.state, judgement.row.next) == (before, record.state)
            assert TABLE[judgement.row.state, judgement.row.kind, judgement.row.condition] is judgement.row
        else:
            assert record.state is before
        assert before not in TERMINAL or record.state is before

        # One decision, one dispatch (R6).
        if record.claim is not claimed:
            assert claimed is None
            assert (ungranted, waiting) == (None, None)
            assert before in BEFORE_DISPATCH | {State.QUEUED}
            assert not record.starts
            assert granted_for == record.inputs
        assert sum(approval.answer is None for approval in record.approvals) <= 1

        # Cancelled has the evidence of the owner of its phase, and what is closed after dispatch was terminated (R3, R5).
        assert (record.closure is not None) == (record.state is State.CANCELLED)
        assert (record.outcome is not None) == (record.state in {State.SUCCEEDED, State.FAILED})
        assert bool(record.elapsed) == (record.state is State.EXPIRED)
        if record.closure is not None and record.closure.termination is None:
            assert record.claim is None

        # Nothing that was seen at work is said to be not executed, and nothing is claimed while something is open.
        assert not record.seen_at_work or record.reconciliation is not Reconciliation.NOT_EXECUTED
        if record.state in TERMINAL:
            assert record.needs_reconciliation == (record.reconciliation is Reconciliation.REQUIRED)
            assert record.deadlines == {}
            assert not record.waits_for_person
        if record.open_cancellation is not None:
            assert record.state not in TERMINAL or record.still_running
