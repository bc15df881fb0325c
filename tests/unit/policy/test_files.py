"""A policy file means what it says, and whatever cannot be understood is named with its line."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from toolwitness.core.errors import InvalidInput
from toolwitness.core.states import Consequence
from toolwitness.policy.cost import Beyond, Cost, Per
from toolwitness.policy.file_text import FileText
from toolwitness.policy.files import PolicyFile, read_policy_file, roles_of
from toolwitness.policy.tool_policy import Idempotency, Inverse, RetryPolicy, ToolPolicy, unknown_tool

TOML = """
[actors]
"os:ann" = ["finance"]
"os:ben" = { roles = ["finance"], until = 2027-01-01T00:00:00Z }

[authority]
administrators = ["user:cho"]

[unknown_tools]
approvers = ["role:owner"]
approval_seconds = 60

[[budgets]]
per = "task"
amount = "1000.00"
currency = "EUR"

[[budgets]]
per = "tenant"
amount = 5000
currency = "EUR"
beyond = "ask"

[tools.book]
consequences = ["externally-visible", "financially-consequential"]
approvers = ["role:finance", "not:proposer"]
approval_seconds = 300
scope = ["amount=total", "currency"]
idempotency = "keyed"
retry = { attempts = 2, categories = ["timeout"] }
cost.amount_field = "total"
cost.currency_field = "currency"

[tools.book.inverse]
tool = "cancel_booking"
window_seconds = 3600
verified_by = "the test of 2026-05-01"

[tools."files.read"]
consequences = ["read-only"]
commitment_boundary = "the file is written"
hints = { readOnlyHint = false }
"""
YAML = """
actors:
  "os:ann": [finance]
  "os:ben": {roles: [finance], until: "2027-01-01T00:00:00Z"}
authority: {administrators: ["user:cho"]}
unknown_tools: {approvers: ["role:owner"], approval_seconds: 60}
budgets:
  - {per: task, amount: "1000.00", currency: EUR}
  - {per: tenant, amount: 5000, currency: EUR, beyond: ask}
tools:
  book:
    consequences: [externally-visible, financially-consequential]
    approvers: ["role:finance", "not:proposer"]
    approval_seconds: 300
    scope: [amount=total, currency]
    idempotency: keyed
    retry: {attempts: 2, categories: [timeout]}
    cost: {amount_field: total, currency_field: currency}
    inverse: {tool: cancel_booking, window_seconds: 3600, verified_by: the test of 2026-05-01}
  files.read:
    consequences: [read-only]
    commitment_boundary: the file is written
    hints: {readOnlyHint: false}
