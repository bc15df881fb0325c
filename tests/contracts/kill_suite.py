"""The suite that mutants must not survive: our own tests of the rooms that decide, called as the plain functions that they are.

pytest takes a second to begin; a thousand mutants have no such second. What needs a fixture, and what draws examples at random, is left to
the ordinary run.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.contracts.mutants import CORE, POLICY
from toolwitness.testing.model.search import Walk
from toolwitness.testing.model.world import Stage

_ROOMS = Path(__file__).parents[1] / "unit"
_FIRST = {CORE: ("test_matrix", "test_small_print", "test_decisions", "test_readings", "test_terminal"), POLICY: ("test_small_print",)}
"""The files that kill most at the least cost come first."""
MODEL_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Case:
    """One test with one set of its parameters."""

    file: str
    name: str
    call: Callable[[], Any]

    def fails(self) -> str:
        """Run it, and give the kind of error with which it fails; empty where it passes."""
        try:
            answer = self.call()
            if inspect.iscoroutine(answer):
                asyncio.run(answer)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a mutant may break anything, and pytest's own failures are no Exception
            return type(error).__name__
        return ""


def cases_of(room: str) -> list[Case]:
    """Give all cases of a room's tests, and the model checker at a small depth as the last one."""
    first = _FIRST[room]
    place = {name: number for number, name in enumerate(first)}
    files = sorted((_ROOMS / room).glob("test_*.py"), key=lambda path: (place.get(path.stem, len(first)), path.stem))
    found = [case for path in files for case in _cases_in(import_module(f"tests.unit.{room}.{path.stem}"))]
    return [*found, Case("model", f"every order of {MODEL_DEPTH} steps", check_model)]


def check_model() -> None:
    """Walk the model a little way; every law must hold."""

    async def walk() -> None:
        stage = Stage()
        report = await Walk(stage).run(await stage.two_siblings(), depth=MODEL_DEPTH)
        assert report.broken == []

    asyncio.run(walk())


def _cases_in(module: ModuleType) -> Iterator[Case]:
    for name, function in list(vars(module).items()):
        if not name.startswith("test_") or not inspect.isfunction(function) or hasattr(function, "hypothesis"):
            continue
        wanted = set(inspect.signature(function).parameters)
        for given in _parameter_sets(function):
            if set(given) == wanted:
                yield Case(module.__name__.rpartition(".")[2], name, partial(function, **given))


def _parameter_sets(function: Callable[..., Any]) -> list[dict[str, Any]]:
    sets: list[dict[str, Any]] = [{}]
    for mark in getattr(function, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        named = mark.args[0]
        names = [one.strip() for one in named.split(",")] if isinstance(named, str) else list(named)
        sets = [{**known, **dict(zip(names, _values(row, names), strict=True))} for row in mark.args[1] for known in sets]
    return sets


def _values(row: Any, names: list[str]) -> tuple[Any, ...]:
    inner = row.values if type(row).__name__ == "ParameterSet" else (row,) if len(names) == 1 else row
    return tuple(inner)
