"""A value can be forgotten: once, by those who may, when nobody needs it any more; the record says so and still verifies."""

from pathlib import Path
from typing import Any

import pytest

import toolwitness as tw
from tests.unit.service.attacks import ANN, EVE, MALLORY, Kind, Stage, a_stage, until_state
from toolwitness.core.errors import UnknownId
from toolwitness.policy.files import ERASERS, read_policy_file
from toolwitness.service import views
from toolwitness.service.seal import KEY_VARIABLE
from toolwitness.service.sealing import open_value

PRIVACY = tw.Actor(id="pia", roles=frozenset({"eraser"}))
READS = {"consequences": [tw.READ_ONLY], "approvers": [], "commitment_boundary": ""}


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


async def paid(stage: Stage, amount: str = "412.50-and-more") -> str:
    """Make a call that has succeeded."""
    return (await stage.task.call(stage.pay, amount=amount)).invocation_id


async def refs_of(stage: Stage, one: str) -> dict[str, str]:
    events = await stage.recorded(one)
    return {name: said["ref"] for e in events for name, said in e.event.data.items() if isinstance(said, dict) and "ref" in said}


@pytest.mark.parametrize(("which", "left"), [("inputs", {"result"}), ("outputs", {"inputs"}), ("all", set())])
async def test_what_is_named_is_forgotten_and_the_rest_stays(which: str, left: set[str]):
    async with a_stage(**READS) as stage:
        one = await paid(stage)
        await stage.desk.erase(one, by=PRIVACY, reason="asked to", which=which)
        kept = {name for name, ref in (await refs_of(stage, one)).items() if await open_value(stage.desk.ledger, ref) is not None}
        assert kept == left | {"policy"}  # by which the call is judged
        assert list(await stage.desk.verify()) == []


async def test_the_record_says_who_erased_what_when_and_why_and_the_card_says_so():
    async with a_stage(**READS) as stage:
        one = await paid(stage)
        ref = (await refs_of(stage, one))["inputs"]
        receipt = await stage.desk.erase(ref, by=PRIVACY, reason="the guest asked us to")
        assert [dict(r.event.data) for r in receipt.recorded] == [{"value_ref": ref, "by": "pia", "reason": "the guest asked us to"}]
        said = str(await views.card(stage.desk.place, one, ANN))
        assert "Erased ⟦2" in said
        assert "by pia: the guest asked us to" in said
        assert "412.50-and-more" not in said.replace("paid 412.50-and-more", "")
        assert "values" not in (await views.document(stage.desk.place, one, ANN))["inputs"]
        assert "was erased" not in str(await stage.desk.tool_messages(stage.task))
        await stage.desk.erase(one, by=PRIVACY, reason="and this", which="outputs")
        assert "was erased" in str(await stage.desk.tool_messages(stage.task))


async def test_a_board_that_has_shown_a_value_shows_it_no_more():
    async with a_stage(**READS) as stage:
        one = await paid(stage)
        app: Any = stage.desk.asgi(authenticate=lambda _: ANN)
        boards = app.live._drawing.boards if hasattr(app.live, "_drawing") and hasattr(app.live._drawing, "boards") else None
        drawn = await views.card(stage.desk.place, one, ANN) if boards is None else await boards.card(one, ANN)
        assert "412.50-and-more" in str(drawn)
        await stage.desk.erase(one, by=PRIVACY, reason="asked to")
        drawn = await views.card(stage.desk.place, one, ANN) if boards is None else await boards.card(one, ANN)
        assert "412.50-and-more" not in str(drawn)


async def test_it_is_done_once_and_the_second_is_told_who_did_it():
    async with a_stage(**READS) as stage:
        one = await paid(stage)
        await stage.desk.erase(one, by=PRIVACY, reason="asked to", which="inputs")
        with pytest.raises(tw.NotPermitted, match=r"erased by pia at .*: asked to") as no:
            await stage.desk.erase(one, by=PRIVACY, reason="again", which="inputs")
        assert no.value.facts["rule"] == "already-erased"
        await stage.desk.erase(one, by=PRIVACY, reason="the rest")
        assert await stage.refused(one) == [("value.erased", "already-erased")]
        assert list(await stage.desk.verify()) == []


@pytest.mark.parametrize("actor", [ANN, EVE, "os:nobody", tw.Actor(id="", roles=frozenset({"eraser"}))])
async def test_only_who_may_erase_does_and_the_refusal_is_on_record(actor: Any):
    async with a_stage(**READS) as stage:
        one = await paid(stage)
        with pytest.raises(tw.NotPermitted):
            await stage.desk.erase(one, by=actor, reason="just so")
        assert [kind for kind, _ in await stage.refused(one)] == ["value.erased"]
        assert await open_value(stage.desk.ledger, (await refs_of(stage, one))["inputs"]) is not None
        assert list(await stage.desk.verify()) == []


async def test_another_tenant_does_not_learn_that_it_is_there():
    async with a_stage(**READS) as stage:
        one = await paid(stage)
        stranger = tw.Actor(id="mallory", roles=frozenset({"eraser"}), tenant=MALLORY.tenant)
        for what in (one, (await refs_of(stage, one))["inputs"]):
            with pytest.raises(UnknownId):
                await stage.desk.erase(what, by=stranger, reason="just so")
        assert await stage.refused(one) == []


