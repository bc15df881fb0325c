"""Provider ids repeat, within a message and across turns; every call is an occurrence of its own."""

from hypothesis import given
from hypothesis import strategies as st

from toolwitness.wire.correlation import Correlator, Occurrence


def test_an_id_used_in_two_turns_means_two_calls() -> None:
    correlator = Correlator()
    first = correlator.open("run-1", "call_1")
    correlator.close(first)
    second = correlator.open("run-1", "call_1")
    assert (first.number, second.number) == (1, 2)
    assert first.key != second.key
    assert correlator.latest("run-1", "call_1") == second


def test_an_id_twice_in_one_message_is_answered_in_order() -> None:
    correlator = Correlator()
    first, second = (correlator.open("run-1", "call_1") for _ in range(2))
    assert correlator.open_calls("run-1", "call_1") == (first, second)
    assert correlator.answering("run-1", "call_1") == first
    correlator.close(first)
    assert correlator.answering("run-1", "call_1") == second
    correlator.close(second)
    assert correlator.answering("run-1", "call_1") == second, "a late repeat belongs to the latest"


def test_the_same_id_in_two_runs_means_two_calls() -> None:
    correlator = Correlator()
    assert correlator.open("run-1", "call_1") != correlator.open("run-2", "call_1")
    assert correlator.open("run-1", "call_1").number == 2


def test_a_missing_or_empty_id_is_counted_by_position() -> None:
    correlator = Correlator()
    assert correlator.open("run-1", None) == Occurrence(run_id="run-1", provider_call_id="", number=1)
    assert correlator.open("run-1", "").key == "#2"


def test_an_id_that_nobody_opened_means_no_call() -> None:
    correlator = Correlator()
    assert correlator.latest("run-1", "call_1") is None
    assert correlator.answering("run-1", "call_1") is None
    assert correlator.open_calls("run-1", "call_1") == ()


def test_closing_twice_or_closing_a_stranger_changes_nothing() -> None:
    correlator = Correlator()
    first = correlator.open("run-1", "a")
    second = correlator.open("run-1", "a")
    for occurrence in (first, first, Occurrence(run_id="x", provider_call_id="a", number=1)):
        correlator.close(occurrence)
    assert correlator.open_calls("run-1", "a") == (second,)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", "1", "2"]))))
def test_no_two_calls_share_an_occurrence(calls: list[tuple[str, str]]) -> None:
    correlator = Correlator()
    opened = [correlator.open(run_id, provider_call_id) for run_id, provider_call_id in calls]
    assert len({(occurrence.run_id, occurrence.key) for occurrence in opened}) == len(calls)
