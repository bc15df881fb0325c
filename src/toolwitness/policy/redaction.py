"""Which parts of a value are secret, and the copy of it that may be shown.

Three things make a part secret: a JSON Pointer of the tool's policy, a name that sounds secret (``password``, ``api_key``, ``cvv``), and
that it repeats a secret of the same call. Everything else in the copy stays as it was written, digit for digit. What cannot be read well
enough to tell is hidden as a whole.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from json import JSONDecoder
from typing import Any, Final, TypeAlias, cast
from urllib.parse import quote, quote_plus

from toolwitness.core.strict_json import pointer, walk
from toolwitness.core.values import MARKER, Hidden
from toolwitness.policy.secret_names import is_secret_name, may_be_named

Steps: TypeAlias = tuple[str, ...]

IN_TEXT: Final = "[redacted]"
"""What stands in the place of a secret inside a text."""
DECLARED: Final = "declared in the tool's policy"
REPEATED: Final = "it repeats a secret of this call"
UNREADABLE: Final = "it cannot be read well enough to tell what in it is secret"
_SHORTEST: Final = 3
"""Shorter secrets are hidden where they stand and not searched for elsewhere: they would be found in every text."""
_SHORT: Final = 6
"""A secret shorter than this is looked for as a whole word only."""
_DEEPEST: Final = 200
_SHOWN: Final = 40
"""How much of a secret's name is said."""
_MARKS: Final = f'{{"{MARKER}":'
_BLANK: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is secret in one value."""

    pointers: tuple[str, ...] = ()
    """JSON Pointers; a step ``*`` stands for any member or item."""
    names: str = "yes"
    """``yes`` where names that sound secret count; ``no`` where the tool's policy says why they do not."""
    known: tuple[str, ...] = ()
    """The secrets of the same call that are known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A value without its secrets, what is missing from it, and the secrets themselves, to be looked for elsewhere."""

    shown: str
    hidden: tuple[Hidden, ...]
    secrets: tuple[str, ...]


def marker(by: str) -> str:
    """Write what stands in the place of a secret."""
    return json.dumps({MARKER: by}, separators=(",", ":"))


def is_marker(value: object) -> bool:
    """Tell whether a JSON value is what stands in the place of a secret."""
    return isinstance(value, dict) and len(cast("dict[Any, Any]", value)) == 1 and MARKER in value


def redact(raw: bytes, rules: Rules) -> Redaction | None:
    """Give the copy of a value that may be shown; ``None`` where nothing in it is secret, so that the value itself may be."""
    named = rules.names == "yes" and may_be_named(raw)
    by_name_alone = not rules.pointers and not _may_repeat(raw, rules.known)
    if by_name_alone and not named:
        return None
    text = _decoded(raw)
    try:
        glance = _Glance()
        glance.over(text.removeprefix("\ufeff"))
        if by_name_alone and glance.is_plain(rules):
            return None
        found = _Reading(text, rules)
        found.read()
    except (ValueError, RecursionError):
        return _redact_text(text, rules, named="yes" if named else "no")
    if not found.hidden:
        return None
    shown = found.written()
    if _repeats(found.left(), found.secrets):  # a spelling that was not thought of must not be shown
        return _whole(UNREADABLE, found.secrets)
    return Redaction(shown=shown, hidden=tuple(found.hidden), secrets=tuple(dict.fromkeys(found.secrets)))


def scrub(said: Any, known: Sequence[str]) -> Any:
    """Give the fields of an event without the secrets of its call; references, ids, times and amounts are left as they are."""
    if isinstance(said, str):
        return scrub_text(said, known)
    if isinstance(said, dict):
        members = cast("dict[str, Any]", said)
        if "ref" in members and "digest" in members:
            return members
        return {name: inner if _is_structure(name) else scrub(inner, known) for name, inner in members.items()}
    if isinstance(said, list | tuple):
        return [scrub(inner, known) for inner in cast("Sequence[Any]", said)]
    return said


