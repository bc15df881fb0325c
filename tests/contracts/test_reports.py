"""Every report that ships is played at our desk and holds; and the runner can fail: whatever is changed in a report, it says so."""

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolwitness.testing.reports import Result, run_report
from toolwitness.testing.reports.flags import FLAGS, parts_of

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "spec" / "cases" / "reports"
NAMES = sorted(file.stem for file in REPORTS.glob("*.json"))
Report = dict[str, Any]


def report(name: str) -> Report:
    return json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))


async def results(changed: Report) -> Result:
    return await run_report(changed)


def test_there_are_reports() -> None:
    assert len(NAMES) >= 14


@pytest.mark.parametrize("name", NAMES)
async def test_the_report_holds(name: str) -> None:
    result = await results(report(name))
    assert (result.wrong, result.unchecked, result.passed) == ([], [], True)
    assert result.checked


# ── it can fail ─────────────────────────────────────────────────────────────────────────────────────────────────────


def expectations(expected: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a report expects in the end, and at its checkpoints."""
    yield expected
    yield from expected.get("checkpoints", [])


def with_other_states(expected: dict[str, Any]) -> Iterator[str]:
    for place in expectations(expected):
        for key in ("states", "task"):
            for name, state in list(place.get(key, {}).items()):
                place[key][name] = "queued" if state != "queued" else "running"
                yield f"{key}/{name}"
                place[key][name] = state


def with_other_decisions(expected: dict[str, Any]) -> Iterator[str]:
    for seq, verdict in list(expected.get("decisions", {}).items()):
        for other in ("accepted", "not-a-decision", "rejected:scope-not-shown", "duplicate-of:1", "recorded-after-expiry:approve"):
            if other != verdict:
                expected["decisions"][seq] = other
                yield f"decisions/{seq}"
        expected["decisions"][seq] = verdict


def with_other_dispatches(expected: dict[str, Any]) -> Iterator[str]:
    for seq, verdict in list(expected.get("dispatch", {}).items()):
        for other in ("allow", "refuse:approval-lapsed", "refuse:inputs-unresolved"):
            if other != verdict:
                expected["dispatch"][seq] = other
                yield f"dispatch/{seq}"
        expected["dispatch"][seq] = verdict


def with_other_facts(expected: dict[str, Any]) -> Iterator[str]:
    """Closures, lineages and side effects with another value in each of their fields, one after the other."""
    for place in expectations(expected):
        for key in ("closure", "lineage", "side_effects"):
            for name, facts in place.get(key, {}).items():
                for part, value in list(facts.items()):
                    facts[part] = {bool: not value, int: 77, str: "none"}.get(type(value), ["x"])
                    yield f"{key}/{name}/{part}"
                    facts[part] = value


def with_other_lists(expected: dict[str, Any]) -> Iterator[str]:
    """Inboxes and blocked calls with one entry too many."""
    for place in expectations(expected):
        for name, waiting in place.get("blocked_by", {}).items():
            waiting.append("i9")
            yield f"blocked_by/{name}"
            waiting.pop()
        for key in ("inbox", "pending_in_root_view"):
            if key in place:
                place[key].append("ap9")
                yield "inbox"
                place[key].pop()


def with_other_controls(expected: dict[str, Any]) -> Iterator[str]:
    for place in expectations(expected):
        for name, controls in list(place.get("controls", {}).items()):
            for part, words in list(controls.items()):
                if part == "for":
                    for who, allowed in words.items():
                        allowed.append("retry")
                        yield f"for/{who}"
                        allowed.pop()
                else:
                    place["controls"][name] = {"deny" if part == "allow" else "allow": words}
                    yield f"controls/{name}"
                    place["controls"][name] = controls


def with_other_reductions(expected: dict[str, Any]) -> Iterator[str]:
    for entry in expected.get("reduce", []):
        entry["commit"] = not entry["commit"]
        yield "reduce/"
        entry["commit"] = not entry["commit"]
        kind, entry["kind"] = entry["kind"], "ok"
        yield "reduce/"
        entry["kind"] = kind


def with_other_flags(expected: dict[str, Any]) -> Iterator[str]:
    """Each flag with the word of something that did not happen, and about a call that does not exist."""
    for place in expectations(expected):
        flags = place.get("flags", [])
        for number, flag in enumerate(list(flags)):
            word, call, _, _ = parts_of(flag)
            for other in ([flag.replace(word, "duplicate-start")] if word else []) + ([flag.replace(call, "i9#9")] if call else []):
                flags[number] = other
                yield "flags/"
            flags[number] = flag


CHANGES = [
    with_other_states, with_other_decisions, with_other_dispatches, with_other_facts, with_other_lists, with_other_controls,
    with_other_reductions, with_other_flags,
]  # fmt: skip  # names in lines


@pytest.mark.parametrize("changed", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", NAMES)
async def test_whatever_is_changed_in_what_a_report_expects_is_said_to_be_wrong(name: str, changed: Any) -> None:
    made = report(name)
    for place in changed(made["expected"]):
        result = await results(copy.deepcopy(made))
        assert [wrong for wrong in result.wrong if place in wrong], f"{place} changed and nobody noticed: {result.wrong}"
        assert not result.passed


def test_each_kind_of_change_was_made_somewhere() -> None:
    made = {change.__name__: sum(1 for name in NAMES for _ in change(report(name)["expected"])) for change in CHANGES}
    assert all(made.values()), made


def with_less(whole: Report) -> Iterator[Report]:
    """The report without one of its events, without all of one type, without its history, and with none of it."""
    events = whole["input"]["events"]
    left_out = [{n} for n in range(len(events))]
    left_out += [{n for n, event in enumerate(events) if event["type"] == kind} for kind in {event["type"] for event in events}]
    for numbers in [*left_out, set(), set(range(len(events)))]:
        less = copy.deepcopy(whole)
        for number in numbers:
            less["input"]["events"][number] |= {"source": "host", "type": "viewed"}
        if len(numbers) in {0, len(events)}:
            less["input"].pop("runtime_snapshot_after", None)
        less["expected"] = {"flags": whole["expected"]["flags"]}
        yield less


@pytest.mark.parametrize("name", [name for name in NAMES if report(name)["expected"].get("flags")])
async def test_every_flag_hangs_on_what_happened_and_falls_when_that_is_taken_away(name: str) -> None:
    whole = report(name)
    fallen: set[str] = set()
    for less in with_less(whole):
        fallen |= {wrong.partition(": expected")[0].removeprefix("flags/") for wrong in (await results(less)).wrong}
    assert set(whole["expected"]["flags"]) - fallen == set()


async def test_a_key_or_a_word_that_no_table_knows_is_unchecked_and_the_report_has_not_passed() -> None:
    name = next(name for name in NAMES if report(name)["expected"].get("flags") and report(name)["expected"].get("decisions"))
    for change, place in (
        ({"flags": ["the-moon-was-full"]}, "flags/the-moon-was-full"),
        ({"decisions": {"1": "postponed"}}, "decisions/1"),
        ({"decisions": {"3": "rejected:because"}}, "decisions/3"),
        ({"dispatch": {"1": "perhaps"}}, "dispatch/1"),
        ({"side_effects": {"i1#1": {"reconciliationState": "in the mail"}}}, "side_effects/i1#1/reconciliationState"),
        ({"controls": {"i1#1": {"allow": ["teleport"]}}}, "controls/i1#1/allow"),
    ):
        made = report(name)
        made["expected"] = {"states": made["expected"]["states"], **change}
        result = await results(made)
        assert [entry for entry in result.unchecked if entry.startswith(place)], (place, result)
        assert not result.passed


async def test_an_event_type_that_nobody_knows_is_unchecked_and_never_guessed() -> None:
    made = report(NAMES[0])
    made["input"]["events"][-1]["type"] = "rested"
    result = await results(made)
    assert [entry for entry in result.unchecked if "rested" in entry]
    assert not result.passed


async def test_a_kind_that_cannot_be_run_is_unsupported() -> None:
    made = report(NAMES[0]) | {"kind": "raw:smoke-signals"}
    result = await results(made)
    assert (result.passed, result.checked, result.unchecked[0]) == (False, [], "unsupported")


# ── it is honest ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_report_is_known_by_name_in_the_package() -> None:
    package = ROOT / "src" / "toolwitness" / "testing" / "reports"
    for file in package.glob("*.py"):
        code = file.read_text(encoding="utf-8")
        assert [name for name in NAMES if name in code] == [], file.name
        assert "story.id ==" not in code
        assert '["id"] ==' not in code


def test_no_flag_is_a_sentence() -> None:
    assert [word for word in FLAGS if word != word.lower() or " " in word] == []


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────────────────


def ran(directory: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolwitness.testing.reports", str(directory), *more], capture_output=True, text=True, check=False
    )


def test_the_command_prints_one_json_document_and_ends_well() -> None:
    done = ran(REPORTS, "--json")
    printed = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert list(printed) == ["reports"]
    assert {tuple(entry) for entry in printed["reports"]} == {("id", "kind", "passed", "wrong", "checked", "unchecked")}
    assert sorted(entry["id"] for entry in printed["reports"]) == NAMES


def test_the_command_ends_with_1_when_something_is_wrong_and_with_2_when_nothing_can_be_read(tmp_path: Path) -> None:
    assert ran(tmp_path).returncode == 2
    made = report(NAMES[0])
    made["expected"]["states"] = dict.fromkeys(made["expected"]["states"], "expired")
    (tmp_path / "changed.json").write_text(json.dumps(made), encoding="utf-8")
    done = ran(tmp_path)
    assert (done.returncode, "wrong" in done.stdout) == (1, True)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    assert ran(tmp_path).returncode == 2
