"""What is secret reaches the tool and nobody else: no file, event, document, page, answer, stream, log line or message."""

import asyncio
import base64
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolwitness as tw
from tests.unit.service.attacks import ANN, Kind, a_stage, until_state
from toolwitness.contract.envelope import encode_recorded
from toolwitness.core.values import MARKER, SEALED_MEDIA, Redacted
from toolwitness.presentation.terminal import draw_card
from toolwitness.presentation.terminal_text import ALL, Screen
from toolwitness.service import views
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.seal import KEY_VARIABLE, read_keys
from toolwitness.service.sealing import SealedLedger, open_value

SECRET = "hunter2-hunter2"
CARD = "4111111111111111"
SCREEN = Screen(opened=frozenset({ALL}))


def a_key(number: int = 1) -> str:
    return base64.b64encode(bytes([number]) * 32).decode()


@pytest.fixture(params=["a key", "no key"])
def keyed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run with a key and without one."""
    monkeypatch.setenv(KEY_VARIABLE, a_key() if request.param == "a key" else "")
    return str(request.param)


def bytes_of(path: Path) -> bytes:
    """Give every byte of a ledger's files, its write-ahead log included."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def spellings(secret: str) -> set[str]:
    return {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1]}


async def everything_shown(desk: tw.Desk, task: Any) -> str:
    """Give whatever anybody can be shown of a task: events, values, documents, cards, the terminal and the model's next turn."""
    events = await desk.ledger.read()
    told = [json.dumps(encode_recorded(recorded), ensure_ascii=False) for recorded in events]
    for recorded in events:
        refs = [said["ref"] for said in recorded.event.data.values() if isinstance(said, dict) and "ref" in said]
        told += [((await desk.ledger.value(ref)) or b"").decode("utf-8", "backslashreplace") for ref in refs]
    for record in (await desk.ledger.task(task.id)).records.values():
        told.append(json.dumps(await views.document(desk.place, record.id, ANN), ensure_ascii=False))
        card = await views.card(desk.place, record.id, ANN)
        told += [json.dumps(card, ensure_ascii=False), draw_card(card, SCREEN)]
    for form in ("openai", "anthropic", "langchain"):
        told.append(json.dumps(await desk.tool_messages(task, form), ensure_ascii=False))
    told.append(json.dumps(await views.task_card(desk.place, task.id, ANN), ensure_ascii=False))
    return "\n".join(told)


@asynccontextmanager
async def a_desk(path: Path | str = "memory:", **options: Any):
    async with tw.open(str(path), sweep_seconds=3600, **options) as desk:
        yield desk


@pytest.mark.usefixtures("keyed")
async def test_no_secret_is_anywhere_but_in_the_body(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    got: list[Any] = []
    path = tmp_path / "calls.db"
    async with a_desk(path) as desk:

        @desk.tool(consequences=[tw.READ_ONLY], redact=["/guests/*/passport"], redact_outputs=["/door"])
        async def check_in(password: str, guests: list[dict[str, str]], how: str) -> dict[str, Any]:
            got.append((password, guests))
            tw.progress(f"signed in with {password}", percent=10)
            tw.effect_observed("sign-in", reference=password, recipient=guests[0]["passport"])
            await tw.emit({"token": CARD, "said": password})
            if how == "raise":
                raise ValueError(f"{password!r} and {guests!r} were refused")
            return {"door": CARD, "echo": [password, {"p": guests[0]["passport"]}], "n": 1}

        guests = [{"name": "Ann", "passport": "P-998877"}]
        async with desk.task("Check in") as task:
            for how in ("return", "raise"):
                outcome = await task.call(check_in, password=SECRET, guests=guests, how=how, purpose=f"use {SECRET}")
                if how == "return":
                    assert outcome.value == {"door": CARD, "echo": [SECRET, {"p": "P-998877"}], "n": 1}
        assert got == [(SECRET, guests)] * 2
        shown = await everything_shown(desk, task)
        assert [s for s in (SECRET, CARD, "P-998877") if s in shown] == []
        assert "Ann" in shown
        assert list(await desk.verify()) == []
        assert not [s for s in (SECRET, CARD, "P-998877") if s.encode() in bytes_of(path)]
    assert not [s for s in (SECRET, CARD, "P-998877") if s.encode() in bytes_of(path)]
    assert not [s for s in (SECRET, CARD, "P-998877") if s in caplog.text]


SECRETS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=6, max_size=16).map(lambda text: f"Zq9{text}")


