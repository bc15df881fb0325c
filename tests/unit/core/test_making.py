"""Records that a maker makes are the very records that their constructors make."""

from dataclasses import FrozenInstanceError

import pytest

from toolwitness.core.entries import Move
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.making import maker
from toolwitness.core.states import EvidenceRef, Owner, State
from toolwitness.core.transitions import Basis

REF = EvidenceRef("ev_1")


def test_a_made_record_equals_a_constructed_one_and_is_of_the_same_type() -> None:
    expected = Move(None, State.PROPOSED, Basis.EXPECTED, "proposal", REF, "")
    actual = maker(Move)(None, State.PROPOSED, Basis.EXPECTED, "proposal", REF, "")
    assert (type(actual), actual, hash(actual), repr(actual)) == (Move, expected, hash(expected), repr(expected))


def test_a_maker_knows_the_defaults_and_shares_no_container() -> None:
    make = maker(Event)
    first, second = (make(kind=Kind.STARTED, source="s", id="1", task_id="t", owner=Owner.RUNTIME) for _ in range(2))
    assert first == Event(kind=Kind.STARTED, source="s", id="1", task_id="t", owner=Owner.RUNTIME)
    assert first.data is not second.data


def test_a_made_record_is_frozen() -> None:
    made = maker(Move)(None, State.PROPOSED, Basis.EXPECTED, "proposal", REF, "")
    with pytest.raises(FrozenInstanceError):
        made.row = "other"  # type: ignore[misc]  # that is what is tested


def test_a_maker_takes_what_the_constructor_takes_and_nothing_else() -> None:
    with pytest.raises(TypeError):
        maker(Event)(kind=Kind.STARTED)  # type: ignore[call-arg]  # as above
