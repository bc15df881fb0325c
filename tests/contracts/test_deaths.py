"""``kill -9`` at every step between an approval and what ends the call: what ran ran once, and the card says what is known and what is not.

The victim kills itself at the very append of one kind of evidence, so that the moment is exact. Whatever stands on record after it was
acknowledged to somebody and must be there still; whatever does not stand there may have happened all the same, and the card says so.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import toolwitness as tw
from tests.contracts.field import Field, a_field
from tests.unit.bootstrap.desks import until
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.verdicts import Verdict
from toolwitness.presentation.terminal import draw_card
from toolwitness.presentation.terminal_text import EVIDENCE, Glyphs, Screen, ink_for
from toolwitness.service import views

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))


@dataclass(frozen=True, kw_only=True)
class Death:
    """Where a process dies, and what is so afterwards."""

    step: str
    bodies: int
    """How many bodies have run when everything is over."""
    state: tw.State
    unknown: str = "yes"
    """``yes`` where nobody can know how it ended."""
    says: tuple[str, ...] = ()
    """What the card says."""
    never: tuple[str, ...] = ()
    """What it must not say."""


_LOST = ("Nobody knows how it ended", "may have finished, failed, or still run")
_UNENDED = (*_LOST, "No end recorded")
_WAITING, _QUEUED, _RUNNING, _SUCCEEDED = tw.State.AWAITING_APPROVAL, tw.State.QUEUED, tw.State.RUNNING, tw.State.SUCCEEDED
DEATHS = (
    Death(step="after approval.granted", bodies=1, state=_SUCCEEDED, unknown="no", says=("Succeeded",), never=_LOST),
    Death(step="before dispatch.claimed", bodies=1, state=_SUCCEEDED, unknown="no", says=("Succeeded",), never=_LOST),
    Death(step="after dispatch.claimed", bodies=0, state=_WAITING, says=_LOST, never=("Queued as", "Started", "Succeeded")),
    Death(step="before dispatch.accepted", bodies=0, state=_WAITING, says=_LOST, never=("Queued as", "Started", "Succeeded")),
    Death(step="after dispatch.accepted", bodies=0, state=_QUEUED, says=(*_LOST, "Queued as"), never=("Started", "Succeeded")),
    Death(step="before execution.started", bodies=0, state=_QUEUED, says=(*_LOST, "Queued as"), never=("Started", "Succeeded")),
    Death(step="after execution.started", bodies=0, state=_RUNNING, says=(*_UNENDED, "Started"), never=("Succeeded",)),
    Death(step="in the body", bodies=1, state=_RUNNING, says=(*_UNENDED, "Started"), never=("Succeeded",)),
    Death(step="before execution.succeeded", bodies=1, state=_RUNNING, says=(*_UNENDED, "Started"), never=("Succeeded",)),
    Death(step="after execution.succeeded", bodies=1, state=_SUCCEEDED, unknown="no", says=("Succeeded",), never=_LOST),
)


async def card_of(field: Field, one: str) -> str:
    """Draw the card as a person in a terminal sees it, as one line of words."""
    screen = Screen(
        width=100, ink=ink_for("1", term=None), glyphs=Glyphs.UNICODE, zone=UTC, now=datetime.now(UTC), opened=frozenset({EVIDENCE})
    )  # fmt: skip  # facts in lines
    return re.sub(r"\s+", " ", draw_card(await views.card(field.desk.place, one, ANN), screen))


async def until_known(field: Field, one: str) -> None:
    """Wait until the call has ended, or it is on record that nobody knows how."""

    async def there() -> bool:
        record = await field.desk.record(one)
        return record.state in {tw.State.SUCCEEDED, tw.State.CANCELLED} or Code.OUTCOME_UNKNOWN in record.findings

    await until(there, patience_seconds=30)


async def nothing_ran_twice_or_was_lost(field: Field, one: str, before: list[Any]) -> None:
    """Hold what really ran, and what was on record when the process died, against what is on record now."""
    claims = await field.count(one, Kind.CLAIMED, Verdict.NOTED)
    assert field.ran()["a"] <= claims <= 1
    now = await field.desk.ledger.read(invocation_id=one)
    assert [(recorded.position, recorded.hash) for recorded in now[: len(before)]] == [
        (recorded.position, recorded.hash) for recorded in before
    ]
    assert await field.desk.verify() == []


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: death.step)
async def test_a_process_that_is_killed_leaves_at_most_one_body_and_a_card_that_says_what_is_known(tmp_path: Path, death: Death):
    async with a_field(tmp_path) as field:
        victim = await field.child("victim", tool="yes", step=death.step)
        one = await victim.do("call", tool="send", key="a", task=field.task)
        assert await victim.do("approve", id=one) in (None, one)
        assert await victim.answer() is None
        assert await victim.end() == -9
        before = list(await field.desk.ledger.read(invocation_id=one))
        survivors = await field.children(("first", "yes", "never"), ("second", "yes", "never"))
        await until_known(field, one)
        record = await field.desk.record(one)
        assert (record.state, Code.OUTCOME_UNKNOWN in record.findings) == (death.state, death.unknown == "yes")
        assert await field.count(one, Kind.LOST) == (death.unknown == "yes")
        for child in survivors:
            for act in ("claim", "retry", "approve"):
                assert "refused" in await child.do(act, id=one)
        assert field.ran()["a"] == death.bodies
        await nothing_ran_twice_or_was_lost(field, one, before)
        drawn, document = await card_of(field, one), await views.document(field.desk.place, one, ANN)
        assert [words for words in death.says if words not in drawn] == []
        assert [words for words in death.never if words in drawn] == []
        assert document["state"] == death.state
        codes = {found["code"] for found in document["findings"]}
        assert ("outcome-unknown" in codes) == (death.unknown == "yes")
        if death.unknown == "yes":
            await field.desk.reconcile(one, "no-effect", by=ANN)
            assert Code.OUTCOME_UNKNOWN not in (await field.desk.record(one)).findings
            assert (await field.desk.record(one)).state is death.state


@pytest.mark.parametrize(
    ("step", "state", "unknown"),
    [
        ("before cancellation.acknowledged", tw.State.RUNNING, "yes"),
        ("after cancellation.acknowledged", tw.State.CANCELLED, "no"),
    ],
)
async def test_a_process_that_is_killed_as_its_body_stops_acknowledges_only_what_it_could_record(
    tmp_path: Path, step: str, state: tw.State, unknown: str
):
    async with a_field(tmp_path) as field:
        victim = await field.child("victim", tool="yes", step=step)
        one = await victim.do("call", tool="wait", key="a", task=field.task)
        await field.desk.approve(one, by=ANN)
        await field.until(one, tw.State.RUNNING)
        await field.desk.request_cancellation(one, by=ANN)
        assert await victim.answer() is None
        assert await victim.end() == -9
        before = list(await field.desk.ledger.read(invocation_id=one))
        await field.child("survivor", tool="yes")
        await until_known(field, one)
        record = await field.desk.record(one)
        assert (record.state, Code.OUTCOME_UNKNOWN in record.findings) == (state, unknown == "yes")
        assert (Code.CANCEL_UNACKNOWLEDGED in record.findings) == (unknown == "yes")
        drawn = await card_of(field, one)
        if unknown == "yes":
            assert "Nobody knows how it ended" in drawn
            assert "Cancellation requested" in drawn
            assert "until its executor confirms" in drawn
            assert "□" not in drawn, "a request is drawn as its acknowledgement"
        else:
            assert "Nobody knows how it ended" not in drawn
        assert field.ran()["a"] == 1
        await nothing_ran_twice_or_was_lost(field, one, before)


async def test_a_process_that_is_killed_between_an_edit_and_its_submit_leaves_a_call_that_any_other_takes_further(tmp_path: Path):
    async with a_field(tmp_path) as field:
        victim = await field.child("victim", tool="declared", step="after inputs.edited")
        one = await victim.do("call", tool="send", key="a", task=field.task)
        assert await victim.do("edit", id=one, **{"with": {"key": "b"}}) is None
        assert await victim.end() == -9
        assert (await field.desk.record(one)).state is tw.State.PROPOSED
        await field.child("survivor", tool="yes")
        await field.until(one, tw.State.AWAITING_APPROVAL)
        await field.desk.approve(one, by=ANN)
        await field.until(one, tw.State.SUCCEEDED)
        assert field.ran() == {"b": 1}