PLACES = st.lists(st.sampled_from(["name", "deep", "list"]), min_size=3, max_size=3)


@given(secrets=st.lists(SECRETS, min_size=1, max_size=3, unique=True), where=PLACES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_random_secret_is_in_the_files_or_in_anything_shown(
    secrets: list[str], where: list[str], tmp_path_factory: pytest.TempPathFactory
):
    path = tmp_path_factory.mktemp("sealed") / "calls.db"
    value: dict[str, Any] = {"plain": "stays"}
    for number, (secret, place) in enumerate(zip(secrets, where, strict=False)):
        value[f"box{number}"] = {
            "name": {"api_key": secret, "note": f"with {secret} inside"}, "deep": {"a": {"b": secret}}, "list": [1, {"b": secret}],
        }[place]  # fmt: skip  # places in lines

    async def story() -> tuple[str, bytes]:
        async with a_desk(path) as desk:

            @desk.tool(consequences=[tw.READ_ONLY], redact=["/value/*/a/b", "/value/*/*/b"])
            async def take(value: dict[str, Any]) -> dict[str, Any]:
                tw.progress(f"has {json.dumps(value)}")
                if len(secrets) == 2:
                    raise KeyError(*secrets)
                return {"all": json.dumps(value), "again": secrets}

            async with desk.task("Take it") as task:
                await task.call(take, value=value)
            assert list(await desk.verify()) == []
            return await everything_shown(desk, task), bytes_of(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, a_key() if len(secrets) % 2 else "")
        shown, kept = asyncio.run(story())
    kept += bytes_of(path)
    assert "stays" in shown
    for secret in secrets:
        assert not [one for one in spellings(secret) if one in shown]
        assert not [one for one in spellings(secret) if one.encode("utf-8", "surrogatepass") in kept]


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def one_call(path: Path, *, approve: str = "no") -> str:
    """Propose a call with a secret that waits for an approval, and leave."""
    async with a_desk(path) as desk:
        take = a_tool(desk, [])
        async with desk.task("Pay") as task:
            call = task.call(take, password=SECRET)
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
            ref = (await desk.record(one)).inputs["ref"]
    return f"{one} {ref}"


def a_tool(desk: tw.Desk, got: list[str]) -> Any:
    @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
    async def take(password: str) -> str:
        got.append(password)
        return "taken"

    return take


async def test_a_key_that_was_turned_still_opens_and_the_new_one_seals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "calls.db"
    monkeypatch.setenv(KEY_VARIABLE, a_key(1))
    _, old = (await one_call(path)).split()
    monkeypatch.setenv(KEY_VARIABLE, f"{a_key(2)}, {a_key(1)}")
    _, new = (await one_call(path)).split()
    async with a_desk(path) as desk:
        assert [json.loads(await open_value(desk.ledger, ref)) for ref in (old, new)] == [{"password": SECRET}] * 2
    monkeypatch.setenv(KEY_VARIABLE, a_key(2))
    async with a_desk(path) as desk:
        assert json.loads(await open_value(desk.ledger, new)) == {"password": SECRET}
        with pytest.raises(tw.NotPermitted, match=KEY_VARIABLE):
            await open_value(desk.ledger, old)
        assert list(await desk.verify()) == []


@pytest.mark.usefixtures("keyed")
async def test_what_is_approved_elsewhere_runs_where_it_is_held(tmp_path: Path):
    path, got = tmp_path / "calls.db", list[str]()
    async with a_desk(path) as here, a_desk(path) as elsewhere:
        take = a_tool(here, got)
        async with here.task("Pay") as task:
            call = task.call(take, password=SECRET)
            one = await call.invocation_id()
            await until_state(here, one, tw.State.AWAITING_APPROVAL)
            await elsewhere.approve(one, by=ANN)
            assert ((await call).value, got) == ("taken", [SECRET])


async def test_without_a_key_a_restart_is_said_and_nothing_runs_on_a_marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    path, got = tmp_path / "calls.db", list[str]()
    one, ref = (await one_call(path)).split()
    assert SECRET.encode() not in bytes_of(path)
    async with a_desk(path) as desk:
        a_tool(desk, got)
        assert json.loads(await desk.ledger.value(ref)) == {"password": {MARKER: "named password"}}
        for act in (desk.submit(one), desk.edit_inputs(one, {"password": {MARKER: "named password"}}, by=ANN)):
            with pytest.raises(tw.NotPermitted, match="never written down") as no:
                await act
            assert no.value.facts["rule"] == "sealed"
        assert got == []
        assert list(await desk.verify()) == []


async def test_a_seal_that_cannot_be_opened_where_it_would_run_is_a_reason_and_no_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_VARIABLE, a_key())
    async with a_stage() as stage:
        got: list[str] = []
        take = a_tool(stage.desk, got)
        call = stage.task.call(take, password=SECRET)
        one = await stage.awaited(call, tw.State.AWAITING_APPROVAL)
        await stage.desk.edit_inputs(one, {"password": SECRET + "!"}, by=ANN)  # so that it is read back from the record
        assert isinstance(stage.desk.place.ledger, SealedLedger)
        stage.desk.place.ledger._keys.clear()
        await stage.desk.approve(one, by=ANN)
        outcome = await call
        assert (outcome.kind, got) == ("error", [])
        assert KEY_VARIABLE in outcome.why
        refused = (await stage.recorded(one, Kind.REFUSED))[-1].event.data
        assert (refused["rule"], SECRET in str(refused)) == ("sealed", False)


