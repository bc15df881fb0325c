"""The first objection wins, and a rule that breaks refuses."""

from toolwitness.policy.rules import Rule, judge


def _broken(_case: int) -> str:
    raise KeyError("expires")


def test_no_objection_allows_under_the_given_name() -> None:
    verdict = judge((Rule("odd", lambda case: "" if case % 2 else "it is even"),), 3, allowed_by="odd-ones", reason="3 is odd")

    assert (verdict.allowed, verdict.rule, verdict.reason, dict(verdict.facts)) == (True, "odd-ones", "3 is odd", {})


def test_the_first_objection_is_the_answer() -> None:
    rules = (Rule("a", lambda _: ""), Rule("b", lambda _: "because b"), Rule("c", _broken))

    verdict = judge(rules, 1, allowed_by="x", reason="y", facts={"winner": "b"})

    assert (verdict.allowed, verdict.rule, verdict.reason, verdict.facts) == (False, "b", "because b", {"winner": "b"})


def test_a_rule_that_breaks_refuses_under_its_own_name() -> None:
    verdict = judge((Rule("deadline", _broken),), 1, allowed_by="x", reason="y")

    assert (verdict.allowed, verdict.rule) == (False, "deadline")
    assert "could not be evaluated (KeyError: 'expires')" in verdict.reason
