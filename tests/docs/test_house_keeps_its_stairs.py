"""The house is built as ARCHITECTURE.md draws it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "toolwitness"
FILES = sorted(PACKAGE.rglob("*.py"))
ROOM_FILES = [file for file in FILES if file != PACKAGE / "__init__.py"]
SUBMODULES = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()} - {"__init__"}
STANDARD = sys.stdlib_module_names


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def imports_of(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each imported module with the names taken from it, wherever in the file the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), tuple(alias.name for alias in node.names)


def test_imports_go_down_the_stairs_only() -> None:
    run = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_drawing_and_the_checked_contract_show_the_same_stairs() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    expected = [re.findall(r"[a-z]+", layer) for layer in next(c for c in contracts if c["id"] == "stairs")["layers"]]
    drawing = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("```")[1]
    actual = [re.findall(r"[a-z]+", line.split("   ")[0]) for line in drawing.strip().splitlines()]
    assert actual == expected


def test_every_room_is_described() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {f"{path.name}/" if path.is_dir() else path.name for path in PACKAGE.iterdir() if path.stem in SUBMODULES}
    rooms = {room for room in rooms if not room.startswith(("_", "."))}
    assert {room for room in rooms if f"`{room}`" not in text} == set()


@pytest.mark.parametrize("path", ROOM_FILES, ids=name_of)
def test_no_room_imports_the_root_package(path: Path) -> None:
    taken = [(module, names) for module, names in imports_of(path) if module == "toolwitness" and not (names and set(names) <= SUBMODULES)]
    assert taken == [], "import from the room below; the root package is the users' face"


@pytest.mark.parametrize("path", [f for f in ROOM_FILES if f.relative_to(PACKAGE).parts[0] in {"core", "wire"}], ids=name_of)
def test_the_ground_floor_stands_on_the_standard_library_alone(path: Path) -> None:
    foreign = [module for module, _ in imports_of(path) if module.split(".")[0] not in STANDARD | {"toolwitness"}]
    assert foreign == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_file_says_in_its_first_line_what_it_promises(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not tree.body or ast.get_docstring(tree), "the module has no docstring"


def test_the_package_declares_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()