@pytest.mark.parametrize("text", ["hunter2", "c2hvcnQ=", f"{a_key()},nonsense!", "=" * 44])
def test_a_key_that_is_none_is_named_by_its_place_and_never_repeated(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_VARIABLE, text)
    with pytest.raises(tw.InvalidInput, match=KEY_VARIABLE) as wrong:
        tw.open("memory:")
    assert wrong.value.facts["field"] == KEY_VARIABLE
    assert not [part for part in text.split(",") if part in str(wrong.value)]


def test_a_key_without_the_package_that_seals_is_said_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_VARIABLE, a_key())
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(tw.InvalidInput, match=r"toolwitness\[seal\]"):
        tw.open("memory:")


async def test_what_was_never_written_down_is_kept_in_memory_up_to_a_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setattr("toolwitness.service.sealing._MOST_BYTES", 100)
    async with a_stage(redact=["/amount"]) as stage:
        refs = [(await stage.desk.record(await stage.proposed("4" * 60))).inputs["ref"] for _ in range(3)]
        with pytest.raises(tw.NotPermitted, match="never written down"):
            await open_value(stage.desk.ledger, refs[0])
        assert await open_value(stage.desk.ledger, refs[2]) is not None


async def test_a_call_is_compared_with_an_earlier_one_by_what_may_be_shown_where_its_seal_does_not_open(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_VARIABLE, a_key())
    async with a_stage(consequences=[tw.FINANCIAL], approvers=[], standing_authorization="", commitment_boundary="") as stage:
        got: list[str] = []

        @stage.desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def take(password: str, seat: str) -> str:
            got.append(password)
            raise TimeoutError("nobody knows")

        for number in range(2):
            call = stage.task.call(take, password=SECRET, seat="1A")
            one = await call.invocation_id()
            if number == 0:
                await until_state(stage.desk, one, tw.State.AWAITING_APPROVAL)
                await stage.desk.approve(one, by=ANN)
                await call
                ledger: Any = stage.desk.place.ledger
                ledger._keys.clear()
            else:
                assert (await stage.desk.record(one)).proposal.get("linked_by") == "same-purpose"
                await stage.desk.withdraw(one, by=ANN)
        assert got == [SECRET]


def test_a_key_is_read_in_either_base64_and_does_not_show_itself():
    secret = bytes(range(224, 256))
    plain, url = base64.b64encode(secret).decode(), base64.urlsafe_b64encode(secret).decode().rstrip("=")
    one, other = read_keys(f"{plain}\n{url}")
    assert one.id == other.id
    assert secret.hex()[:8] not in repr(one) + one.id
    assert read_keys("  ") == ()


# ── the seal itself ─────────────────────────────────────────────────────────────────────────────────────────────────


