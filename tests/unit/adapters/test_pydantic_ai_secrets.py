"""Secrets and changed arguments under the real pydantic-ai: the tool gets what the model gave, the record says what that was."""

from typing import Any

import pytest

import toolwitness as tw
from tests.unit.adapters.test_pydantic_ai_recorder import agent_of, desk, records, scripted, values
from toolwitness.core.states import State
from toolwitness.core.values import MARKER
from toolwitness.service.sealing import open_value

__all__ = ["desk"]

SECRET = "hunter2-hunter2"


@pytest.mark.parametrize("how", ["async", "thread", "raises"])
async def test_a_tool_that_changes_its_arguments_changes_no_evidence(desk: tw.Desk, how: str) -> None:
    got: list[str] = []

    def change(basket: dict[str, Any]) -> str:
        got.append(basket["password"])
        basket["items"] = ["changed"]
        basket["password"] = "changed as well"
        if how == "raises":
            raise ValueError(f"{SECRET} was refused")
        return f"took {SECRET}"

    async def take(basket: dict[str, Any]) -> str:
        return change(basket)

    def take_in_a_thread(basket: dict[str, Any]) -> str:
        return change(basket)

    tool, name = (take_in_a_thread, "take_in_a_thread") if how == "thread" else (take, "take")
    given = {"basket": {"items": ["a"], "password": SECRET}}
    agent = agent_of(desk, scripted([(name, given, "c1")], "done"), tool)
    if how == "raises":
        with pytest.raises(ValueError, match="refused"):
            await agent.run("Take it")
    else:
        await agent.run("Take it")

    record = (await records(desk))["c1"]
    assert record.state is (State.FAILED if how == "raises" else State.SUCCEEDED)
    assert got == [SECRET]
    for said in filter(None, (record.inputs, record.executed_inputs)):
        assert (await values(desk, said))["basket"] == {"items": ["a"], "password": {MARKER: "named password"}}
        assert SECRET.encode() in (await open_value(desk.ledger, said["ref"]) or b"")
    shown = [str(dict(recorded.event.data)) for recorded in await desk.ledger.read()]
    refs = [said["ref"] for r in await desk.ledger.read() for said in r.event.data.values() if isinstance(said, dict) and "ref" in said]
    shown += [str(await desk.ledger.value(ref)) for ref in refs]
    assert [text for text in shown if SECRET in text] == []
    assert await desk.verify() == []