def scrub_text(text: str, known: Sequence[str]) -> str:
    """Give a text in which ``[redacted]`` stands for every secret that it repeats."""
    pattern = _pattern(tuple(known))
    return text if pattern is None else pattern.sub(IN_TEXT, text)


def markers_in(value: Any) -> list[str]:
    """Name, as JSON Pointers, the places of a JSON value that hold no value and only say that one is redacted."""
    return [pointer(path) for path, node in walk(value) if is_marker(node)]


# ── a glance ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Glance:
    """What is seen of a JSON text while it is parsed, which is many times quicker than to read where in it everything stands."""

    names_secret: bool = False
    """A member of a secret name has a value that can be one."""
    _level: list[Any] = field(default_factory=list[Any])

    def over(self, text: str) -> None:
        """Parse the text.

        Raises:
            ValueError: it is not JSON.
        """
        self._level = [json.loads(text, object_pairs_hook=self._members)]

    def is_plain(self, rules: Rules) -> bool:
        """Tell whether nothing in it is secret by its name, also inside texts that are JSON themselves; never wrong where it says yes."""
        if self.names_secret:
            return False
        level = self._level
        for _ in range(_DEEPEST + 1):
            below: list[Any] = []
            for node in level:
                if type(node) is list:
                    below += cast("list[Any]", node)
                elif type(node) is str and node.startswith(("{", "[")) and self._hides_some(node, rules):
                    return False
            if not below:
                return True
            level = below
        return False

    def _hides_some(self, text: str, rules: Rules) -> bool:
        return redact(text.encode("utf-8", "surrogatepass"), Rules(names=rules.names, known=rules.known)) is not None

    def _members(self, members: list[tuple[str, Any]]) -> list[Any]:
        """Look at the names of one object, of those that are there twice at both, and give its values."""
        for name, value in members:
            if is_secret_name(name) and _can_be_secret(name, value):
                self.names_secret = True
        return [value for _, value in members]


