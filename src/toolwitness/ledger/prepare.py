"""A draft as it may be recorded: plain, whole, apart from its values, and already in its canonical bytes.

Nothing here depends on what the ledger holds, so it is done before anything is locked. The hashed bytes of an event hold our own fields,
references and salted digests; values lie beside it as exact bytes (R12).
"""

import hmac
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final, NoReturn, cast

import orjson

from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Event
from toolwitness.core.making import maker
from toolwitness.core.states import Origin, Owner
from toolwitness.core.values import value_ref
from toolwitness.ports import Draft
from toolwitness.wire.canonical import MAX_INTEGER, canonical

Salts = Callable[[], bytes]
"""Gives 16 fresh random bytes."""

RAW: Final = "raw"
"""The value that is the source's own event; ``raw_ref`` cites it."""
JSON: Final = "application/json"
SALT_BYTES: Final = 16
ERASED_SALT: Final = bytes(SALT_BYTES)
"""What stands in the place of the salt of a value that was erased; none is ever drawn so."""
_DEEPEST: Final = 48
_new_event: Final = maker(Event)


@dataclass(slots=True)
class Value:
    """The exact bytes of one value, with the salt of its digest; never changed once it is made."""

    name: str
    ref: str
    salt: bytes
    content: bytes


@dataclass(slots=True)
class Prepared:
    """An event that is ready to be judged, and the bytes that will stand in the record; never changed once it is made."""

    event: Event
    body: bytes
    values: tuple[Value, ...] = ()


def fresh_salts(*, reserve: int = 256) -> Salts:
    """Make a source of random salts that asks the system for ``reserve`` of them at a time."""
    stock: list[bytes] = []

    def salt() -> bytes:
        if not stock:
            drawn = os.urandom(SALT_BYTES * reserve)
            stock.extend(drawn[start : start + SALT_BYTES] for start in range(0, len(drawn), SALT_BYTES))
        return stock.pop()

    return salt


def prepare_all(task_id: str, drafts: Sequence[Draft], *, salts: Salts) -> list[Prepared]:
    """Prepare the drafts of one append.

    Raises:
        InvalidInput: a draft cannot be recorded, belongs to another task, or wants a once-key that another draft of these wants.
    """
    prepared = [prepare(draft, salts=salts) for draft in drafts]
    for one in prepared:
        if one.event.task_id != task_id:
            raise InvalidInput(
                f"The event belongs to task {one.event.task_id!r} and was appended to task {task_id!r}.", field="/task_id",
                remedy="Append the events of each task on their own.",
            )  # fmt: skip  # what, where, and what to do
    if len(prepared) > 1:
        _require_one_taker(prepared)
    return prepared


def _require_one_taker(prepared: Sequence[Prepared]) -> None:
    keys: set[str] = set()
    for one in prepared:
        key = one.event.once_key
        if key and not one.event.refusal:
            if key in keys:
                raise InvalidInput(f"Two events of one append take the once-key {key!r}.", field="/once_key", remedy="Only one can.")
            keys.add(key)


def prepare(draft: Draft, *, salts: Salts) -> Prepared:
    """Give ``draft`` in the form in which it is recorded; nothing that the caller still holds is shared.

    Raises:
        InvalidInput: a field is of the wrong type or is not JSON; ``facts['field']`` is its JSON Pointer.
    """
    said = draft.event
    given = _plain_data(said.data)
    values: tuple[Value, ...] = ()
    raw_ref = said.raw_ref
    if draft.values:
        names = sorted(draft.values) if len(draft.values) > 1 else draft.values
        values = tuple([_value(said, name, draft, given, salts) for name in names])
        if RAW in draft.values:
            raw_ref = next(value.ref for value in values if value.name == RAW)
    kind, owner, origin = said.kind, said.owner, said.origin
    event = _new_event(
        kind=kind if type(kind) is str else str.__str__(kind), source=said.source, id=said.id, task_id=said.task_id,
        owner=owner if type(owner) is Owner else _member(_OWNERS, owner, "/owner"), invocation_id=said.invocation_id, attempt=said.attempt,
        data=given, time=said.time, sequence=said.sequence,
        origin=origin if type(origin) is Origin else _member(_ORIGINS, origin, "/origin"),
        caused_by=tuple(said.caused_by) if said.caused_by else (),
        tenant=said.tenant, adapter=said.adapter, raw_ref=raw_ref, refusal=said.refusal, once_key=said.once_key,
    )  # fmt: skip  # one field after the other
    _check(event)
    return Prepared(event, encode(event), values)


