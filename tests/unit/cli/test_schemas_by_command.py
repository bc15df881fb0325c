"""The schemas that the command prints take the seed's samples, and none that lacks a fact."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.unit.cli.terminals import document, toolwitness

SPEC = Path(__file__).resolve().parents[3] / "spec"
SAMPLES = {"contract": "invocation.json", "task": "task.json"}
Path_ = tuple[str | int, ...]


def leaves(node: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Give the path of every field that holds no object of its own, those of objects in lists too."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for step, value in inner:
        deeper = list(leaves(value, (*path, step)))
        yield from deeper or ([(*path, step)] if isinstance(node, dict) else [])


def without(sample: Any, path: Path_) -> Any:
    """Give a sample that lacks one field."""
    lacking = copy.deepcopy(sample)
    parent = lacking
    for step in path[:-1]:
        parent = parent[step]
    del parent[path[-1]]
    return lacking


@pytest.mark.parametrize(("name", "file"), SAMPLES.items())
def test_a_printed_schema_takes_the_sample_and_refuses_it_without_any_one_required_leaf(name: str, file: str, tmp_path: Path) -> None:
    printed = document(toolwitness("schema", name, folder=tmp_path))
    sample = json.loads((SPEC / "samples" / file).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(printed)
    validator = Draft202012Validator(printed)
    validator.validate(sample)
    required = [path for path in leaves(sample) if path != ("exampleStatus",)]  # says that it is an example; a record is none
    assert len(required) > 40
    assert [path for path in required if validator.is_valid(without(sample, path))] == []


def test_the_printed_schema_of_events_takes_every_event_that_the_command_prints(tmp_path: Path) -> None:
    validator = Draft202012Validator(document(toolwitness("schema", "event", folder=tmp_path)))
    told = document(toolwitness("demo", "--autopilot", "--json", "--port", "0", "--pace", "0.03", folder=tmp_path))
    assert [error.message for event in told["events"] for error in validator.iter_errors(event)] == []
    for name, key in (("contract", "invocations"), ("task", "tasks")):
        validator = Draft202012Validator(document(toolwitness("schema", name, folder=tmp_path)))
        assert [error.message for made in told[key] for error in validator.iter_errors(made)] == []


def test_what_is_printed_is_what_is_published(tmp_path: Path) -> None:
    for name in ("contract", "task", "event"):
        published = json.loads((SPEC / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
        assert document(toolwitness("schema", name, folder=tmp_path)) == published