def _can_be_secret(name: str, value: Any) -> bool:
    """Tell the same of a parsed value as ``_Reading`` tells of a written one."""
    if value is None or isinstance(value, bool):
        return False
    if isinstance(value, str | list):
        return bool(cast("str | list[Any]", value))
    return not name[:_SHOWN].lower().endswith("s")


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Reading:
    """One pass over a JSON text, which is known to be JSON: what is replaced, and why."""

    text: str
    rules: Rules
    edits: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    hidden: list[Hidden] = field(default_factory=list[Hidden])
    secrets: list[str] = field(default_factory=list[str])

    def read(self) -> None:
        """Find everything that is secret: first by pointer and name, then whatever repeats it."""
        pointers = [tuple(_unescaped(step) for step in one.split("/")[1:]) for one in self.rules.pointers]
        start = self._skip(1 if self.text.startswith("\ufeff") else 0)
        self._known = _pattern(self.rules.known)
        self._value(start, (), pointers, "")
        own = [secret for secret in self.secrets if secret not in self.rules.known]
        if any(len(secret) >= _SHORTEST for secret in own):
            self.edits.clear()
            self.hidden.clear()
            self._known = _pattern((*self.rules.known, *self.secrets))
            self._value(start, (), pointers, "")

    _known: re.Pattern[str] | None = None

    def written(self) -> str:
        """Write the text with everything replaced."""
        return self._with(self.edits)

    def left(self) -> str:
        """Write what is left of the text, without the words that are ours."""
        return self._with([(start, end, "0" if instead.startswith(_MARKS) else instead) for start, end, instead in self.edits])

    def _with(self, edits: Sequence[tuple[int, int, str]]) -> str:
        parts: list[str] = []
        at = 0
        for start, end, instead in sorted(edits):
            parts += [self.text[at:start], instead]
            at = end
        return "".join([*parts, self.text[at:]])

    def _value(self, at: int, path: Steps, pointers: Sequence[Steps], by: str) -> int:
        """Read the value at ``at`` and give its end; ``by`` says why it is secret, where its name does."""
        if len(path) > _DEEPEST:
            raise ValueError("nested too deep")
        if () in pointers:
            return self._hide(at, path, DECLARED)
        if by and self._is_something(at, by):
            return self._hide(at, path, by)
        match self.text[at]:
            case "{":
                return self._members(at, path, pointers)
            case "[":
                return self._items(at, path, pointers)
            case _:
                return self._scalar(at, path)

    def _members(self, at: int, path: Steps, pointers: Sequence[Steps]) -> int:
        at = self._skip(at + 1)
        while self.text[at] != "}":
            key, end = _DECODER.raw_decode(self.text, at)
            if self._known is not None and self._known.search(key):
                self._replace(at, end, json.dumps(self._known.sub(IN_TEXT, key)), path, REPEATED)
            by = f"named {key[:_SHOWN]}" if self.rules.names == "yes" and is_secret_name(key) else ""
            start = self._skip(self._skip(end) + 1)
            at = self._next(self._value(start, (*path, key), _below(pointers, key), by))
        return at + 1

    def _items(self, at: int, path: Steps, pointers: Sequence[Steps]) -> int:
        at, number = self._skip(at + 1), 0
        while self.text[at] != "]":
            step = str(number)
            at = self._next(self._value(at, (*path, step), _below(pointers, step), ""))
            number += 1
        return at + 1

    def _scalar(self, at: int, path: Steps) -> int:
        value, end = _DECODER.raw_decode(self.text, at)
        if isinstance(value, str):
            self._string(at, end, value, path)
        elif self._known is not None and not isinstance(value, bool) and value is not None and self._known.fullmatch(self.text[at:end]):
            self._replace(at, end, marker(REPEATED), path, REPEATED)
        return end

    def _string(self, at: int, end: int, value: str, path: Steps) -> None:
        """Look into a text: it may repeat a secret, and it may be JSON that was written into a text, as models' arguments are."""
        if value[:1] in {"{", "["} and (inner := self._inside(value)) is not None:
            self.secrets += inner.secrets
            self._replace(at, end, json.dumps(inner.shown), path, inner.hidden[0].by)
        elif self._known is not None and self._known.search(value):
            whole = self._known.fullmatch(value)
            instead = marker(REPEATED) if whole else json.dumps(self._known.sub(IN_TEXT, value))
            self._replace(at, end, instead, path, REPEATED)

    def _inside(self, value: str) -> Redaction | None:
        known = tuple(dict.fromkeys((*self.rules.known, *self.secrets)))
        return redact(value.encode("utf-8", "surrogatepass"), Rules(names=self.rules.names, known=known))

    def _is_something(self, at: int, by: str) -> bool:
        """Tell whether a value under a secret name can be one: true, false, nothing and what is empty tell nothing."""
        start = self.text[at]
        if start in "{[":
            return self.text[self._skip(at + 1)] not in "}]"
        if start == '"':
            return self.text[at + 1] != '"'
        return start not in "tfn" and not by.lower().endswith("s")  # how many tokens there were is no token

    def _hide(self, at: int, path: Steps, by: str) -> int:
        end = _DECODER.raw_decode(self.text, at)[1]
        self.secrets += _scalars(self.text[at:end])
        self._replace(at, end, marker(by), path, by)
        return end

    def _replace(self, start: int, end: int, instead: str, path: Steps, by: str) -> None:
        self.edits.append((start, end, instead))
        at = pointer(path)
        if self._known is not None:
            at, by = self._known.sub(IN_TEXT, at), self._known.sub(IN_TEXT, by)
        self.hidden.append(Hidden(at=at, by=by))

    def _skip(self, at: int) -> int:
        if self.text[at : at + 1] > " ":
            return at
        blank = _BLANK.match(self.text, at)
        return at if blank is None else blank.end()

    def _next(self, end: int) -> int:
        at = self._skip(end)
        return self._skip(at + 1) if self.text[at] == "," else at


