"""The policy file: what tools do and who may approve them, who has which roles, and what may be spent. Text in, model out.

Every mistake is an error that names the file, the line, the field, what is wrong and the fix; nothing half-understood is kept, and a key
that nobody knows is refused, because it may be a misspelt limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.times import parse_rfc3339, rfc3339
from toolwitness.policy.consequences import raised_by_hints
from toolwitness.policy.cost import Beyond, Budget, Cost, Per, read_money
from toolwitness.policy.deadlines import Standing, standing
from toolwitness.policy.file_text import FileText, read_text
from toolwitness.policy.merge import stricter
from toolwitness.policy.tool_policy import Inverse, RetryPolicy, ToolPolicy, unknown_tool

ADMINISTRATORS: Final = ("role:admin",)
"""Who may take authority from somebody, where the file names nobody."""
ERASERS: Final = ("role:eraser", "role:admin")
"""Who may have a value forgotten, where the file names nobody."""
ROLES_EXAMPLE: Final = 'a table [actors] with lines like "os:ann" = ["finance"]'


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """The roles that somebody holds, and until when."""

    roles: frozenset[str]
    until: str = ""
    """RFC 3339; empty where they are held until the file says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """A policy file that was understood whole. The empty one says nothing."""

    name: str = ""
    tools: Mapping[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    hints: Mapping[str, Mapping[str, bool]] = field(default_factory=dict[str, Mapping[str, bool]])
    """What each tool says of itself (MCP annotations): it may raise its classes and never lowers them."""
    unknown: ToolPolicy | None = None
    """What holds for tools that nobody has declared, beside the most restrictive answers."""
    actors: Mapping[str, Holding] = field(default_factory=dict[str, Holding])
    administrators: tuple[str, ...] = ADMINISTRATORS
    erasers: tuple[str, ...] = ERASERS
    budgets: tuple[Budget, ...] = ()

    def govern(self, tool: str, declared: ToolPolicy | None = None) -> ToolPolicy:
        """Give the policy of a tool: as declared at the tool and as the file says, to each question the stricter answer.

        Raises:
            InvalidInput: the two contradict each other in what cannot be ordered.
        """
        filed = self.tools.get(tool)
        if declared is None and filed is None:
            unknown = unknown_tool(tool)
            return stricter(unknown, self.unknown) if self.unknown is not None else unknown
        policy = filed or cast("ToolPolicy", declared)
        if declared is not None and filed is not None:
            policy = stricter(declared, filed)
        return _raised(policy, self.hints.get(tool, {}))


def _raised(policy: ToolPolicy, hints: Mapping[str, bool]) -> ToolPolicy:
    """Add the classes that a tool's own hints ask for. A tool without classes is unknown already, which nothing exceeds."""
    if not hints or not policy.consequences:
        return policy
    return replace(policy, consequences=raised_by_hints(policy.consequences, hints))


def read_policy_file(text: str, name: str = "toolwitness.toml") -> PolicyFile:
    """Read a policy file: TOML, or YAML where its name says so.

    Raises:
        InvalidInput: it cannot be understood; ``facts`` hold ``file``, ``line`` and ``field``.
    """
    source = read_text(text, name)
    _known(source, (), source.said, ("tools", "unknown_tools", "actors", "authority", "budgets"))
    tables = _table(source, ("tools",))
    authority = _table(source, ("authority",))
    _known(source, ("authority",), authority, ("administrators", "erasers"))
    named = {
        name: _tool(source, ("authority",), {"approvers": entries}, "x", says=name).approvers for name, entries in authority.items()
    }  # fmt: skip  # one line a name
    tools = {tool: _tool(source, ("tools", tool), _table(source, ("tools", tool)), tool) for tool in tables}
    hints = {tool: _hints(source, ("tools", tool, "hints")) for tool in tables}
    for tool, policy in tools.items():
        try:
            _raised(policy, hints[tool])
        except InvalidInput as error:
            what = f"raise its classes, and then {error.message.removeprefix('The ').removesuffix('.')}"
            raise source.wrong("tools", tool, "hints", what=what, remedy=error.remedy) from None
    return PolicyFile(
        name=name,
        tools=tools,
        hints=hints,
        unknown=_unknown(source),
        actors={who: _holding(source, ("actors", who)) for who in _table(source, ("actors",))},
        administrators=named.get("administrators", ADMINISTRATORS),
        erasers=named.get("erasers", ERASERS),
        budgets=_budgets(source),
    )  # fmt: skip  # facts in lines


def roles_of(file: PolicyFile, who: str, now: datetime) -> frozenset[str]:
    """Give the roles that the file gives somebody at ``now``; none after their end, and none where it does not name them."""
    holding = file.actors.get(who)
    if holding is None or standing(holding.until, now) not in {Standing.NONE, Standing.OPEN}:
        return frozenset()
    return holding.roles


# ── reading one entry ───────────────────────────────────────────────────────────────────────────────────────────────


def _at(source: FileText, path: tuple[str, ...]) -> Any:
    """Give what stands at a path, ``None`` where nothing does."""
    here: Any = source.said
    for key in path:
        here = cast("list[Any]", here)[int(key)] if isinstance(here, list) else cast("Mapping[str, Any]", here).get(key)
        if here is None:
            return None
    return here


def _table(source: FileText, path: tuple[str, ...]) -> Mapping[str, Any]:
    """Give a table, an empty one where there is none."""
    found = _at(source, path)
    if found is None and (len(path) < 2 or path[-1] not in (_at(source, path[:-1]) or {})):
        return {}
    if not isinstance(found, dict):
        raise source.wrong(*path, what=f"is {_word(found)} and not a table", remedy=_TABLES.get(path[0], "Write a table."))
    return cast("Mapping[str, Any]", found)


_TABLES: Final = MappingProxyType({
    "tools": "Write [tools.NAME] with the tool's answers below it.",
    "actors": f"Write {ROLES_EXAMPLE}.",
})  # fmt: skip  # one line a table


def _word(value: object) -> str:
    return {"str": "a text", "int": "a number", "float": "a number", "bool": "true or false", "list": "a list", "dict": "a table"}.get(
        type(value).__name__, "nothing" if value is None else f"a {type(value).__name__}"
    )


def _known(source: FileText, path: tuple[str, ...], said: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in said:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            remedy = f"Did you mean {near[0]}? " if near else ""
            raise source.wrong(*path, str(key), what="is a key that says nothing here", remedy=f"{remedy}Use {', '.join(known)}.")


# ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_TEXTS: Final = ("standing_authorization", "authorization_owner", "commitment_boundary", "cancel_support", "idempotency", "plain_names")
_PARTS: Final[Mapping[str, type[RetryPolicy | Inverse | Cost]]] = MappingProxyType({"retry": RetryPolicy, "inverse": Inverse, "cost": Cost})
_SAID: Final = MappingProxyType({"scope": "scope_fields"})
"""What is called otherwise in the model; everything else has one name in both."""
_FIELDS: Final = tuple(
    dict.fromkeys(
        next((said for said, name in _SAID.items() if name == one.name), one.name) for one in fields(ToolPolicy) if one.name != "tool"
    )
)
_OF_UNKNOWN: Final = (
    "approvers", "authorization_owner", "approval_seconds", "input_seconds", "queue_seconds", "result_seconds", "redact", "redact_outputs",
)  # fmt: skip  # names in a line
"""What may be said of tools that nobody has declared: who approves them and until when; what they do stays the worst."""


def _tool(source: FileText, path: tuple[str, ...], said: Mapping[str, Any], tool: str, *, says: str = "") -> ToolPolicy:
    """Make the policy of one table. ``says`` is the name of its field in the file, where the model calls it otherwise."""
    if not says:
        _known(source, path, said, (*_FIELDS, "hints"))
    given: dict[str, Any] = {}
    for key, value in said.items():
        if key in _TEXTS and not isinstance(value, str):
            raise source.wrong(*path, key, what=f"is {_word(value)} and not a text", remedy="Write it in quotes.")
        if key in _PARTS:
            given[key] = _part(source, (*path, key), _PARTS[key])
        elif key != "hints":
            given[_SAID.get(key, key)] = value
    try:
        return ToolPolicy(tool=tool, **given)
    except InvalidInput as error:
        model = str(error.facts.get("field") or "")
        inverse = {name: said for said, name in _SAID.items()}
        named = says or inverse.get(model, model)
        raise source.wrong(*path, *named.split("."), what=_without_subject(error.message), remedy=error.remedy) from None


def _without_subject(message: str) -> str:
    """Say what is wrong without saying again of what: the field stands before it."""
    words = message.removesuffix(".").split(" ")
    return " ".join(words[3:]) if words[:2] == ["The", "policy's"] else f"cannot be understood: {message.removesuffix('.')}"


def _part(source: FileText, path: tuple[str, ...], kind: type[RetryPolicy | Inverse | Cost]) -> RetryPolicy | Inverse | Cost:
    """Make a part of a policy that has fields of its own."""
    table = _table(source, path)
    _known(source, path, table, tuple(one.name for one in fields(kind)))
    given = dict(table)
    for key, value in given.items():
        if isinstance(value, list):
            given[key] = _list_of_texts(source, (*path, key))
        elif key not in {"attempts", "window_seconds"} and not isinstance(value, str):
            raise source.wrong(*path, key, what=f"is {_word(value)} and not a text", remedy="Write it in quotes.")
    if kind is Inverse and not given.get("tool"):
        raise source.wrong(*path, what="names no tool", remedy='Write tool = "NAME".')
    if kind is RetryPolicy and not isinstance(given.get("categories", ()), tuple):
        raise source.wrong(*path, "categories", what="is no list", remedy='Write categories = ["timeout"].')
    try:
        return kind(**given)
    except InvalidInput as error:
        key = str(error.facts.get("field") or "").rpartition(".")[2]
        raise source.wrong(*path, key, what=_without_subject(error.message), remedy=error.remedy) from None


def _list_of_texts(source: FileText, path: tuple[str, ...]) -> tuple[str, ...]:
    found = _at(source, path)
    if not isinstance(found, list) or not all(isinstance(item, str) and item.strip() for item in cast("list[object]", found)):
        raise source.wrong(*path, what="does not give a list of texts", remedy='Write a list such as ["timeout"].')
    return tuple(cast("list[str]", found))


_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def _hints(source: FileText, path: tuple[str, ...]) -> Mapping[str, bool]:
    """Read a tool's own MCP annotations."""
    table = _table(source, path)
    _known(source, path, table, _HINTS)
    for key, value in table.items():
        if not isinstance(value, bool):
            raise source.wrong(*path, key, what=f"is {_word(value)}", remedy="Write true or false.")
    return table


def _unknown(source: FileText) -> ToolPolicy | None:
    path = ("unknown_tools",)
    table = _table(source, path)
    _known(source, path, table, _OF_UNKNOWN)
    return _tool(source, path, table, "(any other)") if table else None


# ── people and money ────────────────────────────────────────────────────────────────────────────────────────────────


def _holding(source: FileText, path: tuple[str, ...]) -> Holding:
    """Read the roles of one person: a list, or a table with ``roles`` and ``until``."""
    found = _at(source, path)
    until = ""
    if isinstance(found, dict):
        table = cast("Mapping[str, Any]", found)
        _known(source, path, table, ("roles", "until"))
        until = _until(source, (*path, "until")) if "until" in table else ""
        found = table.get("roles")
    roles = cast("list[object]", found) if isinstance(found, list) else [None]
    if not all(isinstance(role, str) and role.strip() for role in roles):
        raise source.wrong(*path, what=f"does not give {path[-1]} a list of roles", remedy=f"Write {ROLES_EXAMPLE}.")
    return Holding(roles=frozenset(str(role) for role in roles), until=until)


def _until(source: FileText, path: tuple[str, ...]) -> str:
    found = _at(source, path)
    at = found if isinstance(found, datetime) else parse_rfc3339(found)
    if at is None or at.tzinfo is None:
        raise source.wrong(
            *path, what=f"is {found!s}, which is no time with a zone", remedy='Write it with its zone, such as "2027-01-01T00:00:00Z".'
        )
    return rfc3339(at)


def _budgets(source: FileText) -> tuple[Budget, ...]:
    found = source.said.get("budgets", [])
    if not isinstance(found, list):
        raise source.wrong("budgets", what=f"is {_word(found)} and not a list", remedy="Write [[budgets]] with per, amount and currency.")
    return tuple(_budget(source, ("budgets", str(place))) for place in range(len(cast("list[object]", found))))


def _budget(source: FileText, path: tuple[str, ...]) -> Budget:
    table = _table(source, path)
    _known(source, path, table, ("per", "amount", "currency", "beyond"))
    try:
        limit = read_money(table.get("amount"), table.get("currency"))
    except InvalidInput as error:
        raise source.wrong(*path, str(error.facts["field"]), what=_without_subject(error.message), remedy=error.remedy) from None
    per, beyond = _choice(source, (*path, "per"), Per, ""), _choice(source, (*path, "beyond"), Beyond, Beyond.REFUSE)
    return Budget(per=Per(per), limit=limit, beyond=Beyond(beyond))


def _choice(source: FileText, path: tuple[str, ...], words: type[StrEnum], otherwise: str) -> str:
    found = _at(source, path)
    chosen = otherwise if found is None else found
    if chosen not in tuple(words):
        raise source.wrong(*path, what=f"is {found!r}", remedy=f"Use {' or '.join(words)}.")
    return str(chosen)