"""


def test_a_file_gives_tools_people_budgets_and_what_holds_for_unknown_tools() -> None:
    found = read_policy_file(TOML)
    book = found.tools["book"]
    assert book == ToolPolicy(
        tool="book",
        consequences=(Consequence.EXTERNALLY_VISIBLE, Consequence.FINANCIAL),
        approvers=("role:finance", "not:proposer"),
        approval_seconds=300,
        scope_fields=("amount=total", "currency"),
        idempotency=Idempotency.KEYED,
        retry=RetryPolicy(attempts=2, categories=("timeout",)),
        cost=Cost(amount_field="total", currency_field="currency"),
        inverse=Inverse(tool="cancel_booking", window_seconds=3600, verified_by="the test of 2026-05-01"),
    )
    assert found.actors["os:ann"].roles == {"finance"}
    assert found.actors["os:ben"].until == "2027-01-01T00:00:00.000000Z"
    assert found.administrators == ("user:cho",)
    assert [(b.per, str(b.limit), b.beyond) for b in found.budgets] == [
        (Per.TASK, "1000.00 EUR", Beyond.REFUSE),
        (Per.TENANT, "5000 EUR", Beyond.ASK),
    ]


def test_the_same_in_yaml_is_the_same_model() -> None:
    toml, yaml = read_policy_file(TOML, "p"), read_policy_file(YAML, "p.yaml")
    assert yaml == PolicyFile(**{name: getattr(toml, name) for name in PolicyFile.__slots__} | {"name": "p.yaml"})


def test_an_empty_file_says_nothing() -> None:
    for name in ("p.toml", "p.yaml"):
        assert read_policy_file("", name) == PolicyFile(name=name)
    assert PolicyFile().govern("anything") == unknown_tool("anything")


def test_yaml_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InvalidInput, match=r"toolwitness\[yaml\]"):
        read_policy_file("tools: {}", "p.yml")


def test_a_hint_raises_and_never_lowers() -> None:
    wipes = "[tools.wipe]\nconsequences = ['destructive']\ncommitment_boundary = 'sent'\nhints.readOnlyHint = true\n"
    found = read_policy_file(TOML + wipes)
    assert set(found.govern("files.read").consequences) >= {Consequence.DESTRUCTIVE, Consequence.EXTERNALLY_VISIBLE}
    assert found.govern("wipe").consequences == (Consequence.DESTRUCTIVE,)


def test_a_hint_about_a_tool_without_classes_changes_nothing_because_nothing_is_stricter() -> None:
    found = read_policy_file("[tools.x]\napproval_seconds = 5\nhints = { readOnlyHint = true }\n")
    assert found.govern("x").consequences == ()


def test_an_undeclared_tool_keeps_the_worst_answers_and_gets_the_files_people_and_deadlines() -> None:
    policy = read_policy_file(TOML).govern("never heard of")
    assert (policy.consequences, policy.approvers, policy.approval_seconds) == ((), ("role:owner",), 60)
    assert policy.demands == unknown_tool("x").demands


def test_a_tool_that_only_the_program_declares_is_governed_as_it_declares() -> None:
    declared = ToolPolicy(tool="own", consequences=(Consequence.READ_ONLY,))
    assert read_policy_file(TOML).govern("own", declared) == declared


def test_a_tool_that_both_declare_is_governed_by_the_stricter_answers() -> None:
    declared = ToolPolicy(tool="book", approval_seconds=60, result_seconds=5)
    policy = read_policy_file(TOML).govern("book", declared)
    assert (policy.approval_seconds, policy.result_seconds, policy.approvers) == (60, 5, ("role:finance", "not:proposer"))


def test_roles_are_held_until_their_end_and_by_nobody_else() -> None:
    found = read_policy_file(TOML)
    before, end = datetime(2026, 12, 31, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    assert roles_of(found, "os:ann", end) == roles_of(found, "os:ben", before) == {"finance"}
    assert roles_of(found, "os:ben", end) == roles_of(found, "os:eve", before) == frozenset()


def test_a_place_that_nobody_can_find_is_the_first_line() -> None:
    assert FileText(name="p", said={}, lines={}).line("tools", "book") == 1


WRONG = {
    "no TOML": ("[tools", "p.toml", 1, "policy"),
    "a cut text": ('a = """', "p.toml", 1, "policy"),
    "no YAML": ("tools: [", "p.yaml", 1, "policy"),
    "YAML that is a list": ("- tools", "p.yaml", 1, "policy"),
    "a YAML time that is none": ("actors:\n  x: 2026-13-45", "p.yaml", 1, "policy"),
    "a key twice in YAML": ("tools: {}\nactors: {}\ntools: {}", "p.yaml", 3, "tools"),
    "a YAML key that is a number": ("actors:\n  7: [x]", "p.yaml", 2, "actors"),
    "a YAML key that is a list": ("actors:\n  ? [a]\n  : [x]", "p.yaml", 2, "policy"),
    "a YAML that holds itself": ("tools: &a\n  x: *a", "p.yaml", 1, "tools.x.x"),
    "a table nobody knows": ("\n[tool.book]\n", "p.toml", 2, "tool"),
    "a misspelt limit": ("[tools.book]\napproval_second = 5", "p.toml", 2, "tools.book.approval_second"),
    "a tool that is no table": ("tools = { book = 3 }", "p.toml", 1, "tools.book"),
    "a tool that is nothing": ("tools:\n  book:", "p.yaml", 2, "tools.book"),
    "tools that are a list": ('tools = ["book"]', "p.toml", 1, "tools"),
    "a class that nobody knows": ('[tools.b]\nconsequences = [\n  "harmless"]', "p.toml", 2, "tools.b.consequences"),
    "seconds as text": ('[tools.b]\nqueue_seconds = "soon"', "p.toml", 2, "tools.b.queue_seconds"),
    "no seconds at all": ("[tools.b]\nqueue_seconds = 0", "p.toml", 2, "tools.b.queue_seconds"),
    "endless seconds": ("[tools.b]\nqueue_seconds = inf", "p.toml", 2, "tools.b.queue_seconds"),
    "a text that is a number": ("[tools.b]\nstanding_authorization = 1", "p.toml", 2, "tools.b.standing_authorization"),
    "an approver that is no one": ('[tools.b]\napprovers = ["ann"]', "p.toml", 2, "tools.b.approvers"),
    "a scope that is a text": ('[tools.b]\nscope = "total"', "p.toml", 2, "tools.b.scope"),
    "attempts as text": ('[tools.b]\n[tools.b.retry]\nattempts = "two"', "p.toml", 3, "tools.b.retry.attempts"),
    "categories as text": ('[tools.b.retry]\ncategories = "timeout"', "p.toml", 2, "tools.b.retry.categories"),
    "a category that is a number": ("[tools.b.retry]\ncategories = [1]", "p.toml", 2, "tools.b.retry.categories"),
    "a retry that nobody knows": ("[tools.b.retry]\ntimes = 3", "p.toml", 2, "tools.b.retry.times"),
    "an inverse without a tool": ('[tools.b.inverse]\nscope = "all"', "p.toml", 1, "tools.b.inverse"),
    "an inverse of a number": ("[tools.b.inverse]\ntool = 3", "p.toml", 2, "tools.b.inverse.tool"),
    "a window that is none": ('[tools.b.inverse]\ntool = "c"\nwindow_seconds = -1', "p.toml", 3, "tools.b.inverse.window_seconds"),
    "a cost that says it twice": ('[tools.b.cost]\namount = "1"\namount_field = "x"\ncurrency = "EUR"', "p.toml", 2, "tools.b.cost.amount"),
    "a cost that is no amount": ('[tools.b.cost]\namount = "lots"\ncurrency = "EUR"', "p.toml", 2, "tools.b.cost.amount"),
    "a hint that nobody knows": ("[tools.b.hints]\nsafe = true", "p.toml", 2, "tools.b.hints.safe"),
    "a hint that is a text": ('[tools.b.hints]\nreadOnlyHint = "no"', "p.toml", 2, "tools.b.hints.readOnlyHint"),
    "a hint that raises beyond what is said": (
        '[tools.b]\nconsequences = ["read-only"]\nstanding_authorization = "m"\nhints.readOnlyHint = false',
        "p.toml",
        4,
        "tools.b.hints",
    ),
    "a mandate for what destroys": (
        '[tools.b]\nconsequences = ["destructive"]\ncommitment_boundary = "x"\nstanding_authorization = "m"',
        "p.toml",
        4,
        "tools.b.standing_authorization",
    ),
    "a role that is a text": ('[actors]\nann = "finance"', "p.toml", 2, "actors.ann"),
    "an empty role": ('[actors]\nann = [""]', "p.toml", 2, "actors.ann"),
    "a holding without roles": ('[actors]\nann = { until = "2027-01-01T00:00:00Z" }', "p.toml", 2, "actors.ann"),
    "a holding with more": ("[actors.ann]\nroles = ['x']\nsince = 3", "p.toml", 3, "actors.ann.since"),
    "an end without a zone": ("[actors]\n[actors.ann]\nroles = ['x']\nuntil = 2027-01-01T00:00:00", "p.toml", 4, "actors.ann.until"),
    "an end that is a day": ("[actors.ann]\nroles = ['x']\nuntil = 2027-01-01", "p.toml", 3, "actors.ann.until"),
    "an end that is a word": ("[actors.ann]\nroles = ['x']\nuntil = 'soon'", "p.toml", 3, "actors.ann.until"),
    "administrators that are nobody": ('[authority]\nadministrators = ["cho"]', "p.toml", 2, "authority.administrators"),
    "an authority that nobody knows": ("[authority]\nowners = []", "p.toml", 2, "authority.owners"),
    "what unknown tools cannot be": ('[unknown_tools]\nconsequences = ["read-only"]', "p.toml", 2, "unknown_tools.consequences"),
    "budgets that are a table": ("[budgets]\nper = 'task'", "p.toml", 1, "budgets"),
    "a budget for nobody": ("[[budgets]]\namount = '1'\ncurrency = 'EUR'", "p.toml", 1, "budgets.0.per"),
    "a budget of nothing": ("[[budgets]]\nper = 'task'\ncurrency = 'EUR'", "p.toml", 1, "budgets.0.amount"),
    "a budget in no currency": ("[[budgets]]\nper = 'task'\namount = 1\ncurrency = '€'", "p.toml", 4, "budgets.0.currency"),
    "a budget beyond sense": ("[[budgets]]\nper='task'\namount=1\ncurrency='EUR'\nbeyond='allow'", "p.toml", 5, "budgets.0.beyond"),
    "the second of two budgets": (
        "[[budgets]]\nper='task'\namount=1\ncurrency='EUR'\n[[budgets]]\nper='x'",
        "p.toml",
        5,
        "budgets.1.amount",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_understood_is_refused_with_file_line_field_and_fix(name: str) -> None:
    text, file, line, field = WRONG[name]
    with pytest.raises(InvalidInput) as refused:
        read_policy_file(text, file)
    error = refused.value
    assert (error.facts["file"], error.facts["line"], error.facts["field"]) == (file, line, field)
    assert error.message.startswith(f"{file}, line {line}: ")
    assert error.remedy


def test_a_misspelt_key_is_answered_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(InvalidInput, match="Did you mean approval_seconds"):
        read_policy_file("[tools.b]\napproval_second = 5")
    with pytest.raises(InvalidInput) as refused:
        read_policy_file("[tools.b]\nzzz = 5")
    assert "Did you mean" not in refused.value.remedy


def test_the_example_of_the_documentation_is_understood() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    found = read_policy_file(example)
    assert set(found.tools) >= {"book"}
    assert found.actors
    assert found.budgets