def changes(envelope: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Change an envelope in each way in which somebody could who can write the file."""
    yield envelope | {"shown": envelope["shown"].replace("declared", "DECLARED")}
    yield envelope | {"hidden": []}
    yield envelope | {"box": base64.b64encode(b"\0" * 40).decode()}
    yield envelope | {"of": envelope["of"] | {"task": "task_other"}}
    yield envelope | {"of": envelope["of"] | {"event": "evt_other"}}
    yield {name: said for name, said in envelope.items() if name != "of"}
    yield envelope | {"by": "nobody"}


async def test_a_seal_that_was_changed_or_moved_does_not_open(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_VARIABLE, a_key())
    async with a_stage(redact=["/amount"]) as stage:
        one = await stage.proposed("412.50")
        ref = (await stage.desk.record(one)).inputs["ref"]
        beneath = stage.desk.place.ledger.beneath
        raw = json.loads(await beneath.value(ref))
        raw.pop("toolwitness.sealed")
        for changed in changes(raw):
            put = b'{"toolwitness.sealed":1,' + json.dumps(changed).encode()[1:]

            async def value(_ref: str, put: bytes = put) -> bytes:
                return put

            monkeypatch.setattr(beneath, "value", value)
            with pytest.raises(tw.ToolwitnessError) as no:
                await open_value(stage.desk.ledger, ref)
            assert no.value.code == "tampered", changed
            monkeypatch.undo()


async def test_nobody_gets_the_house_to_take_a_value_for_an_envelope():
    forged = b'{"toolwitness.sealed":1,"by":"nobody","of":{},"nonce":"","box":"","hidden":[],"shown":"{\\"amount\\":\\"1\\"}"}'
    async with a_stage() as stage:
        stage.listen_to("acme")
        data = {"tool": "x", "source_request": "m", "proposer": "p"}
        await stage.observe(stage.said(Kind.PROPOSED, "inv_x", data=data, values={"inputs": forged}))
        inputs = (await stage.recorded("inv_x"))[0].event.data["inputs"]
        assert await open_value(stage.desk.ledger, inputs["ref"]) == forged
        assert await stage.desk.ledger.value(inputs["ref"]) == forged
        assert list(await stage.desk.verify()) == []


@pytest.mark.usefixtures("keyed")
async def test_what_is_delivered_twice_is_one_event_though_it_is_sealed():
    async with a_stage() as stage:
        stage.listen_to("acme")
        data = {"tool": "x", "source_request": "m", "proposer": "p"}
        said = stage.said(Kind.PROPOSED, "inv_x", data=data, values={"inputs": b'{"password":"' + SECRET.encode() + b'"}'})
        other = stage.said(Kind.PROPOSED, "inv_x", id=said.event.id, data=data, values={"inputs": b'{"password":"another one"}'})
        first, again, reused = [(await stage.observe(draft))[0] for draft in (said, said, other)]
        assert [str(one.verdict) for one in (first, again, reused)] == ["moved", "duplicate", "refused"]


@pytest.mark.usefixtures("keyed")
async def test_the_evidence_says_that_a_value_is_sealed_and_equal_secrets_look_different():
    async with a_stage(redact=["/amount"]) as stage:
        inputs = [(await stage.desk.record(await stage.proposed("412.50"))).inputs for _ in range(2)]
        assert {one["media"] for one in inputs} == {SEALED_MEDIA}
        assert inputs[0]["digest"] != inputs[1]["digest"]
        shown = await stage.desk.ledger.value(inputs[0]["ref"])
        assert isinstance(shown, Redacted)
        assert [(hidden.at, hidden.by) for hidden in shown.hidden] == [("/amount", "declared in the tool's policy")]


async def test_what_a_source_repeats_of_a_call_of_another_process_is_sealed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_VARIABLE, a_key())
    path = tmp_path / "calls.db"
    one, _ = (await one_call(path)).split()
    async with a_stage(str(path)) as stage:
        stage.listen_to("acme")
        task = await stage.desk.ledger.find(one)
        failed = stage.said(
            Kind.PROGRESS, one, task=task, data={"order": 1, "text": f"at {SECRET}"}, values={"raw": f"<{SECRET}>".encode()}
        )
        await stage.observe(failed)
        said = (await stage.recorded(one, Kind.PROGRESS))[0].event
        assert said.data["text"] == "at [redacted]"
        assert await stage.desk.ledger.value(said.raw_ref) == b"<[redacted]>"
        assert SECRET.encode() not in bytes_of(path)


# ── editing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

MARK = {MARKER: "named password"}


@pytest.mark.usefixtures("keyed")
async def test_an_edit_that_leaves_a_redacted_part_as_it_is_keeps_the_value():
    async with a_stage() as stage:
        got: list[Any] = []

        @stage.desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def take(login: dict[str, Any], password: str, seat: str) -> str:
            got.append((login, password, seat))
            return "taken"

        inputs = json.dumps({"login": {"user": "ann", "password": SECRET, "n": 1}, "password": SECRET, "seat": "1A"}).encode()
        one = await propose(
            stage.desk.place, stage.task.id, Proposal(tool=take.__name__, inputs=inputs, source_request="m", proposer="planner")
        )  # fmt: skip  # one call
        card = await views.card(stage.desk.place, one, ANN)
        fields = {f["name"]: f for c in card["controls"] if c["action"] == "edit_inputs" for f in c["fields"]}
        assert ["kept" in fields[name]["label"] for name in ("login", "password", "seat")] == [True, True, False]
        given = {name: json.loads(field["value"]) for name, field in fields.items()} | {"seat": "2B"}
        given["login"]["user"] = "bob"
        await stage.click(one, "edit_inputs", ANN, fields=given)
        await stage.desk.approve(one, by=ANN)
        await until_state(stage.desk, one, tw.State.SUCCEEDED)
        assert got == [({"user": "bob", "password": SECRET, "n": 1}, SECRET, "2B")]
        assert SECRET not in await everything_shown(stage.desk, stage.task)


@pytest.mark.parametrize(("fields", "why"), [
    ({"password": MARK}, "Nothing was changed"),
    ({"seat": MARK}, "none stands there"),
    ({"seat": "2B", "other": {"password": MARK}}, "none stands there"),
])  # fmt: skip  # a table
async def test_a_marker_that_keeps_nothing_is_refused(fields: dict[str, Any], why: str):
    async with a_stage() as stage:
        take = a_tool(stage.desk, [])
        call = stage.task.call(take, password=SECRET)
        one = await stage.awaited(call, tw.State.AWAITING_APPROVAL)
        with pytest.raises(tw.InvalidInput, match=why):
            await stage.desk.edit_inputs(one, fields, by=ANN)
        await stage.desk.deny(one, by=ANN)


async def test_a_secret_goes_to_no_other_tool_by_an_edit():
    async with a_stage() as stage:
        take = a_tool(stage.desk, [])
        one = await stage.awaited(stage.task.call(take, password=SECRET), tw.State.AWAITING_APPROVAL)
        with pytest.raises(tw.InvalidInput, match="none stands there"):
            await stage.desk.edit_inputs(one, {"amount": MARK}, by=ANN, tool="pay")
        await stage.desk.deny(one, by=ANN)


async def test_a_model_that_sends_a_marker_back_is_asked_for_the_value_and_nothing_runs():
    async with a_stage(consequences=[tw.READ_ONLY], approvers=[], commitment_boundary="") as stage:
        got: list[Any] = []

        @stage.desk.tool(consequences=[tw.READ_ONLY])
        async def take(password: Any) -> str:
            got.append(password)
            return "taken"

        call = stage.task.call(take, password=MARK)
        one = await stage.awaited(call, tw.State.AWAITING_INPUT)
        asked = (await stage.desk.record(one)).input_request
        assert (list(asked["unresolved"]), got) == (["password"], [])
        await stage.desk.supply_input(one, {"password": SECRET}, by=ANN)
        assert ((await call).value, got) == ("taken", [SECRET])


# ── a tool that changes what it gets ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["async", "thread", "stream", "raises", "returns it"])
async def test_a_body_that_changes_its_arguments_changes_no_evidence(how: str):
    async with a_stage() as stage:

        def change(basket: dict[str, Any]) -> None:
            basket["items"].append("changed")
            basket.clear()
            basket["password"] = "changed as well"

        reads = {"consequences": [tw.READ_ONLY]}
        if how == "thread":

            @stage.desk.tool(**reads)
            def take(basket: dict[str, Any]) -> str:
                change(basket)
                return "taken"
        elif how == "stream":

            @stage.desk.tool(**reads)
            async def take(basket: dict[str, Any]) -> Any:
                yield dict(basket)
                change(basket)
                yield basket
        else:

            @stage.desk.tool(**reads)
            async def take(basket: dict[str, Any]) -> Any:
                change(basket)
                if how == "raises":
                    raise ValueError("no")
                return basket

        mine = {"items": ["a"], "password": SECRET, "n": 1}
        call = stage.task.call(take, basket=mine)
        outcome = await call
        record = await stage.desk.record(outcome.invocation_id)
        stands = json.loads(await open_value(stage.desk.ledger, record.inputs["ref"]))
        assert stands == {"basket": {"items": ["a"], "password": SECRET, "n": 1}}
        assert list(await stage.desk.verify()) == []
        assert SECRET not in await everything_shown(stage.desk, stage.task)
