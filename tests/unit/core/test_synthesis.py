"""Which call sums a task up: named beforehand, or the first that was proposed as such."""

from tests.unit.core.builders import event, record_of, task_of
from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.task import SYNTHESIS, synthesis_of


def proposed(name: str, **proposal: object) -> InvocationRecord:
    return record_of(event(Kind.PROPOSED, **proposal), invocation=f"inv_{name}")


FLIGHT, SUMMARY, SECOND = proposed("flight"), proposed("summary", role=SYNTHESIS), proposed("second", role=SYNTHESIS)
AGAIN = proposed("again", role=SYNTHESIS, retry_of="inv_summary")
OPENED = event(Kind.TASK_OPENED)


def names(*records: InvocationRecord) -> dict[str, InvocationRecord]:
    return {record.id: record for record in records}


def test_a_task_has_no_synthesis_where_nobody_said_so() -> None:
    assert synthesis_of(task_of(OPENED), names(FLIGHT)) == ""


def test_the_first_that_was_proposed_in_the_role_is_the_synthesis() -> None:
    assert synthesis_of(task_of(OPENED), names(FLIGHT, SUMMARY, SECOND)) == "inv_summary"


def test_a_retry_of_the_synthesis_belongs_to_it() -> None:
    assert synthesis_of(task_of(OPENED), names(AGAIN, SUMMARY)) == "inv_summary"


def test_what_the_task_named_when_it_was_opened_stands_whatever_is_proposed_later() -> None:
    assert synthesis_of(task_of(event(Kind.TASK_OPENED, synthesis="inv_named")), names(SUMMARY)) == "inv_named"


def test_a_role_of_another_word_says_nothing() -> None:
    assert synthesis_of(task_of(OPENED), names(proposed("other", role="decoration"))) == ""
