"""Several people answer one request: each counts once, and only enough of them grant it."""

from tests.unit.core.builders import event, record_of
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.states import State


def asked(**more: object) -> tuple[object, ...]:
    """A call whose approval takes two people, as far as the request says so."""
    return (
        event(
            Kind.PROPOSED, tool="pay", inputs={"ref": "val_1", "digest": "d", "bytes": 2}, source_request="m", proposer="agent",
            policy_version="p",
        ),
        event(
            Kind.APPROVAL_REQUESTED, approval_id="apr_1", consequence_summary="pays", authority="finance", authorization_owner="policy",
            scope="one call", **more,
        ),
    )  # fmt: skip  # facts in lines


def granted(actor: str) -> object:
    return event(Kind.GRANTED, actor=actor, approval_id="apr_1")


def test_one_of_two_is_not_enough_and_the_same_person_again_is_refused():
    record = record_of(*asked(needed=2), granted("ann"), granted("ann"))

    assert record.approval is not None
    assert (record.granted, record.approval.lacking, [one.actor for one in record.approval.agreed]) == (False, 1, ["ann"])
    assert record.ungranted is record.approval
    assert Code.DECISION_REFUSED in record.findings
    assert Code.APPROVED_NOT_QUEUED not in record.findings


def test_the_second_person_grants_it():
    record = record_of(*asked(needed=2), granted("ann"), granted("bob"))

    assert record.approval is not None
    assert record.approval.answer is not None
    assert (record.granted, record.approval.answer.actor, record.approval.lacking) == (True, "bob", 0)
    assert record.state is State.AWAITING_APPROVAL


def test_a_request_that_says_nothing_readable_of_it_takes_one():
    for needed in (1, 0, -3):
        record = record_of(*asked(needed=needed), granted("ann"))
        assert record.granted
    assert record_of(*asked(needed=True)).approval is None, "true is no number of people, and a malformed request is no request"
