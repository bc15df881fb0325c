"""What a policy says of secrets: at the tool, in the file, in both, and in what it explains of itself."""

import pytest

from toolwitness.core.errors import InvalidInput
from toolwitness.policy.explain import explain_answers
from toolwitness.policy.files import read_policy_file
from toolwitness.policy.merge import stricter
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.policy.written import read_policy, write_policy


def test_where_both_name_secrets_all_of_them_count() -> None:
    one = ToolPolicy(tool="t", redact=("/a", "/b"), redact_outputs=("/x",))
    other = ToolPolicy(tool="t", redact=("/b", "/c/*"), redact_outputs=("/y",))
    both = stricter(one, other)
    assert (both.redact, both.redact_outputs) == (("/a", "/b", "/c/*"), ("/x", "/y"))
    assert stricter(both, other) == both


def test_reasons_why_names_are_plain_are_both_kept() -> None:
    one, other = ToolPolicy(tool="t", plain_names="words are counted"), ToolPolicy(tool="t", plain_names="no secrets here")
    both = stricter(one, other)
    assert both.plain_names == "words are counted; no secrets here"
    assert stricter(both, other) == both
    assert stricter(ToolPolicy(tool="t"), one).plain_names == "words are counted"


def test_what_is_redacted_is_part_of_what_an_approval_is_bound_to() -> None:
    versions = {
        ToolPolicy(tool="pay").version,
        ToolPolicy(tool="pay", redact_outputs=("/a",)).version,
        ToolPolicy(tool="pay", plain_names="why").version,
    }
    assert len(versions) == 3


def test_what_is_redacted_survives_being_written_down() -> None:
    policy = ToolPolicy(tool="t", redact=("/a/*/b",), redact_outputs=("",), plain_names="why")
    assert read_policy(write_policy(policy)) == policy


def test_the_file_says_it_in_its_own_words() -> None:
    pay = '[tools.pay]\nredact = ["/card/number"]\nredact_outputs = ["/*/token"]\nplain_names = "tokens are words"\n'
    text = f'{pay}[unknown_tools]\nredact_outputs = ["/x"]\n'
    file = read_policy_file(text)
    said = file.govern("pay")
    assert (said.redact, said.redact_outputs, said.plain_names) == (("/card/number",), ("/*/token",), "tokens are words")
    assert file.govern("anything else").redact_outputs == ("/x",)


@pytest.mark.parametrize(("said", "field"), [
    ('redact_outputs = ["token"]', "redact_outputs"),
    ('redact_outputs = "/token"', "redact_outputs"),
    ('redact = ["/a~2"]', "redact"),
    ("plain_names = true", "plain_names"),
    ('plain_names = " why "', "plain_names"),
    ('redact_output = ["/token"]', "redact_output"),
])  # fmt: skip  # a table
def test_a_mistake_is_named_with_its_line(said: str, field: str) -> None:
    with pytest.raises(InvalidInput) as wrong:
        read_policy_file(f"[tools.pay]\n{said}\n")
    assert (wrong.value.facts["line"], field in str(wrong.value)) == (2, True)


def test_a_reason_that_is_no_text_is_refused_at_the_tool() -> None:
    with pytest.raises(InvalidInput, match="plain_names"):
        ToolPolicy(tool="t", plain_names=True)  # type: ignore[arg-type]  # what is refused


def test_the_policy_explains_what_is_redacted_and_by_what() -> None:
    said = {one.question: (one.answer, one.by) for one in explain_answers(ToolPolicy(tool="t", redact=("/a", "/b"), redact_outputs=("",)))}
    assert said["redacted of its inputs"] == ("/a, /b", "redact")
    assert said["redacted of its outputs"] == ("all of them", "redact_outputs")
    assert said["redacted by name"][1] == "the default"
    plain = {one.question: (one.answer, one.by) for one in explain_answers(ToolPolicy(tool="t", plain_names="words are counted"))}
    assert plain["redacted by name"] == ("nothing: words are counted", "plain_names")
    assert "redacted of its inputs" not in plain
