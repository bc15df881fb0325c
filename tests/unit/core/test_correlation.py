"""What a call is called by its source: known from its proposal, and from whatever came where no proposal did."""

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.invocation import fold
from toolwitness.core.states import Owner

CALLED = [{"source": "wire", "provider_call_id": "c1", "occurrence": 1}]


def event(kind: Kind, number: int, **data: object) -> Event:
    return Event(kind=kind, source="capture:a", id=f"row:{number}", task_id="task_1", invocation_id="inv_1", owner=Owner.RUNTIME, data=data)


def proposal(number: int, **data: object) -> Event:
    return event(Kind.PROPOSED, number, tool="book", inputs={"ref": "val_1"}, source_request="run 1", proposer="model", **data)


def test_a_result_without_a_proposal_says_which_call_it_answers() -> None:
    record = fold("inv_1", [event(Kind.SUCCEEDED, 1, completed_at="row 1", result={"ref": "val_2"}, correlation=CALLED)])

    assert record.correlation == CALLED


def test_a_proposal_without_a_correlation_leaves_what_was_known() -> None:
    record = fold("inv_1", [event(Kind.SUCCEEDED, 1, completed_at="row 1", result={"ref": "val_2"}, correlation=CALLED), proposal(2)])

    assert record.correlation == CALLED


def test_what_comes_after_the_proposal_does_not_rename_the_call() -> None:
    other = [{"source": "wire", "provider_call_id": "c2"}]
    record = fold("inv_1", [proposal(1, correlation=CALLED), event(Kind.STARTED, 2, attempt=1, executor="a thread", correlation=other)])

    assert record.correlation == CALLED
