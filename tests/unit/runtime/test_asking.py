"""What the functions of a tool that read the world say when they break: never more than may stand in the record for ever."""

import json

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import a_desk
from toolwitness.policy.provider import Attempt, Happened
from toolwitness.runtime.asking import ask, look
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.submit import submit

KEY = "sk-live-0123456789abcdef"
ATTEMPT = Attempt(invocation_id="inv_1", task_id="task_1", tool="pay", attempt=1, inputs={}, idempotency_key="tw-inv_1")


def leaky(*_: object, **_more: object) -> None:
    raise LookupError(f"https://api.test/accounts?key={KEY} answers 503")


async def test_the_text_of_an_exception_is_not_what_is_said_of_a_look_or_of_an_answer():
    seen = await look({}, target=leaky, quote=leaky)
    said = await ask(leaky, ATTEMPT)

    assert dict(seen.failures) == {"target": "it raised LookupError", "price": "it raised LookupError"}
    assert (said.happened, said.detail) == (Happened.UNKNOWN, "the tool's reconcile function failed: it raised LookupError")


async def test_a_function_that_wants_to_say_why_says_it_by_name():
    def closed() -> None:
        raise tw.InvalidInput("The registry is closed on Sundays.", remedy="Ask on Monday.")

    assert (await look({}, target=closed, quote=None)).failures == {"target": "The registry is closed on Sundays. Ask on Monday."}


@pytest.mark.parametrize("policy", [{"target": leaky}, {"quote": leaky}])
async def test_a_key_in_such_an_exception_reaches_no_event_and_no_model(policy: dict[str, object]):
    async with a_desk() as desk:

        @desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"], **policy)
        async def pay() -> None: ...

        async with desk.task("Pay") as task:
            one = await propose(desk.place, task.id, Proposal(tool="pay", inputs=b"{}", source_request="m", proposer="p"))
            await submit(desk.place, one)
            kept = [repr(recorded) for recorded in await desk.ledger.read()] + [json.dumps(await desk.tool_messages(task))]
            assert (await desk.record(one)).permission is not None
            assert [text for text in kept if KEY in text] == []
            assert any("it raised LookupError" in text for text in kept)