async def test_the_policy_file_names_who_may_erase():
    file = read_policy_file('[authority]\nerasers = ["role:privacy", "user:ben"]\n')
    assert (file.erasers, read_policy_file("").erasers) == (("role:privacy", "user:ben"), ERASERS)
    async with a_stage(**READS) as stage:
        stage.desk.place.file = file
        one = await paid(stage)
        with pytest.raises(tw.NotPermitted, match="role:privacy, user:ben"):
            await stage.desk.erase(one, by=PRIVACY, reason="asked to")
        await stage.desk.erase(one, by="ben", reason="asked to")


def test_a_mistake_in_who_may_erase_is_named_with_its_line():
    with pytest.raises(tw.InvalidInput, match=r"line 2.*erasers") as wrong:
        read_policy_file('[authority]\nerasers = ["privacy"]\n')
    assert wrong.value.facts["line"] == 2


async def test_what_an_open_call_needs_is_not_erased():
    async with a_stage() as stage:
        call, one = await stage.asked()
        with pytest.raises(tw.NotPermitted, match="needed until it has ended") as no:
            await stage.desk.erase(one, by=PRIVACY, reason="asked to")
        assert no.value.facts["rule"] == "still-needed"
        await stage.desk.approve(one, by=ANN)
        assert (await call).value == "paid 412.50"
        await stage.desk.erase(one, by=PRIVACY, reason="asked to")
        assert list(await stage.desk.verify()) == []


async def test_what_was_erased_is_not_tried_again():
    async with a_stage(consequences=[tw.READ_ONLY], approvers=[], commitment_boundary="", retry_attempts=3) as stage:

        @stage.desk.tool(consequences=[tw.READ_ONLY], retry_attempts=3)
        async def fail(text: str) -> str:
            raise ValueError(text)

        one = (await stage.task.call(fail, text="gone soon")).invocation_id
        await stage.desk.erase(one, by=PRIVACY, reason="asked to")
        with pytest.raises(tw.NotPermitted, match="can no longer be read"):
            await stage.desk.retry(one, by=ANN)


@pytest.mark.parametrize(("asked", "field"), [({"reason": "  "}, "reason"), ({"reason": "x", "which": "everything"}, "which")])
async def test_a_request_that_says_too_little_is_refused_by_name(asked: dict[str, str], field: str):
    async with a_stage(**READS) as stage:
        with pytest.raises(tw.InvalidInput) as wrong:
            await stage.desk.erase(await paid(stage), by=PRIVACY, **asked)
        assert wrong.value.facts["field"] == field


async def test_what_is_not_there_and_what_judges_the_call_cannot_be_erased():
    async with a_stage(**READS) as stage:
        one = await paid(stage)
        for what in ("inv_none", "val_" + "0" * 32, (await refs_of(stage, one))["policy"]):
            with pytest.raises(UnknownId):
                await stage.desk.erase(what, by=PRIVACY, reason="asked to")


async def test_a_sealed_value_is_forgotten_with_what_was_held_of_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    async with a_stage(redact=["/amount"], **READS) as stage:
        one = await paid(stage)
        ref = (await refs_of(stage, one))["inputs"]
        assert await open_value(stage.desk.ledger, ref) == b'{"amount":"412.50-and-more"}'
        await stage.desk.erase(one, by=PRIVACY, reason="asked to")
        assert await open_value(stage.desk.ledger, ref) is None
        assert await stage.desk.ledger.value(ref) is None
        assert not any(b"412.50" in held for held in stage.desk.place.ledger._held.values())


async def test_the_raw_words_of_a_source_go_with_what_they_hold():
    async with a_stage(**READS) as stage:
        stage.listen_to("acme")
        data = {"tool": "x", "source_request": "m", "proposer": "p"}
        await stage.observe(stage.said(Kind.PROPOSED, "inv_x", data=data, values={"inputs": b'{"a":1}', "raw": b"raw proposal"}))
        await stage.observe(stage.said(Kind.STARTED, "inv_x", data={"attempt": 1, "executor": "thread"}))
        ended = {"completed_at": "2026-11-30T12:00:00Z"}
        await stage.observe(stage.said(Kind.SUCCEEDED, "inv_x", data=ended, values={"result": b"1", "raw": b"raw result"}))
        await until_state(stage.desk, "inv_x", tw.State.SUCCEEDED)
        raws = [one.event.raw_ref for one in await stage.recorded("inv_x", Kind.PROPOSED, Kind.SUCCEEDED)]
        await stage.desk.erase("inv_x", by=PRIVACY, reason="asked to", which="inputs")
        assert [await stage.desk.ledger.value(raw) for raw in raws] == [None, b"raw result"]
        assert list(await stage.desk.verify()) == []


async def test_nothing_of_it_is_left_in_the_files(tmp_path: Path):
    path = tmp_path / "calls.db"
    async with a_stage(str(path), **READS) as stage:
        sizes = [1, 40, 900, 5_000, 60_000]
        texts = [f"forget-{number:03d}-" * size for number, size in enumerate(sizes * 4)]
        calls = [await paid(stage, text) for text in texts]
        for one in calls[::2]:
            await stage.desk.erase(one, by=PRIVACY, reason="asked to")
        kept = bytes_of(path)
        there = [number for number in range(len(texts)) if f"forget-{number:03d}-".encode() in kept]
        assert there == list(range(1, len(texts), 2))
        for one in calls[1::2]:
            await stage.desk.erase(one, by=PRIVACY, reason="asked to")
        assert b"forget-" not in bytes_of(path)
        assert list(await stage.desk.verify()) == []
    assert b"forget-" not in bytes_of(path)