def digest_of(salt: bytes, content: bytes) -> str:
    """Give the salted digest under which a value stands in the record: HMAC-SHA-256, 64 hex digits."""
    return hmac.digest(salt, content, "sha256").hex()


def refused(prepared: Prepared, reason: str, *, reuse: int = 0) -> Prepared:
    """Give the same event marked as refused; the values of a reused id get references of their own."""
    event, values = prepared.event, prepared.values
    if reuse and values:
        members = dict(event.data)
        values = tuple(replace(v, ref=value_ref(event.source, event.id, v.name, reuse=reuse)) for v in values)
        for value in values:
            members[value.name] = {**members[value.name], "ref": value.ref}
        raw_ref = next((v.ref for v in values if v.name == RAW), event.raw_ref)
        event = replace(event, data=members, raw_ref=raw_ref)
    event = replace(event, refusal=reason)
    return Prepared(event, encode(event), values)


def encode(event: Event) -> bytes:
    """Give the canonical bytes (RFC 8785) of an event; fields that are empty or at their default are left out.

    Raises:
        InvalidInput: a text holds a lone surrogate or the event is not JSON.
    """
    return canonical_bytes(fields_of(event))


def canonical_bytes(members: Mapping[str, Any]) -> bytes:
    """Give RFC 8785 bytes: by the fast encoder where keys sort alike by code point and by UTF-16, else by the exact one."""
    try:
        fast = orjson.dumps(members, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        return canonical(members)
    return fast if fast.isascii() else canonical(members)


def fields_of(event: Event) -> dict[str, Any]:
    """Give an event as plain JSON; ``event_of`` is the way back."""
    out: dict[str, Any] = {
        "id": event.id, "kind": event.kind, "owner": event.owner._value_, "source": event.source, "task_id": event.task_id,
    }  # fmt: skip  # the five that are always there
    if event.invocation_id is not None:
        out["invocation_id"] = event.invocation_id
    if event.attempt is not None:
        out["attempt"] = event.attempt
    if event.data:
        out["data"] = event.data
    if event.time is not None:
        out["time"] = event.time
    if event.sequence is not None:
        out["sequence"] = event.sequence
    if event.origin is not Origin.SERVER:
        out["origin"] = event.origin._value_
    if event.caused_by:
        out["caused_by"] = event.caused_by
    _add_texts(event, out)
    return out


def _add_texts(event: Event, out: dict[str, Any]) -> None:
    if event.tenant:
        out["tenant"] = event.tenant
    if event.adapter:
        out["adapter"] = event.adapter
    if event.raw_ref:
        out["raw_ref"] = event.raw_ref
    if event.refusal:
        out["refusal"] = event.refusal
    if event.once_key:
        out["once_key"] = event.once_key


def event_of(body: bytes) -> Event:
    """Give the event that canonical bytes hold.

    Raises:
        ValueError, KeyError, TypeError: the bytes do not hold one.
    """
    members = orjson.loads(body)
    members["owner"] = _OWNERS[members["owner"]]
    if "origin" in members:
        members["origin"] = _ORIGINS[members["origin"]]
    if "caused_by" in members:
        members["caused_by"] = tuple(members["caused_by"])
    return Event(**members)


def _plain_data(members: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {
            key if type(key) is str else _key(key): value if type(value) is str else _plain(value) for key, value in members.items()
        }  # fmt: skip  # most are texts
    except _NotPlainError:
        canonical({"data": dict(members)})  # names the place in its refusal
        return _refuse("/data", members, "plain JSON")


class _NotPlainError(Exception):
    """Something in an event's data has no canonical form."""


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    if isinstance(key, str):
        return str.__str__(key)
    raise _NotPlainError


def _plain(node: Any, depth: int = 0) -> Any:
    """Copy plain JSON as plain JSON: no subclass, no tuple, nothing shared."""
    kind = cast("type[Any]", type(node))
    if kind is str or kind is bool or node is None:
        return node
    if kind is int:
        if -MAX_INTEGER <= node <= MAX_INTEGER:
            return node
        raise _NotPlainError
    if depth > _DEEPEST:
        raise _NotPlainError
    if kind is list or kind is tuple:
        return [_plain(item, depth + 1) for item in node]
    if isinstance(node, Mapping):
        return {_key(key): _plain(value, depth + 1) for key, value in cast("Mapping[Any, Any]", node).items()}
    if isinstance(node, str):
        return str.__str__(node)
    raise _NotPlainError


def _value(said: Event, name: str, draft: Draft, given: dict[str, Any], salts: Salts) -> Value:
    """Put one value aside and its reference into ``given``."""
    content = draft.values[name]
    if type(content) is not bytes:
        return _refuse(f"/values/{name}", content, "the exact bytes of the value")
    if name in given:
        raise InvalidInput(
            f"{name!r} is given twice: in the event's data and as a value.", field=f"/data/{name}", remedy="Leave it out of the data."
        )
    salt = salts()
    ref = value_ref(said.source, said.id, name)
    standing: dict[str, Any] = {"ref": ref, "digest": digest_of(salt, content), "bytes": len(content)}
    media = draft.media_types.get(name, JSON) if draft.media_types else JSON
    if media != JSON:
        standing["media"] = media
    given[name] = standing
    return Value(name, ref, salt, content)


def _check(event: Event) -> None:
    """Refuse an event whose own fields are not of their types."""
    whole = event.kind and event.source and event.id and event.task_id
    if not whole or set(map(type, _texts_of(event))) != _ONLY_TEXT:
        _refuse_text(event)
    for name in _TEXTS_OR_NONE:
        text = getattr(event, name)
        if text is not None and (type(text) is not str or not text):
            _refuse(f"/{name}", text, "a text that is not empty, or none at all")
    for name in _NUMBERS_OR_NONE:
        number = getattr(event, name)
        if number is not None and (type(number) is not int or not 0 <= number <= MAX_INTEGER):
            _refuse(f"/{name}", number, "a whole number, or none at all")
    if event.caused_by:
        for place, cause in enumerate(event.caused_by):
            if type(cause) is not str:
                _refuse(f"/caused_by/{place}", cause, "an evidence reference")


def _refuse_text(event: Event) -> None:
    """Name the text that is none, or that is empty and must not be."""
    for name, text in zip(_TEXTS, _texts_of(event), strict=True):
        if type(text) is not str:
            _refuse(f"/{name}", text, "a text")
        if not text and name in _NOT_EMPTY:
            _refuse(f"/{name}", text, "a text that is not empty")


def _member(members: Mapping[str, Any], word: Any, place: str) -> Any:
    return members[word] if word in members else _refuse(place, word, f"one of {', '.join(members)}")


def _refuse(place: str, found: Any, wanted: str) -> NoReturn:
    raise InvalidInput(f"{place} is {type(found).__name__} {found!r:.60}.", field=place, remedy=f"Give {wanted}.")


_OWNERS: Final = {owner.value: owner for owner in Owner}
_ORIGINS: Final = {origin.value: origin for origin in Origin}
_NOT_EMPTY: Final = ("kind", "source", "id", "task_id")
_TEXTS: Final = (*_NOT_EMPTY, "tenant", "adapter", "raw_ref", "refusal", "once_key")
_texts_of: Final = attrgetter(*_TEXTS)
_ONLY_TEXT: Final = {str}
_TEXTS_OR_NONE: Final = ("invocation_id", "time")
_NUMBERS_OR_NONE: Final = ("attempt", "sequence")
