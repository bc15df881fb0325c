"""Values live apart from evidence (R12): nothing that a caller, a person or a tool handed over stands in the hashed bytes of an event."""

import pytest

import toolwitness as tw
from tests.unit.service.attacks import ANN, EVE, Kind, a_stage, until_state
from toolwitness.ledger.prepare import encode

SECRET = "hunter2-hunter2"


async def said(stage) -> bytes:
    """Give every byte that the chain hashes."""
    return b"\n".join(encode(recorded.event) for recorded in await stage.desk.ledger.read())


async def test_no_input_output_result_or_error_text_enters_the_chain():
    async with a_stage() as stage:

        @stage.desk.tool(consequences=[tw.READ_ONLY])
        async def leaky(password: str, row: int) -> int:
            await tw.emit(password)
            if row == 1:
                raise ValueError(password)
            return password if row == 2 else row  # type: ignore[return-value]  # the result does not fit, and is kept

        await stage.task.call(leaky, password=SECRET, row=1)
        await stage.task.call(leaky, password=SECRET, row=2)
        call = stage.task.call(leaky, password=SECRET, row=SECRET)
        one = await stage.awaited(call, tw.State.AWAITING_INPUT)
        await stage.desk.supply_input(one, {"row": {"also": SECRET}}, by=ANN)
        await stage.desk.supply_input(one, {"row": 3}, by=ANN)
        assert (await call).value == 3
        assert SECRET.encode() not in await said(stage)


async def test_no_edit_and_no_refused_edit_enters_the_chain_and_no_request_shows_what_it_covers():
    async with a_stage(scope=["amount"]) as stage:
        call, one = await stage.asked(SECRET)
        await stage.desk.edit_inputs(one, {"amount": SECRET + "!"}, by=EVE)
        await stage.desk.approve(one, by=ANN)
        await call
        with pytest.raises(tw.NotPermitted):
            await stage.desk.edit_inputs(one, {"amount": SECRET}, by=ANN)
        assert (await stage.approval(one)).data["facts"]["fields"] == ["amount"]
        assert SECRET.encode() not in await said(stage)


async def test_equal_inputs_have_digests_that_do_not_tell_so():
    async with a_stage() as stage:
        digests = [(await stage.desk.record(await stage.proposed("1.00"))).inputs["digest"] for _ in range(2)]
        assert digests[0] != digests[1]


async def test_what_a_stranger_brings_is_a_value_too():
    async with a_stage() as stage:
        stage.listen_to("acme")
        data = {"tool": "x", "source_request": "m", "proposer": "p"}
        await stage.observe(stage.said(Kind.PROPOSED, "inv_x", data=data, values={"inputs": SECRET.encode()}))
        await until_state(stage.desk, "inv_x", tw.State.PROPOSED)
        assert SECRET.encode() not in await said(stage)
