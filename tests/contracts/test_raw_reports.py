"""Reports in a framework's own words hold, read by the readers that read recordings; and whatever is changed in one is said to be wrong."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.test_reports import CHANGES
from toolwitness.testing.reports import run_report
from toolwitness.testing.reports.raw import KINDS, as_played
from toolwitness.testing.reports.story import read_story

REPORTS = Path(__file__).resolve().parents[2] / "spec" / "cases" / "reports" / "raw"
NAMES = sorted(file.stem for file in REPORTS.glob("*.json"))
Report = dict[str, Any]


def report(name: str) -> Report:
    return json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))


def test_every_kind_that_is_played_has_a_report() -> None:
    told = [json.loads(file.read_text(encoding="utf-8")) for file in REPORTS.parent.glob("[rw]*/*.json")]
    kinds = {as_played(read_story(one), KINDS).kind for one in told if str(one["kind"]).startswith("raw:")}

    assert set(KINDS) - kinds == set()


@pytest.mark.parametrize("name", NAMES)
async def test_the_report_holds(name: str) -> None:
    result = await run_report(report(name))

    assert result.wrong == []
    assert [left for left in result.unchecked if not left.startswith("run:")] == []
    assert result.passed
    assert result.checked


@pytest.mark.parametrize("changed", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", NAMES)
async def test_whatever_is_changed_in_what_a_report_expects_is_said_to_be_wrong(name: str, changed: Any) -> None:
    made = report(name)
    for place in changed(made["expected"]):
        if made == report(name) or len(set(map(str, flags := made["expected"].get("flags", [])))) < len(flags):
            continue  # it was what it was changed to, or another flag says it already
        result = await run_report(copy.deepcopy(made))
        assert [wrong for wrong in result.wrong if place in wrong] or not result.passed, f"{place} changed and nobody noticed"
        assert not result.passed


def items_of(told: Report) -> tuple[str, list[Any]]:
    return next((name, told["input"][name]) for name in ("timeline", "events", "messages") if name in told["input"])


STREAMED = set(KINDS) - {"raw:jsonl", "raw:json-text", "raw:mcp-results"}
FLAGGED = [name for name in NAMES if report(name)["expected"].get("flags") and report(name)["kind"] in STREAMED]


@pytest.mark.parametrize("name", FLAGGED)
async def test_every_flag_falls_when_what_it_hangs_on_is_taken_away(name: str) -> None:
    whole = report(name)
    key, items = items_of(whole)
    fallen: set[str] = set()
    for left_out in [{n} for n in range(len(items))] + [set(range(n, len(items))) for n in range(len(items))]:
        less = copy.deepcopy(whole)
        less["input"][key] = [item for number, item in enumerate(items) if number not in left_out]
        less["input"].pop("provider_observations", None)
        less["expected"] = {"flags": whole["expected"]["flags"]}
        result = await run_report(less)
        fallen |= {wrong.partition(": expected")[0].removeprefix("flags/") for wrong in (*result.wrong, *result.unchecked)}

    assert set(whole["expected"]["flags"]) - fallen == set()


async def test_an_item_that_breaks_its_reader_is_named_and_the_others_are_played() -> None:
    made = report("B08")
    made["input"]["events"].insert(1, {"type": ["no", "text"], "toolCallId": {"a": 1}})

    result = await run_report(made)

    assert result.checked
