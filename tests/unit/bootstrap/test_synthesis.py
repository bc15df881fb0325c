"""The call that sums a task up, and inputs that are called as a word of ours."""

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import ANN, a_desk, until_state
from toolwitness.service import views

READS = {"consequences": [tw.READ_ONLY]}


async def test_the_synthesis_is_named_by_the_task_and_is_no_child_beside_it() -> None:
    async with a_desk() as desk:
        search, summarise = desk.tool(name="search", **READS)(lambda: "found"), desk.tool(name="summarise", **READS)(lambda: "in short")
        async with desk.task("Compare the routes") as trip:
            found = trip.call(search)
            summed_up = await trip.synthesis(summarise, depends_on=[found])
            document = await views.task_document(desk.place, trip.id, ANN)
        task = document["task"]
        assert task["synthesisInvocationId"] == summed_up.invocation_id
        assert task["requiredChildren"] == [await found.invocation_id()]
        assert task["state"] == "succeeded"


async def test_a_task_is_not_complete_before_its_synthesis_is() -> None:
    async with a_desk() as desk:
        search = desk.tool(name="search", **READS)(lambda: "found")
        ask = desk.tool(name="ask", approvers=["role:finance"], consequences=[tw.EXTERNALLY_VISIBLE])(lambda: "asked")
        async with desk.task("Compare the routes") as trip:
            await trip.call(search)
            waiting = await trip.synthesis(ask).invocation_id()
            await until_state(desk, waiting, tw.State.AWAITING_APPROVAL)
            document = await views.task_document(desk.place, trip.id, ANN)
        assert (document["task"]["state"], document["task"]["unresolvedChildren"]) == ("partially_complete", [waiting])


async def test_a_retried_synthesis_is_the_same_one_and_a_second_one_does_not_take_its_place() -> None:
    async with a_desk() as desk:
        tries: list[str] = []

        @desk.tool(retry_attempts=2, retry_categories=["flaky"], **READS)
        async def summarise() -> str:
            tries.append("once")
            if len(tries) == 1:
                raise tw.ToolFailure("flaky", "The writer was tired.", retryable="yes")
            return "in short"

        async with desk.task("Compare the routes") as trip:
            first = await trip.synthesis(summarise)
            again = (await desk.retry(first.invocation_id, by=ANN)).record.id
            await until_state(desk, again, tw.State.SUCCEEDED)
            await trip.synthesis(summarise)
            document = await views.task_document(desk.place, trip.id, ANN)
        assert document["task"]["synthesisInvocationId"] == first.invocation_id
        assert (await desk.record(again)).proposal["role"] == "synthesis"


async def test_an_input_that_is_called_as_a_word_of_ours_is_given_apart_and_never_mistaken() -> None:
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def grant_leave(purpose: str, days: int) -> str:
            return f"{days} days for {purpose}"

        async with desk.task("Plan the year") as year:
            outcome = await year.call(grant_leave, purpose="Ask for leave", inputs={"purpose": "a wedding"}, days=2)
            assert outcome.value == "2 days for a wedding"
            assert outcome.record.proposal["purpose"] == "Ask for leave"
            with pytest.raises(
                tw.InvalidInput, match=r"'grant_leave' has a parameter 'purpose', which is also a word of task\.call"
            ) as caught:
                await year.call(grant_leave, purpose="a wedding", days=2)
        assert caught.value.facts["field"] == "purpose"
        assert "inputs" in caught.value.remedy
