"""The reducer's vectors, which the TypeScript twin passes too, and what only Python can be asked."""

import copy
import json
from collections import UserDict
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.core.outcome import apply_tool_result, merge_patch

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parents[3] / "spec" / "outcomes.json").read_text(encoding="utf-8"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_every_vector_gives_its_outcome(vector: dict[str, Any]) -> None:
    prev_state = vector["prevState"]
    untouched = copy.deepcopy(vector)
    expected = dict(vector["expected"])
    preserved = expected.pop("preserved", False)

    actual = apply_tool_result(prev_state, vector["toolResult"], merge=vector.get("merge", "shallow"))

    assert actual == expected
    assert type(actual) is dict
    assert (actual["state"] is prev_state) == (preserved or (prev_state is None and actual["state"] is None))
    assert vector == untouched, "neither the state nor the result was changed"


def test_the_vectors_hold_the_three_tests_of_the_seed_and_no_name_twice() -> None:
    names = [vector["name"] for vector in VECTORS]
    assert names[:3] == [
        "commits on ok result",
        "preserves state on cancelled result (not an error)",
        "does not commit and surfaces error on tool error",
    ]
    assert len(set(names)) == len(names)


def test_what_does_not_commit_gives_back_the_same_object() -> None:
    prev_state = {"items": ["a"], "loading": True}
    results: list[Any] = [{"status": "cancelled"}, {"status": "error"}, {"status": "?"}, {}, None, [], 3]
    for tool_result in results:
        assert apply_tool_result(prev_state, tool_result)["state"] is prev_state


def test_a_commit_gives_a_new_object_and_leaves_the_old_one_alone() -> None:
    prev_state = {"a": 1}
    outcome = apply_tool_result(prev_state, {"status": "ok"})
    assert outcome["state"] == prev_state
    assert outcome["state"] is not prev_state


def test_any_mapping_is_a_result_a_payload_and_a_state() -> None:
    result: Mapping[str, Any] = MappingProxyType({"status": "ok", "payload": UserDict({"b": 2})})
    assert apply_tool_result(MappingProxyType({"a": 1}), result)["state"] == {"a": 1, "b": 2}


def test_the_callers_merge_gets_state_and_payload_and_its_answer_is_the_state() -> None:
    seen: list[tuple[Any, Any]] = []

    def append(state: Any, payload: Mapping[str, Any]) -> Any:
        seen.append((state, payload))
        return [*state, payload["item"]]

    outcome = apply_tool_result(["a"], {"status": "ok", "payload": {"item": "b"}}, merge=append)
    assert outcome == {"commit": True, "state": ["a", "b"], "meta": {"kind": "ok"}}
    assert seen == [(["a"], {"item": "b"})]


def test_the_callers_merge_gets_an_empty_payload_for_an_absent_one() -> None:
    outcome = apply_tool_result({}, {"status": "ok"}, merge=lambda _state, payload: {"got": dict(payload)})
    assert outcome["state"] == {"got": {}}


def test_the_callers_merge_is_not_asked_where_nothing_commits() -> None:
    def never(_state: Any, _payload: Any) -> Any:
        raise AssertionError("asked")

    for tool_result in ({"status": "cancelled"}, {"status": "error"}, {"status": "ok", "payload": 3}, {}, None):
        assert apply_tool_result({}, tool_result, merge=never)["meta"].get("error") != "asked"


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(("error", "message"), [(ValueError("bad shape"), "bad shape"), (_Mute(), "")])
def test_a_merge_that_raises_preserves_the_state_and_is_an_error(error: Exception, message: str) -> None:
    prev_state = {"a": 1}

    def broken(_state: Any, _payload: Any) -> Any:
        raise error

    outcome = apply_tool_result(prev_state, {"status": "ok", "payload": {"a": 2}}, merge=broken)
    expected = {"kind": "error", "error": {"code": "merge_failed", "type": type(error).__name__, "message": message}}
    assert outcome["meta"] == expected
    assert outcome["commit"] is False
    assert outcome["state"] is prev_state


def test_a_merge_that_is_asynchronous_is_refused_without_a_warning() -> None:
    async def later(_state: Any, _payload: Any) -> Any:
        return {}

    outcome = apply_tool_result({"a": 1}, {"status": "ok"}, merge=later)
    assert outcome["meta"]["error"]["code"] == "merge_failed"
    assert outcome["state"] == {"a": 1}


def test_an_interrupt_in_the_callers_merge_is_the_callers_own() -> None:
    def interrupted(_state: Any, _payload: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply_tool_result({}, {"status": "ok"}, merge=interrupted)


@pytest.mark.parametrize("prev_state", [[1], "text", 7])
def test_a_shallow_merge_into_what_is_not_an_object_does_not_lose_it(prev_state: Any) -> None:
    outcome = apply_tool_result(prev_state, {"status": "ok", "payload": {"a": 1}})
    assert outcome["meta"]["error"]["code"] == "merge_failed"
    assert outcome["state"] is prev_state


def test_a_merge_that_does_not_exist_is_an_error_and_not_an_exception() -> None:
    outcome = apply_tool_result({"a": 1}, {"status": "ok"}, merge="deep")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] -- a typing error is what is tested
    assert outcome["meta"]["error"]["message"] == "There is no merge strategy 'deep'."


class _Hostile(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(key)

    def __iter__(self) -> Any:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError


def test_a_result_that_cannot_be_read_preserves_the_state() -> None:
    prev_state = {"a": 1}
    outcome = apply_tool_result(prev_state, _Hostile())
    assert outcome["meta"] == {"kind": "invalid_tool_result", "message": "Tool result could not be read"}
    assert outcome["state"] is prev_state


def test_a_payload_that_cannot_be_read_preserves_the_state() -> None:
    prev_state = {"a": 1}
    for merge in ("shallow", "merge_patch", "replace"):
        outcome = apply_tool_result(prev_state, {"status": "ok", "payload": _Hostile()}, merge=merge)
        assert outcome["meta"]["error"]["code"] == "merge_failed"
        assert outcome["state"] is prev_state


def test_a_merge_patch_carries_untouched_parts_over_as_the_same_objects() -> None:
    prev_state: dict[str, Any] = {"a": {"deep": [1]}, "b": {"x": 1}}
    state = apply_tool_result(prev_state, {"status": "ok", "payload": {"b": {"x": 2}}}, merge="merge_patch")["state"]
    assert state["a"] is prev_state["a"]
    assert prev_state["b"] == {"x": 1}


@given(JSON, JSON)
def test_a_merge_patch_applied_twice_is_applied_once(target: Any, patch: Any) -> None:
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once


@given(
    JSON,
    JSON,
    st.sampled_from(["ok", "cancelled", "error", "?", 0, None]),
    st.sampled_from(["shallow", "merge_patch", "replace"]),
)
def test_no_result_makes_it_raise_and_only_ok_commits(state: Any, payload: Any, status: Any, merge: Any) -> None:
    before = copy.deepcopy((state, payload))
    outcome = apply_tool_result(state, {"status": status, "payload": payload}, merge=merge)
    assert outcome["commit"] == (outcome["meta"]["kind"] == "ok")
    assert outcome["commit"] or outcome["state"] is state
    assert not outcome["commit"] or status == "ok"
    assert (state, payload) == before


@given(JSON)
def test_whatever_a_tool_returns_the_reducer_answers(anything: Any) -> None:
    prev_state = object()
    outcome = apply_tool_result(prev_state, anything)
    assert set(outcome) == {"commit", "state", "meta"}
    assert outcome["state"] is prev_state