def _below(pointers: Sequence[Steps], step: str) -> list[Steps]:
    return [rest[1:] for rest in pointers if rest and rest[0] in {"*", step}] if pointers else []


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _scalars(text: str) -> list[str]:
    """Give the texts and the numbers, as they are written, in a JSON text."""
    value = json.loads(text, parse_int=str, parse_float=str, strict=False)
    return [node for _, node in walk(value) if isinstance(node, str) and node]


# ── texts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _redact_text(text: str, rules: Rules, *, named: str) -> Redaction | None:
    """Redact what is not JSON: what was to hold secrets, or looks as if it did, is not shown at all."""
    if rules.pointers or (named == "yes" and text.lstrip("\ufeff \t\r\n")[:1] in {"{", "["}):
        return _whole(UNREADABLE, rules.known)
    shown = scrub_text(text, rules.known)
    if shown == text:
        return None
    return Redaction(shown=shown, hidden=(Hidden(at="", by=REPEATED),), secrets=rules.known)


def _whole(by: str, secrets: Sequence[str]) -> Redaction:
    return Redaction(shown=marker(by), hidden=(Hidden(at="", by=by),), secrets=tuple(dict.fromkeys(secrets)))


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "backslashreplace")


def _may_repeat(raw: bytes, known: tuple[str, ...]) -> bool:
    pattern = _pattern(known)
    return pattern is not None and (b"\\" in raw or pattern.search(_decoded(raw)) is not None)


def _repeats(text: str, secrets: Iterable[str]) -> bool:
    pattern = _pattern(tuple(dict.fromkeys(secrets)))
    return pattern is not None and pattern.search(text) is not None


@lru_cache(maxsize=512)
def _pattern(known: tuple[str, ...]) -> re.Pattern[str] | None:
    """Match every spelling of these secrets, the longest first; ``None`` where there is none to look for."""
    spelled = {spelling for secret in known if len(secret) >= _SHORTEST for spelling in _spellings(secret)}
    if not spelled:
        return None
    return re.compile("|".join(_searched(one) for one in sorted(spelled, key=lambda one: (-len(one), one))))


def _searched(spelling: str) -> str:
    return rf"(?<!\w){re.escape(spelling)}(?!\w)" if len(spelling) < _SHORT else re.escape(spelling)


def _spellings(secret: str) -> set[str]:
    """Spell a secret as it is, as JSON and Python write it inside quotes, and as an address does."""
    plain = secret.encode("utf-8", "replace").decode()
    written = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1], ascii(secret)[1:-1]}
    twice = {json.dumps(one)[1:-1] for one in written}
    return {secret, *written, *twice, quote(plain), quote(plain, safe=""), quote_plus(plain)}


_STRUCTURE: Final = frozenset({
    "tool", "policy_version", "permit", "attempt", "worker", "lease", "executor", "host", "cost", "amount", "currency", "limit", "rule",
    "consequences", "cancel_support", "category", "termination", "kind", "owner_name", "roles", "channel", "eligible", "parent", "actor",
    "by", "required", "dependencies", "dependency", "retry_of", "reverses", "replaces", "replaced_by", "new_invocation", "moved_to",
    "child", "deadline", "inputs_digest", "correlation", "media", "digest", "ref", "queue_ref", "collector", "order", "percent",
    "executed", "idempotency_key", "looked", "conclusion", "initiator", "scope_fields",
})  # fmt: skip  # names in lines
"""Fields that rules and the fold read, and that no tool's text gets into."""


def _is_structure(name: str) -> bool:
    return name in _STRUCTURE or name.endswith(("_id", "_ref", "_at", "_digest"))
