"""What a person is shown of a sealed value: what is there, and in words what is not."""

import json

from tests.unit.presentation.scene import Scene
from toolwitness.core.values import MARKER, Hidden, Redacted
from toolwitness.core.verdicts import Control
from toolwitness.presentation.values import SHOWN_BYTES, members, read, redacted, scalar, written

NAMED = {MARKER: "named password"}


def sealed(shown: object, *hidden: tuple[str, str]) -> Redacted:
    raw = shown if isinstance(shown, bytes) else json.dumps(shown).encode()
    return Redacted(raw, tuple(Hidden(at=at, by=by) for at, by in hidden))


def test_a_sealed_value_is_never_said_to_be_complete_and_names_what_is_missing() -> None:
    text = read(sealed({"user": "ann", "password": NAMED}, ("/password", "named password")))
    assert (text.complete, text.is_json) == (False, True)
    assert text.note == "Sealed; not shown: /password (named password)."
    assert [(name, scalar(inner)) for name, inner in members(text.parsed)] == [
        ("user", "ann"), ("password", "(redacted: named password)")
    ]  # fmt: skip  # pairs in a line
    assert json.loads(text.text) == {"user": "ann", "password": NAMED}
    assert json.loads(written(dict(members(text.parsed))["password"])) == NAMED


def test_what_is_missing_inside_a_value_is_said_in_words_where_a_person_reads_it_in_a_line() -> None:
    text = read(sealed({"guests": [{"name": "Ann", "passport": NAMED}], "n": 1.50}, ("/guests/0/passport", "x")))
    assert scalar(dict(members(text.parsed))["guests"]) == '[{"name": "Ann", "passport": (redacted: named password)}]'


def test_redacted_inputs_are_not_called_exact() -> None:
    scene = Scene()
    scene.proposed(0, inputs='{"password":"x"}')
    assert "Inputs, exactly" in {d["title"] for d in scene.card()["disclosures"]}
    scene.values[scene.record.inputs["ref"]] = sealed({"password": NAMED}, ("/password", "named password"))
    titles = {d["title"] for d in scene.card()["disclosures"]}
    assert "Inputs, but for what is redacted" in titles
    assert "Inputs, exactly" not in titles


def test_data_that_looks_like_a_marker_is_data() -> None:
    text = read(json.dumps({"password": NAMED}).encode())
    assert (text.complete, text.note, text.hidden) == (True, "", ())
    assert scalar(dict(members(text.parsed))["password"]) == '{"toolwitness.redacted": "named password"}'


def test_a_list_and_a_text_and_a_whole_value_can_be_sealed() -> None:
    assert "(redacted" in scalar(read(sealed([1, NAMED], ("/1", "x"))).parsed[1])
    text = read(sealed(b"boom [redacted]", ("", "it repeats a secret of this call")))
    assert (text.text, text.is_json, text.complete) == ("boom [redacted]", False, False)
    assert text.note == "Sealed; not shown: all or part of it (it repeats a secret of this call)."
    assert scalar(read(sealed(NAMED, ("", "x"))).parsed) == "(redacted: named password)"


def test_many_hidden_places_are_counted_and_a_long_copy_is_cut() -> None:
    text = read(sealed({"a": "x" * SHOWN_BYTES, "p": NAMED}, *[(f"/{n}", "x") for n in range(12)]))
    assert "and 4 more" in text.note
    assert len(text.text) == SHOWN_BYTES


def test_what_was_redacted_on_its_way_out_of_the_seal_is_not_redacted_again() -> None:
    text = read(sealed({"password": NAMED}, ("/password", "named password")))
    assert redacted(text, ["/password"]) is text


def test_an_edit_form_offers_a_redacted_input_and_says_what_keeps_it() -> None:
    scene = Scene()
    scene.proposed(0, inputs='{"user":"ann","password":"x","a/b":{"cvv":1}}')
    ref = scene.record.inputs["ref"]
    shown = {"user": "ann", "password": NAMED, "a/b": {"cvv": NAMED}}
    scene.values[ref] = sealed(shown, ("/password", "named password"), ("/a~1b/cvv", "named cvv"), ("", "x"))
    edit = Control(action="edit_inputs", enabled=True, rule="", reason="")
    card = scene.card(controls=[edit], redact=["/user"])
    labels = {field["name"]: field["label"] for field in card["controls"][0]["fields"]}
    kept = " (redacted: what is left as it is, is kept)"
    assert labels == {"user": "user", "password": f"password{kept}", "a/b": f"a/b{kept}"}
    assert json.loads(next(f["value"] for f in card["controls"][0]["fields"] if f["name"] == "password")) == NAMED
