"""A tool's policy: what it takes, what it refuses with the fix, and what it means."""

import ast
import inspect
import sys
import textwrap
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.policy.worlds import ANN, BOB, POLICY, READER
from toolwitness.core.errors import InvalidInput
from toolwitness.core.states import Consequence
from toolwitness.policy.consequences import Confirm
from toolwitness.policy.tool_policy import (
    DEFAULT_APPROVERS,
    CancelSupport,
    Idempotency,
    Inverse,
    RetryPolicy,
    ToolPolicy,
    objection_to,
    unknown_tool,
)


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        ({"tool": " "}, "tool"),
        ({"consequences": "read-only"}, "consequences"),
        ({"consequences": ["readonly"]}, "consequences"),
        ({"consequences": 3}, "consequences"),
        ({"consequences": ["read-only", "destructive"], "commitment_boundary": "x"}, "consequences"),
        ({"consequences": ["destructive"]}, "commitment_boundary"),
        ({"approvers": ["finance"]}, "approvers"),
        ({"approvers": ["role:"]}, "approvers"),
        ({"approvers": [""]}, "approvers"),
        ({"approvers": [7]}, "approvers"),
        ({"redact": ["card"]}, "redact"),
        ({"redact": ["/card~2"]}, "redact"),
        ({"approval_seconds": 0}, "approval_seconds"),
        ({"approval_seconds": True}, "approval_seconds"),
        ({"approval_seconds": "300"}, "approval_seconds"),
        ({"approval_seconds": float("nan")}, "approval_seconds"),
        ({"result_seconds": 1e12}, "result_seconds"),
        ({"retry": RetryPolicy(attempts=0)}, "retry.attempts"),
        ({"retry": RetryPolicy(attempts=True)}, "retry.attempts"),
        ({"retry": RetryPolicy(attempts="2")}, "retry.attempts"),  # type: ignore[arg-type]  # what a caller may give
        ({"inverse": Inverse(tool="undo", window_seconds=-1)}, "inverse.window_seconds"),
        ({"cancel_support": "maybe"}, "cancel_support"),
        ({"idempotency": "often"}, "idempotency"),
        ({"consequences": ["financially-consequential"], "standing_authorization": "m", "approvers": ["role:a"]}, "standing_authorization"),
        ({"consequences": ["destructive"], "commitment_boundary": "x", "standing_authorization": "m"}, "standing_authorization"),
        ({"standing_authorization": "m"}, "standing_authorization"),
    ],
)
def test_what_cannot_be_understood_is_refused_by_name_and_with_a_fix(declared: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ToolPolicy(**({"tool": "book"} | declared))

    assert refused.value.facts["field"] == field
    assert field in str(refused.value)
    assert refused.value.remedy


def test_plain_words_and_lists_are_taken_for_what_they_name() -> None:
    policy = ToolPolicy(
        tool="book",
        consequences=["read-only", "read-only"],
        cancel_support="thread",
        idempotency="keyed",
        recovery=["void"],
        redact=("/a~1b/c~0",),
    )

    assert policy.consequences == (Consequence.READ_ONLY,)
    assert (policy.cancel_support, policy.idempotency) == (CancelSupport.THREAD, Idempotency.KEYED)
    assert policy.recovery == ("void",)


@pytest.mark.parametrize(
    ("policy", "required"),
    [
        (READER, False),
        (replace(READER, approvers=("role:owner",)), True),
        (POLICY, True),
        (replace(POLICY, approvers=()), True),
        (replace(POLICY, approvers=(), standing_authorization="mandate 7"), False),
        (unknown_tool("whatever"), True),
        (ToolPolicy(tool="t", consequences=(Consequence.REVERSIBLE,)), False),
        (ToolPolicy(tool="t", consequences=(Consequence.PERMISSION_GATED,)), True),
    ],
)
def test_whether_an_approval_is_required(policy: ToolPolicy, required: bool) -> None:  # noqa: FBT001 - a table's column
    assert policy.requires_approval is required


def test_an_unknown_tool_gets_the_strictest_answers() -> None:
    policy = unknown_tool("whatever")

    assert policy.demands.confirm.value is Confirm.BEFORE_COMMITMENT
    assert (policy.eligible, policy.retry.attempts, policy.inverse) == (DEFAULT_APPROVERS, 1, None)


def test_who_may_approve_defaults_and_exclusions_stay() -> None:
    assert replace(POLICY, approvers=("not:proposer",)).eligible == ("role:approver", "not:proposer")
    assert replace(POLICY, approvers=("user:ann", "not:proposer")).eligible == ("user:ann", "not:proposer")


def test_scope_fields_name_terms_and_inputs() -> None:
    assert POLICY.scope == (("amount", "total"), ("currency", "currency"))


def test_equal_content_has_an_equal_version_and_any_change_another() -> None:
    assert POLICY.version == replace(POLICY).version
    assert POLICY.version.startswith("pol_")
    changed = [
        replace(POLICY, approval_seconds=301),
        replace(POLICY, approvers=("role:ops",)),
        replace(POLICY, inverse=Inverse(tool="void")),
        replace(POLICY, retry=RetryPolicy(attempts=2)),
        replace(POLICY, recovery=()),
    ]
    assert len({POLICY.version, *(policy.version for policy in changed)}) == len(changed) + 1


@pytest.mark.parametrize(
    ("actor", "eligible", "proposer", "word"),
    [
        (ANN, ("role:finance",), "", ""),
        (ANN, ("user:ann",), "", ""),
        (ANN, ("role:finance", "not:proposer"), "agent", ""),
        (ANN, ("role:finance", "not:proposer"), "ann", "proposed this call"),
        (BOB, ("role:finance", "user:ann"), "", "role:finance, user:ann"),
        (BOB, (), "", "nobody"),
        (BOB, ("not:proposer",), "agent", "nobody"),
    ],
)
def test_who_is_eligible_and_why_not(actor: Any, eligible: tuple[str, ...], proposer: str, word: str) -> None:
    actual = objection_to(actor, eligible, proposer=proposer)

    assert bool(actual) is bool(word)
    assert word in actual


@pytest.mark.parametrize("policy", [ToolPolicy, RetryPolicy])
def test_what_type_checkers_are_told_is_what_is_taken(policy: type) -> None:
    """Both are written down: lists and words for those who check types, tuples and classes as what is kept."""
    written = ast.parse(textwrap.dedent(inspect.getsource(policy)))
    told = next(node for node in ast.walk(written) if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    defaults = zip(told.args.kwonlyargs, told.args.kw_defaults, strict=True)
    known = vars(sys.modules[policy.__module__])
    said = {arg.arg: eval(ast.unparse(default), known) if default else inspect.Parameter.empty for arg, default in defaults}  # noqa: S307 - our own source
    taken = inspect.signature(policy).parameters

    assert said == {name: parameter.default for name, parameter in taken.items()}
    assert {parameter.kind for parameter in taken.values()} == {inspect.Parameter.KEYWORD_ONLY}
