"""The ground floor: references that never change, errors with a remedy, times as text, and no window to the world."""

import ast
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.unit.core.builders import event
from toolwitness.core import errors
from toolwitness.core.evidence import Kind, evidence_ref
from toolwitness.core.findings import OPENS_RECONCILIATION, SEVERITY, Code, Finding, Severity
from toolwitness.core.states import BEFORE_DISPATCH, EXECUTING, TERMINAL, Owner, State
from toolwitness.core.times import parse_rfc3339, rfc3339
from toolwitness.core.verdicts import Actor, Control, PolicyVerdict
from toolwitness.core.vocabulary import KINDS, may_say

CORE = Path(errors.__file__).parent
WORLD = {
    "asyncio", "http", "io", "logging", "os", "pathlib", "random", "secrets", "shutil", "signal", "socket", "sqlite3",
    "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip  # a set reads better in lines

# ── core imports only the standard library and itself ───────────────────────────────────────────────────────────────


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names |= {node.module or ""} if node.module else set()
    return names


def called(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("path", sorted(CORE.glob("*.py")), ids=lambda path: path.name)
def test_core_stands_on_the_standard_library_and_on_itself_alone(path: Path) -> None:
    for name in imported(path):
        top = name.split(".")[0]
        if top == "toolwitness":
            assert name.split(".")[1:2] == ["core"], f"{path.name} imports {name}"
        else:
            assert top in sys.stdlib_module_names, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", sorted(CORE.glob("*.py")), ids=lambda path: path.name)
def test_core_has_no_clock_no_chance_no_files_and_no_log(path: Path) -> None:
    assert {name.split(".")[0] for name in imported(path)} & WORLD == set()
    assert called(path) & {"open", "print", "input", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"} == set()


# ── evidence references ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "event_id", "expected"),
    [
        ("worker-1", "row:1", "ev_13c93516822e84bee12023a8469bde4b"),
        ("worker", "-1\0row:1", "ev_f84c2bc6598fe8fc02f06bb3a0a17f48"),
        ("", "", "ev_6e340b9cffb37a989ca544e6bb780a2c"),
        ("\ud800", "lone", "ev_198a0317d8e6eba16e4fce39bd3da044"),
    ],
)
def test_a_reference_is_a_digest_of_source_and_id_and_never_changes(source: str, event_id: str, expected: str) -> None:
    assert evidence_ref(source, event_id) == expected


def test_an_event_is_cited_under_the_reference_of_its_source_and_id() -> None:
    assert event(Kind.STARTED, source="worker-1", event_id="row:1").ref == "ev_13c93516822e84bee12023a8469bde4b"


def test_a_reference_tells_where_the_source_ends_and_the_id_begins() -> None:
    assert evidence_ref("ab", "c") != evidence_ref("a", "bc")


# ── vocabulary ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_kind_has_an_owner_and_says_a_field_once() -> None:
    for kind, spec in KINDS.items():
        names = [part for name in (*spec.required, *spec.optional) for part in name.split("|")]
        assert spec.owners, kind
        assert len(set(names)) == len(names), kind
        assert spec.of_task in {"", "task"}, kind


def test_only_the_owner_may_say_a_kind_and_anybody_what_we_do_not_know() -> None:
    assert [owner.value for owner in Owner if may_say(owner, Kind.STARTED)] == ["runtime"]
    assert [owner.value for owner in Owner if may_say(owner, Kind.DEADLINE_ELAPSED)] == ["runtime", "policy"]
    assert all(may_say(owner, "run.finished") for owner in Owner)


def test_the_eleven_states_fall_into_phases_without_overlap() -> None:
    assert len(State) == 11
    phases = [BEFORE_DISPATCH, {State.QUEUED}, EXECUTING, TERMINAL]
    assert sum(map(len, phases)) == len(frozenset().union(*phases)) == 11


def test_each_finding_has_a_severity_and_what_bypasses_policy_is_a_violation() -> None:
    assert set(SEVERITY) == set(Code)
    assert {code.value for code, severity in SEVERITY.items() if severity is Severity.VIOLATION} == {
        "started-without-permit", "accepted-without-permit", "ran-without-approval", "duplicate-start", "started-after-end",
    }  # fmt: skip  # one code after the other
    assert Finding(Code.LATE_EFFECT, "x").severity is Severity.WARNING
    assert not any(SEVERITY[code] is Severity.NOTE for code in OPENS_RECONCILIATION)


def test_verdicts_of_policy_and_controls_hold_what_they_were_given() -> None:
    verdict = PolicyVerdict(allowed=False, rule="eligible", reason="user:bob is not role:finance")
    control = Control(action="approve", enabled=verdict.allowed, rule=verdict.rule, reason=verdict.reason)
    assert (control.enabled, control.reason, dict(control.binding), dict(verdict.facts)) == (False, "user:bob is not role:finance", {}, {})
    assert Actor(id="user:ada").roles == frozenset()


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

TREE = [
    ("ToolwitnessError", "Exception", "error", "toolwitness"),
    ("InvalidInput", "ToolwitnessError", "invalid-input", "caller"),
    ("UnknownId", "InvalidInput", "unknown-id", "caller"),
    ("NotPermitted", "ToolwitnessError", "not-permitted", "caller"),
    ("Conflict", "ToolwitnessError", "conflict", "nobody"),
    ("OnceKeyTaken", "Conflict", "already-decided", "nobody"),
    ("Tampered", "ToolwitnessError", "tampered", "file"),
    ("Unavailable", "ToolwitnessError", "unavailable", "environment"),
    ("NewerFormat", "Unavailable", "newer-format", "environment"),
]


@pytest.mark.parametrize(("name", "parent", "code", "fault"), TREE)
def test_each_error_has_its_place_a_stable_code_and_whose_fault_it_is(name: str, parent: str, code: str, fault: str) -> None:
    error = getattr(errors, name)
    assert (error.__base__.__name__, error.code, error.fault) == (parent, code, fault)
    assert f" {name} " in (errors.__doc__ or "") or name == "ToolwitnessError"


def test_the_tree_of_errors_is_whole_and_holds_no_outcome() -> None:
    actual = {name for name, thing in vars(errors).items() if isinstance(thing, type) and issubclass(thing, Exception)}
    assert actual == {name for name, *_ in TREE}
    assert not {name for name in actual if any(word in name.lower() for word in ("cancel", "denied", "dismiss", "withdraw", "expire"))}
    assert len({code for _, _, code, _ in TREE}) == len(TREE)


def test_an_error_says_what_was_wrong_and_what_to_do() -> None:
    error = errors.InvalidInput("The purpose is empty.", remedy="Say in one sentence what it is for.", field="purpose")
    assert str(error) == "The purpose is empty. Say in one sentence what it is for."
    assert (error.message, error.remedy, error.facts) == (
        "The purpose is empty.",
        "Say in one sentence what it is for.",
        {"field": "purpose"},
    )
    assert str(errors.Conflict("The task moved on.")) == "The task moved on."


def test_who_lost_a_race_is_told_who_won() -> None:
    winner = event(Kind.GRANTED)
    error = errors.OnceKeyTaken("It was answered.", winner=winner, remedy="Read it again.", once_key="answer:apr_1")
    assert error.winner is winner
    assert error.facts == {"once_key": "answer:apr_1"}
    with pytest.raises(errors.Conflict):
        raise error


# ── times ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_time_is_written_in_utc_and_read_back() -> None:
    at = datetime(2026, 11, 30, 11, 0, 0, 250000, tzinfo=timezone(timedelta(hours=1)))
    assert rfc3339(at) == "2026-11-30T10:00:00.250000Z"
    assert parse_rfc3339(rfc3339(at)) == at.astimezone(UTC)


def test_a_time_without_a_zone_is_not_written() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        rfc3339(datetime(2026, 11, 30, 10))  # noqa: DTZ001  # the point of the test


@pytest.mark.parametrize(
    "text",
    [None, 7, "", "tomorrow", "2026-11-30T10:00:00", "fixture-time", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"],
)
def test_what_is_no_time_with_a_zone_is_not_read(text: object) -> None:
    assert parse_rfc3339(text) is None
