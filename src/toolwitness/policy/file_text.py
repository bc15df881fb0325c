"""The text of a policy file as plain tables, and on which line each of their entries stands: TOML, and YAML where PyYAML is installed.

Nothing here knows what a policy is. What two readers could read differently (a key that stands there twice) is refused.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput

Path = tuple[str, ...]
"""The keys that lead to an entry; the place in a list is its number as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """A policy file that could be read: what it says, and where."""

    name: str
    said: Mapping[str, Any]
    lines: Mapping[Path, int]

    def line(self, *path: str) -> int:
        """Give the line of an entry or of the first thing in it, else of the nearest table around it; 1 where nothing is known."""
        for length in range(len(path), 0, -1):
            inside = [line for place, line in self.lines.items() if place[:length] == path[:length]]
            if inside:
                return self.lines.get(path[:length], min(inside))
        return 1

    def wrong(self, *path: str, what: str, remedy: str) -> InvalidInput:
        """Make the error of an entry: file, line, field, what is wrong with it, and the fix."""
        line, field = self.line(*path), ".".join(path)
        return _error(self.name, line, field, what, remedy)


def _error(name: str, line: int, field: str, what: str, remedy: str) -> InvalidInput:
    where = f"{field} {what}" if field else what
    return InvalidInput(f"{name}, line {line}: {where}.", remedy=remedy, field=field or "policy", file=name, line=line)


def read_text(text: str, name: str) -> FileText:
    """Read a policy file's text; a name that ends in ``.yaml`` or ``.yml`` is YAML, any other TOML.

    Raises:
        InvalidInput: it cannot be read; the line is named.
    """
    return _yaml(text, name) if name.lower().endswith((".yaml", ".yml")) else _toml(text, name)


# ── TOML ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_AT_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")
_HEADER: Final = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_ONE_KEY: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_ENTRY: Final = re.compile(rf"^\s*({_ONE_KEY}(?:\s*\.\s*{_ONE_KEY})*)\s*=")
_KEY: Final = re.compile(r"""([A-Za-z0-9_-]+)|"((?:[^"\\]|\\.)*)"|'([^']*)'""")


def _toml(text: str, name: str) -> FileText:
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        what = f"it is no TOML: {_AT_LINE.sub('', str(error)).strip()}"
        raise _error(name, line, "", what, "Write tables such as [tools.NAME] with lines such as approval_seconds = 300.") from None
    return FileText(name=name, said=said, lines=dict(_toml_lines(text)))


def _toml_lines(text: str) -> Iterator[tuple[Path, int]]:
    """Find the line of each table and key. A line inside a text of several lines may be taken for one: it then names no entry."""
    table: Path = ()
    places: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        entry = None if header else _ENTRY.match(line)
        if header:
            table = _keys(header[2])
            if header[1] == "[[":
                places[table] = places.get(table, -1) + 1
                table = (*table, str(places[table]))
            yield table, number
        elif entry:
            yield (*table, *_keys(entry[1])), number


def _keys(written: str) -> Path:
    return tuple(bare or double or single for bare, double, single in _KEY.findall(written))


# ── YAML ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _yaml(text: str, name: str) -> FileText:
    try:
        yaml: Any = import_module("yaml")  # an extra: who writes TOML needs nothing
    except ImportError:
        raise _error(name, 1, "", "YAML cannot be read here", 'Install it with pip install "toolwitness[yaml]", or write TOML.') from None
    try:
        node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        said: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = f"it is no YAML: {getattr(error, 'problem', None) or type(error).__name__}"
        raise _error(name, mark.line + 1 if mark else 1, "", what, "Write tables such as tools:, indented below their name.") from None
    except (ValueError, RecursionError) as error:
        raise _error(name, 1, "", f"a value cannot be read ({type(error).__name__})", "Write plain texts, numbers and lists.") from None
    if said is None:
        return FileText(name=name, said={}, lines={})
    if not isinstance(said, dict):
        raise _error(name, 1, "", f"it holds a {type(said).__name__} and not a table", "Write tables such as tools:, one below the other.")
    lines: dict[Path, int] = {}
    _walk(node, (), name, lines)
    return FileText(name=name, said=cast("dict[str, Any]", said), lines=lines)


def _walk(node: Any, path: Path, name: str, lines: dict[Path, int]) -> None:
    """Note the line of each entry under a node.

    Raises:
        InvalidInput: a key stands there twice, or is no plain text.
    """
    if len(path) > _DEEPEST:
        raise _error(name, node.start_mark.line + 1, ".".join(path[:3]), "goes deeper than a policy does", "Leave out what is no policy.")
    if node.id == "sequence":
        for place, item in enumerate(node.value):
            lines[*path, str(place)] = item.start_mark.line + 1
            _walk(item, (*path, str(place)), name, lines)
    if node.id != "mapping":
        return
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.tag != "tag:yaml.org,2002:str":
            raise _error(name, line, ".".join(path), f"has the key {key.value}, which is no text", "Put the key in quotes.")
        here = (*path, str(key.value))
        if here in lines:
            raise _error(name, line, ".".join(here), f"stands there twice, first on line {lines[here]}", "Keep one of them.")
        lines[here] = line
        _walk(value, here, name, lines)


_DEEPEST: Final = 12
