"""What was read of the world: equal things are equal, what differs is named, and what was not read is never taken for unchanged."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.policy.worlds import NOW, POLICY, answered, asked, record
from toolwitness.core.errors import InvalidInput
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Consequence, State
from toolwitness.policy.dispatch import judge_claim
from toolwitness.policy.files import read_policy_file
from toolwitness.policy.looks import NOT_TAKEN, Change, Look, judge_difference, judge_look, read_quote, read_target, words_of
from toolwitness.policy.merge import stricter
from toolwitness.policy.tool_policy import Inverse, ToolPolicy
from toolwitness.policy.written import read_policy, write_policy

WATCHED = replace(POLICY, read_again=("target", "price"))
QUOTE = {"amount": "412.50", "currency": "EUR", "seat": "14C"}
SEEN = {"target": "v7", "price": QUOTE}


def permitted(looked: Mapping[str, Any] | None) -> InvocationRecord:
    """A call whose approval was granted and whose dispatch is permitted, asked about with this look."""
    request = answered(asked(policy_version=WATCHED.version, looked=looked if looked is not None else ...))
    return record(State.AWAITING_APPROVAL, approvals=[request], permission={"rule": "approved", "refused": False, "ref": "ev_2"})


def looking(target: str = "v7", price: Mapping[str, str] | None = None) -> Look:
    return Look(target=target, price=QUOTE if price is None else price)


@pytest.mark.parametrize(
    ("rule", "before", "look", "words"),
    [
        ("target-changed", SEEN, looking("v8"), ["target v7 → v8"]),
        ("price-changed", SEEN, looking(price={**QUOTE, "amount": "450.00"}), ["amount 412.50 → 450.00"]),
        ("price-changed", SEEN, looking(price={**QUOTE, "currency": "USD"}), ["currency EUR → USD"]),
        ("price-changed", SEEN, looking(price={**QUOTE, "seat": "15A"}), ["seat 14C → 15A"]),
        ("price-changed", SEEN, looking(price={"amount": "412.50", "currency": "EUR"}), ["seat 14C → (nothing)"]),
        ("price-changed", SEEN, looking(price={**QUOTE, "bag": "no"}), ["bag (nothing) → no"]),
        ("target-unread", SEEN, Look(price=QUOTE, failures={"target": "OSError: gone"}), ["could not be read", "OSError: gone"]),
        ("price-unread", SEEN, Look(target="v7", failures={"price": "it gave no answer in 10 seconds"}), ["no answer"]),
        ("price-unread", SEEN, Look(target="v7"), ["nothing in this process reads the price"]),
        ("target-unread", None, looking(), ["when it was asked about is not on record"]),
        ("price-unread", {"target": "v7"}, looking(), ["the price was when it was asked about is not on record"]),
        ("target-unread", {"target": None, "price": "odd"}, looking(), ["not on record"]),
        ("not-looked", SEEN, NOT_TAKEN, ["the process that hosts the tool"]),
    ],
)
def test_a_permit_is_not_given_for_another_thing_than_was_approved(
    rule: str, before: Mapping[str, Any] | None, look: Look, words: list[str]
) -> None:
    verdict = judge_claim(permitted(before), WATCHED, NOW, look=look)

    assert (verdict.allowed, verdict.rule) == (False, rule)
    assert [word for word in words if word not in verdict.reason] == []


def test_what_is_as_it_was_is_dispatched_and_the_reason_is_the_approval() -> None:
    verdict = judge_claim(permitted(SEEN), WATCHED, NOW, look=looking())

    assert (verdict.allowed, verdict.rule) == (True, "approved")


def test_whoever_does_not_want_to_be_told_of_changes_is_not_asked_to_look() -> None:
    call = permitted(None)
    call.approvals[0] = answered(asked())

    assert judge_claim(call, POLICY, NOW).allowed


def test_what_was_permitted_without_an_approval_is_compared_with_what_was_read_at_the_permission() -> None:
    free = ToolPolicy(tool="book", consequences=(Consequence.READ_ONLY,), read_again=("target",))
    call = record(permission={"rule": "no-confirmation-needed", "refused": False, "ref": "ev_2", "looked": {"target": "v7"}})

    assert judge_claim(call, free, NOW, look=Look(target="v7")).allowed
    assert judge_claim(call, free, NOW, look=Look(target="v8")).rule == "target-changed"


def test_an_objection_of_another_kind_is_named_before_a_change() -> None:
    call = permitted(SEEN)
    call.permission = None

    assert judge_claim(call, WATCHED, NOW, look=looking("v8")).rule == "not-permitted"


def test_the_facts_of_a_change_name_each_thing_with_its_old_and_new_text() -> None:
    verdict = judge_difference(("price",), SEEN, looking(price={**QUOTE, "amount": "1", "seat": "1A"}))

    assert verdict.facts == {
        "changed": [{"what": "amount", "before": "412.50", "now": "1"}, {"what": "seat", "before": "14C", "now": "1A"}]
    }


@pytest.mark.parametrize(
    ("given", "text"),
    [("v7", "v7"), (7, "7"), (True, "true"), ({"b": 2, "a": "ø"}, '{"a":"ø","b":2}'), ([1, "x"], '[1,"x"]'), (Decimal("1.10"), '"1.10"')],
)
def test_a_fingerprint_is_short_text(given: object, text: str) -> None:
    assert read_target(given) == text


def test_a_long_fingerprint_or_one_that_cannot_be_shown_stands_on_record_as_its_digest() -> None:
    long, odd = read_target("x" * 201), read_target("a\nb")

    assert long.startswith("sha256:") and odd.startswith("sha256:")
    assert (read_target("x" * 201), read_target("y" * 201) == long) == (long, False)
    assert read_target("x" * 200) == "x" * 200


@pytest.mark.parametrize("nothing", [None, "", float("nan"), {"x": float("inf")}])
def test_what_is_no_fingerprint_is_not_taken_for_one(nothing: object) -> None:
    with pytest.raises(InvalidInput):
        read_target(nothing)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("412.50", "EUR"), {"amount": "412.50", "currency": "EUR"}),
        ([Decimal("412.50"), "EUR"], {"amount": "412.50", "currency": "EUR"}),
        ({"amount": 400, "currency": "EUR"}, {"amount": "400", "currency": "EUR"}),
        ({"currency": "EUR", "seat": "1A", "amount": "1", "bags": 2}, {"amount": "1", "currency": "EUR", "bags": "2", "seat": "1A"}),
    ],
)
def test_a_quote_is_an_amount_in_a_currency_and_what_else_was_offered(given: object, expected: dict[str, str]) -> None:
    assert read_quote(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        None, "412.50 EUR", 412, (), ("1",), ("1", "EUR", "x"), {}, {"amount": "1"}, {"currency": "EUR"},
        {"amount": "-1", "currency": "EUR"},
        {"amount": float("nan"), "currency": "EUR"}, {"amount": "1", "currency": "EUR", **{f"t{n}": n for n in range(19)}},
    ],
)  # fmt: skip  # a table
def test_what_says_no_price_is_no_quote(given: object) -> None:
    with pytest.raises(InvalidInput) as wrong:
        read_quote(given)
    assert wrong.value.remedy


def test_what_was_read_is_said_in_one_line_with_what_has_changed() -> None:
    said = words_of(looking(), [Change(what="amount", before="400.00", now="412.50"), {"what": "seat", "before": "1A", "now": "14C"}])

    assert said == (
        "target as read now: v7; price as read now: 412.50 EUR; seat: 14C; changed since the last request: amount 400.00 → 412.50; "
        "changed since the last request: seat 1A → 14C"
    )
    assert words_of(Look()) == ""


@given(st.dictionaries(st.sampled_from(["seat", "bag", "fee"]), st.text(max_size=12)), st.text(min_size=1, max_size=300))
def test_two_looks_at_the_same_thing_never_differ(terms: dict[str, str], fingerprint: str) -> None:
    look = Look(target=read_target(fingerprint), price=read_quote({"amount": "1", "currency": "EUR", **terms}))

    assert judge_difference(("target", "price"), look.plain, look).allowed
    assert judge_look(("target", "price"), look).allowed


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_two_different_targets_always_differ(one: str, other: str) -> None:
    verdict = judge_difference(("target",), Look(target=read_target(one)).plain, Look(target=read_target(other)))

    assert verdict.allowed is (one == other)


# ── declaring it ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_read_again_is_declared_in_the_policy_file_and_counts_together_with_the_tools_own() -> None:
    file = read_policy_file('[tools.book]\nconsequences = ["externally-visible"]\nread_again = ["price"]\n')
    own = ToolPolicy(tool="book", read_again=("target",), consequences=file.tools["book"].consequences)

    assert file.govern("book").read_again == ("price",)
    assert stricter(own, file.tools["book"]).read_again == ("target", "price")


@pytest.mark.parametrize(
    ("written", "line", "word"),
    [
        ('read_again = ["colour"]', 3, "holds 'colour'"),
        ('read_again = "target"', 3, "is a str"),
        ('inverse = { tool = "cancel", leaves = 3, verified_by = "x" }', 3, "is a number and not a text"),
        ('inverse = { tool = "cancel", left = "x" }', 3, "says nothing here"),
        ('inverse = { tool = "cancel", window_seconds = -1 }', 3, "window_seconds"),
    ],
)
def test_a_mistake_in_the_file_names_its_line(written: str, line: int, word: str) -> None:
    with pytest.raises(InvalidInput) as wrong:
        read_policy_file(f'[tools.book]\nconsequences = ["reversible"]\n{written}\n', "team.toml")
    assert wrong.value.message.startswith(f"team.toml, line {line}: tools.book.")
    assert word in wrong.value.message


def test_a_policy_that_says_nothing_of_it_keeps_its_version_and_one_that_does_survives_being_written() -> None:
    plain = ToolPolicy(tool="t", inverse=Inverse(tool="u", verified_by="x"))
    said = replace(plain, read_again=("target",), inverse=Inverse(tool="u", verified_by="x", leaves="the fee"))

    assert len({plain.version, said.version, replace(said, read_again=()).version}) == 3
    assert read_policy(write_policy(said)) == said
    assert ToolPolicy(tool="t").version == "pol_8a39b40fd524560367546ca1", "as it was before anything was read again"
