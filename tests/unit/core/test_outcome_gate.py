"""The gate's vectors, which the TypeScript twin passes too, and what only Python can be asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwitness.core.errors import InvalidInput
from toolwitness.core.result_gate import RequestToken, ToolResultGate

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parents[3] / "spec" / "gate.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_every_vector_gives_its_outcomes(vector: dict[str, Any]) -> None:
    gate = ToolResultGate(vector["state"], version=vector["version"], merge=vector.get("merge", "shallow"))
    for step in vector["steps"]:
        if "begin" in step:
            gate.begin(step["begin"], step.get("baseVersion"))
        elif "release" in step:
            gate.release(step["release"])
        else:
            before = gate.state
            outcome = gate.apply(step["toolResult"], request_id=step["apply"], base_version=step.get("baseVersion"))
            actual = {
                "commit": outcome["commit"],
                "kind": outcome["meta"]["kind"],
                "state": outcome["state"],
                "version": gate.version,
            }
            assert actual == step["expected"]
            assert gate.state is outcome["state"]
            assert outcome["commit"] or outcome["state"] is before


def ok(**payload: Any) -> dict[str, Any]:
    return {"status": "ok", "payload": payload}


def test_a_token_that_was_made_up_owns_nothing() -> None:
    gate = ToolResultGate({})
    token = gate.begin("a")
    forged = RequestToken("a", 0)
    assert gate.apply(ok(n=1), request_id="a", token=forged)["meta"] == {"kind": "not_owner", "request_id": "a"}
    assert gate.apply(ok(n=1), request_id="a", token=token)["commit"] is True


def test_a_token_of_a_released_request_does_not_own_the_next_one_of_that_id() -> None:
    gate = ToolResultGate({})
    old = gate.begin("a")
    gate.release("a")
    new = gate.begin("a")
    assert gate.apply(ok(n=1), request_id="a", token=old)["meta"]["kind"] == "not_owner"
    assert gate.apply(ok(n=2), request_id="a", token=new)["state"] == {"n": 2}


def test_beginning_again_gives_the_same_token_and_another_base_is_refused() -> None:
    gate = ToolResultGate({}, version=4)
    token = gate.begin("a")
    assert gate.begin("a", 4) is token
    with pytest.raises(InvalidInput, match="begun on version 4, not 3") as caught:
        gate.begin("a", 3)
    assert caught.value.facts["field"] == "request_id"


def test_a_duplicate_repeats_the_first_answer() -> None:
    gate = ToolResultGate({"n": 0})
    gate.begin("a")
    first = gate.apply({"status": "error", "error": "x"}, request_id="a")
    again = gate.apply({"status": "error", "error": "x"}, request_id="a")
    assert again["meta"] == {"kind": "duplicate", "request_id": "a", "answer": first["meta"]}


def test_a_stale_result_says_on_which_version_it_rested() -> None:
    gate = ToolResultGate({})
    gate.begin("a")
    gate.begin("b")
    gate.apply(ok(n=1), request_id="b")
    expected = {"kind": "stale", "request_id": "a", "base_version": 0, "version": 1}
    assert gate.apply(ok(n=2), request_id="a")["meta"] == expected


def test_the_callers_merge_is_not_asked_for_a_stale_result() -> None:
    asked: list[Any] = []

    def merge(_state: Any, payload: Any) -> Any:
        asked.append(payload)
        return payload

    gate = ToolResultGate({}, merge=merge)
    gate.begin("a")
    gate.apply(ok(n=1), request_id="a", base_version=9)
    assert asked == []


def test_a_result_changed_after_it_was_applied_is_still_compared_with_what_it_was() -> None:
    gate = ToolResultGate({})
    gate.begin("a")
    result = ok(n=1)
    gate.apply(result, request_id="a")
    result["payload"]["n"] = 2
    assert gate.apply(result, request_id="a")["meta"]["kind"] == "conflicting_result"


def test_a_forgotten_request_owns_nothing() -> None:
    gate = ToolResultGate({}, keep=1)
    for request_id in ("a", "b"):
        gate.begin(request_id)
        gate.apply({"status": "cancelled"}, request_id=request_id)
    assert gate.apply(ok(n=1), request_id="a")["meta"]["kind"] == "not_owner"
    assert gate.apply(ok(n=1), request_id="b")["meta"]["kind"] == "conflicting_result"


def test_results_without_a_json_form_do_not_make_it_raise() -> None:
    gate = ToolResultGate({})
    loop: list[Any] = []
    loop.append(loop)
    for number, result in enumerate((loop, object(), {1: 2, "a": 3}, {"status": "cancelled", "reason": {1, 2}})):
        gate.begin(f"r{number}")
        first = gate.apply(result, request_id=f"r{number}")["meta"]["kind"]
        assert first in {"invalid_tool_result", "unknown_status", "cancelled"}
        assert gate.apply(result, request_id=f"r{number}")["meta"]["kind"] == "duplicate"
