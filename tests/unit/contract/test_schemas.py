"""The published schemas are those of the models."""

import json
from pathlib import Path

import jsonschema
import pytest

from toolwitness.contract.schemas import NAMES, main, schema, text
from toolwitness.core.errors import InvalidInput

FILES = Path(__file__).parents[3] / "spec" / "schemas"


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_what_the_models_say(name: str) -> None:
    assert (FILES / f"{name}.schema.json").read_text(encoding="utf-8") == text(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_a_schema_with_a_name_of_its_own(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"] == f"urn:toolwitness:schema:{name}:1"


def test_there_is_no_schema_of_another_name() -> None:
    with pytest.raises(InvalidInput, match="contract, task, event"):
        schema("card")


def test_the_command_names_what_differs_and_writes_it_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--directory", str(tmp_path / "schemas")]
    assert main(where) == 1
    assert "differs from the models" in capsys.readouterr().out
    assert main([*where, "--write"]) == 0
    assert main(where) == 0
    assert json.loads((tmp_path / "schemas" / "event.schema.json").read_text(encoding="utf-8")) == schema("event")
