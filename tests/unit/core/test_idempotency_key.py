"""One key over all attempts of a call, whatever is retried, replaced or edited; another call has another."""

from hypothesis import given
from hypothesis import strategies as st

from toolwitness.core.lineage import idempotency_key
from toolwitness.core.record import InvocationRecord


def a_call(number: int, tool: str = "pay", **back: str) -> InvocationRecord:
    made = InvocationRecord(id=f"inv_{number:03}", task_id="task_1")
    made.proposal = {"tool": tool, **back}
    return made


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["retry", "replace", "new", "edit", "other tool"])), max_size=30))
def test_over_any_sequence_of_steps_calls_share_a_key_exactly_where_they_are_attempts_of_one(steps: list[tuple[int, str]]):
    records = {"inv_000": a_call(0)}
    first_of = {"inv_000": "inv_000"}
    for number, (chosen, step) in enumerate(steps, start=1):
        before = list(records.values())[chosen % len(records)]
        match step:
            case "retry":
                made = a_call(number, before.tool, retry_of=before.id)
            case "replace":
                made = a_call(number, before.tool, replaces=before.id)
            case "other tool":
                made = a_call(number, f"{before.tool}+", replaces=before.id)
            case "edit":
                before.inputs = {"ref": f"val_{number}"}
                continue
            case _:
                made = a_call(number)
        records[made.id] = made
        first_of[made.id] = first_of[before.id] if step in {"retry", "replace"} else made.id
    keys = {name: idempotency_key(record, records) for name, record in records.items()}

    assert keys == {name: f"tw-{first}" for name, first in first_of.items()}


def test_a_retry_whose_first_attempt_is_not_on_record_has_a_key_of_its_own_chain():
    known = a_call(2, retry_of="inv_gone")
    later = a_call(3, retry_of=known.id)
    records = {record.id: record for record in (known, later)}

    assert {idempotency_key(record, records) for record in records.values()} == {"tw-inv_002"}


def test_a_circle_that_a_mistaken_source_draws_has_one_key():
    one, two, three = a_call(1, retry_of="inv_003"), a_call(2, retry_of="inv_001"), a_call(3, replaces="inv_002")
    records = {record.id: record for record in (one, two, three)}

    assert {idempotency_key(record, records) for record in records.values()} == {"tw-inv_001"}
