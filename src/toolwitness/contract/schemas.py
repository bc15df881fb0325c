"""The published JSON Schemas (2020-12), generated from the models; ``spec/schemas/`` holds them and a test checks for
drift.

``python -m toolwitness.contract.schemas --write`` writes them anew.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from toolwitness.contract.envelope import EventEnvelope
from toolwitness.contract.invocation import InvocationDocument
from toolwitness.contract.task import TaskDocument
from toolwitness.core.errors import InvalidInput

Name: TypeAlias = Literal["contract", "task", "event"]

_MODELS: Final[dict[str, tuple[type[BaseModel], str]]] = {
    "contract": (InvocationDocument, "tool-call-ui/1 invocation document"),
    "task": (TaskDocument, "tool-call-ui/1 task document"),
    "event": (EventEnvelope, "toolwitness event envelope (CloudEvents 1.0)"),
}

NAMES: Final = tuple(_MODELS)
"""The names of the schemas there are."""


def schema(name: Name | str) -> dict[str, Any]:
    """Give the JSON Schema called ``name``: ``contract``, ``task`` or ``event``.

    Raises:
        InvalidInput: there is no schema of that name.
    """
    if name not in _MODELS:
        raise InvalidInput(f"There is no schema {name!r}.", remedy=f"Use one of {', '.join(NAMES)}.", field="name")
    model, title = _MODELS[name]
    generated = model.model_json_schema(by_alias=True, mode="validation")
    head = {"$schema": GenerateJsonSchema.schema_dialect, "$id": f"urn:toolwitness:schema:{name}:1", "title": title}
    return {**head, **{key: value for key, value in generated.items() if key != "title"}}


def text(name: Name | str) -> str:
    """Give the schema called ``name`` as it stands in its file."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the schema files, or tell which of them differ from the models (exit code 1)."""
    parser = argparse.ArgumentParser(prog="python -m toolwitness.contract.schemas", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files instead of comparing them")
    parser.add_argument("--directory", type=Path, default=Path("spec/schemas"), help="where they lie")
    options = parser.parse_args(arguments)
    differing: list[str] = []
    for name in NAMES:
        path: Path = options.directory / f"{name}.schema.json"
        if path.is_file() and path.read_text(encoding="utf-8") == text(name):
            continue
        differing.append(str(path))
        if options.write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(name), encoding="utf-8")
    for path_text in differing:
        sys.stdout.write(f"{'written' if options.write else 'differs from the models'}: {path_text}\n")
    return 1 if differing and not options.write else 0


if __name__ == "__main__":
    sys.exit(main())
