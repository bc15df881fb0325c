"""The ledger as the house uses it: what is secret is sealed on its way in, and only what may be shown comes out again.

Everybody who asks this ledger for a value gets the copy that may be shown. Who needs the value itself, to run a tool or to give a result to
the code that called it, asks ``open_value``; nobody else does. So a place that forgets about secrets shows too little and never too much.
"""

import hmac
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput, NotPermitted, Tampered
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import State
from toolwitness.core.values import SEALED_MEDIA, Hidden, Redacted, value_ref
from toolwitness.policy.redaction import UNREADABLE, Redaction, Rules, marker, redact, scrub, scrub_text
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.policy.written import read_policy
from toolwitness.ports import Deciding, Draft, Ledger, Problem, Recorded, StateRow, TaskView
from toolwitness.service.seal import (
    AS_IT_IS,
    KEY_VARIABLE,
    Envelope,
    SealKey,
    Standing,
    bound_by,
    looks_sealed,
    read_envelope,
    write_envelope,
)

POLICY_VALUE: Final = "policy"
"""The value that holds a tool's policy: ours, and without secrets."""
INVERSE_POLICY_VALUE: Final = "inverse_policy"
"""The value that holds the policy of the tool's inverse: as the one above."""
PolicyOf = Callable[[str, "ToolPolicy | None"], ToolPolicy]
"""Gives the policy that governs a tool here, by its name and by what was recorded with the proposal."""
_MOST_CALLS: Final = 20_000
_MOST_BYTES: Final = 64 * 1024 * 1024
"""How much of what was never written down is kept in memory; beyond it the oldest is let go, and its calls can no longer run."""
_ORDER: Final = ("inputs", "raw", "result", "output")
_LAST: Final = len(_ORDER)


@dataclass(slots=True)
class _Call:
    """What is known here of one call: what its policy says is secret, the secrets that it holds, and whether its record was looked at."""

    policy: ToolPolicy
    known: tuple[str, ...] = ()
    met: str = "no"


class _NotMetError(Exception):
    """A decision is about calls of which this process does not know yet what in them is secret."""

    def __init__(self, calls: set[str]) -> None:
        super().__init__("not met")
        self.calls = calls


async def open_value(ledger: Ledger, ref: str) -> bytes | None:
    """Give the exact bytes of a value, opening its seal; ``None`` where it was erased or never was.

    Raises:
        NotPermitted: it is sealed and cannot be opened here (rule ``sealed``); the message says what it would take.
        Tampered: the seal was changed or moved.
    """
    return await (ledger.exact(ref) if isinstance(ledger, SealedLedger) else ledger.value(ref))


def rules_for(policy: ToolPolicy, kind: str, name: str, known: tuple[str, ...] = ()) -> Rules:
    """Say what is secret in the value called ``name`` of an event: pointers go by inputs and outputs, names and repetitions by all."""
    pointers: tuple[str, ...] = ()
    if name == "inputs" or (name == "raw" and kind == Kind.INPUTS_REJECTED):
        pointers = policy.redact
    elif name in {"result", "output"}:
        pointers = policy.redact_outputs
        if name == "output":  # one item of a stream is what ``/*`` or ``/0`` says of the whole
            items = (pointer.split("/", 2) for pointer in pointers)
            pointers += tuple("/" + "/".join(steps[2:]) if len(steps) > 2 else "" for steps in items if _is_item(steps))
    return Rules(pointers=pointers, names="no" if policy.plain_names else "yes", known=known)


def as_shown(raw: bytes, policy: ToolPolicy) -> bytes:
    """Give inputs for a document; where policy redacts them and they were recorded before they were sealed, without what is redacted."""
    if isinstance(raw, Redacted) or not policy.redact:
        return raw
    found = redact(raw, rules_for(policy, Kind.PROPOSED, "inputs"))
    return raw if found is None else Redacted(found.shown.encode("utf-8", "surrogatepass"), found.hidden)


def _is_item(steps: Sequence[str]) -> bool:
    return len(steps) > 1 and (steps[1] == "*" or steps[1].isdecimal())


class SealedLedger:
    """A ledger whose secrets are sealed; everything else is as the ``Ledger`` port says of the ledger beneath it."""

    def __init__(self, beneath: Ledger, *, policy_of: PolicyOf, keys: Sequence[SealKey] = ()) -> None:
        """Keep what ``beneath`` keeps; the first of ``keys`` seals, and all of them open.

        Without a key, secrets are not written down at all: they stay in the memory of this process, and only it can run such a call.
        """
        self.beneath = beneath
        self._policy_of = policy_of
        self._keys = {key.id: key for key in keys}
        self._first = keys[0] if keys else None
        self._mark = os.urandom(32)
        self._memory = f"memory:{os.urandom(8).hex()}"
        self._held: dict[str, bytes] = {}
        self._held_bytes = 0
        self._calls: dict[str, _Call] = {}
        self._lock = threading.Lock()  # what decides does so on the thread that writes

    # ── in ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def append(self, task_id: str, drafts: Sequence[Draft], *, expected_sequence: int | None = None) -> Sequence[Recorded]:
        """Append with secrets sealed; see ``Ledger.append``."""
        for subject in {draft.event.invocation_id for draft in drafts if draft.event.kind != Kind.PROPOSED}:
            if subject is not None and ((known := self._calls.get(subject)) is None or known.met == "no"):
                await self._meet(subject)
        sealed = [self._sealed(draft, None) for draft in drafts]
        return self._forgotten(await self.beneath.append(task_id, sealed, expected_sequence=expected_sequence))

    async def decide(self, task_id: str, deciding: Deciding) -> Sequence[Recorded]:
        """Append what ``deciding`` makes, with secrets sealed; see ``Ledger.decide``.

        A call that this process has not met is met first, out of turn: then nothing is written, and it decides anew.
        """
        met: set[str] = set()

        def sealing(view: TaskView) -> Sequence[Draft]:
            drafts = deciding(view)
            strangers = {draft.event.invocation_id or "" for draft in drafts if self._is_stranger(draft, view)} - met
            if strangers:
                raise _NotMetError(strangers)
            return [self._sealed(draft, view) for draft in drafts]

        while True:
            try:
                return self._forgotten(await self.beneath.decide(task_id, sealing))
            except _NotMetError as unknown:
                for invocation_id in unknown.calls:
                    await self._meet(invocation_id)
                met |= unknown.calls

    def _is_stranger(self, draft: Draft, view: TaskView) -> bool:
        """Tell whether a draft is about a call that is on record and was not proposed, or read, by this process."""
        subject = draft.event.invocation_id
        if subject is None or subject not in view.shared:
            return False
        known = self._calls.get(subject)
        return known is None or known.met == "no"

    def _sealed(self, draft: Draft, view: TaskView | None) -> Draft:
        """Give a draft whose values are sealed where they hold secrets, and whose own fields repeat none."""
        event = draft.event
        if not draft.values and (event.invocation_id is None or event.invocation_id not in self._calls):
            return draft
        call = self._call(draft, view)
        values, media = dict(draft.values), dict(draft.media_types)
        for name in sorted(values, key=lambda name: _ORDER.index(name) if name in _ORDER else _LAST):
            found = self._found(event.kind, name, values[name], call)
            if found is not None:
                call.known = tuple(dict.fromkeys((*call.known, *found.secrets)))
                values[name] = self._close(event, name, values[name], found)
                media[name] = SEALED_MEDIA
        if call.known and isinstance(event.data, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - sources err
            event = replace(event, data=scrub(dict(event.data), call.known), refusal=scrub_text(event.refusal, call.known))
            self._remember(event, call)
        return Draft(event=event, values=values, media_types=media)

    def _found(self, kind: str, name: str, raw: Any, call: _Call) -> Redaction | None:
        """Find what is secret in a value; what only begins as an envelope is wrapped, so that it cannot pass for one."""
        if name in {POLICY_VALUE, INVERSE_POLICY_VALUE} or type(raw) is not bytes:
            return None
        found = redact(raw, rules_for(call.policy, kind, name, call.known))
        if found is None and looks_sealed(raw):
            return Redaction(shown=raw.decode("utf-8", "backslashreplace"), hidden=(), secrets=())
        return found

    def _close(self, event: Event, name: str, plain: bytes, found: Redaction) -> bytes:
        of = Standing(task=event.task_id, call=event.invocation_id or "", source=event.source, event=event.id, name=name)
        shown = found.shown.encode("utf-8", "surrogatepass")
        by = AS_IT_IS if not found.hidden else self._memory if self._first is None else self._first.id
        bound = bound_by(of, by, shown, found.hidden)
        nonce, box = b"", plain
        if found.hidden and self._first is not None:
            nonce, box = self._first.close(plain, bound)
        elif found.hidden:
            nonce, box = hmac.digest(self._mark, bound + plain, "sha256"), b""
            self._hold(value_ref(event.source, event.id, name), plain)
        return write_envelope(Envelope(of=of, by=by, nonce=nonce, box=box, shown=shown, hidden=found.hidden))

    def _hold(self, ref: str, plain: bytes) -> None:
        """Keep in memory what is not written down."""
        with self._lock:
            self._held_bytes += len(plain) - len(self._held.pop(ref, b""))
            self._held[ref] = plain
            while self._held_bytes > _MOST_BYTES and len(self._held) > 1:
                self._held_bytes -= len(self._held.pop(next(iter(self._held))))

    def _forgotten(self, recorded: Sequence[Recorded]) -> Sequence[Recorded]:
        """Let go of what was erased."""
        for one in recorded:
            if one.event.kind == Kind.VALUE_ERASED:
                with self._lock:
                    self._held_bytes -= len(self._held.pop(str(one.event.data.get("value_ref")), b""))
        return recorded

    # ── what is known of a call ─────────────────────────────────────────────────────────────────────────────────────

    def _call(self, draft: Draft, view: TaskView | None) -> _Call:
        """Give what is known of the call that a draft is about, as far as that can be told without reading."""
        event = draft.event
        known = self._calls.get(event.invocation_id or "")
        if known is not None:
            return known
        if event.kind == Kind.PROPOSED and isinstance(event.data, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - sources err
            call = _Call(self._policy(str(event.data.get("tool") or ""), draft.values.get(POLICY_VALUE)), met="yes")
            self._remember(event, call)
            return call
        record = view.shared.get(event.invocation_id or "") if view is not None else None
        return _Call(self._policy(record.tool if record is not None else "", None))

    def _policy(self, tool: str, written: bytes | None) -> ToolPolicy:
        try:
            recorded = read_policy(written) if written else None
        except InvalidInput:
            recorded = None
        try:
            return self._policy_of(tool, recorded)
        except InvalidInput:
            return recorded or self._policy_of("", None)

    def _remember(self, event: Event, call: _Call) -> None:
        if event.invocation_id is None:
            return
        with self._lock:
            self._calls[event.invocation_id] = call
            while len(self._calls) > _MOST_CALLS:
                del self._calls[next(iter(self._calls))]

    async def _meet(self, invocation_id: str) -> None:
        """Read once what the record says of a call that this process did not propose: its policy, and its secrets as far as they open."""
        call: _Call | None = None
        refs: list[str] = []
        event: Event | None = None
        for recorded in await self.beneath.read(invocation_id=invocation_id):
            event = recorded.event
            if event.kind == Kind.PROPOSED and call is None:
                said = event.data.get(POLICY_VALUE)
                written = await self.beneath.value(str(said.get("ref"))) if isinstance(said, Mapping) else None
                call = _Call(self._policy(str(event.data.get("tool") or ""), written), met="yes")
            refs += sealed_refs(event)
        if event is None:
            return  # nothing is recorded of it yet
        self._remember(event, call or _Call(self._policy("", None), met="yes"))
        for ref in refs:
            try:
                await self.exact(ref)
            except (NotPermitted, Tampered):
                continue  # what cannot be opened here cannot be looked for here

    def _note_secrets(self, envelope: Envelope, plain: bytes) -> None:
        """Remember the secrets of an envelope that was opened, to look for them in what is said of its call from here on."""
        call = self._calls.get(envelope.of.call)
        if call is not None:
            found = redact(plain, Rules(pointers=tuple(hidden.at for hidden in envelope.hidden), known=call.known))
            call.known = tuple(dict.fromkeys((*call.known, *(found.secrets if found else ()))))

    # ── out ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def value(self, ref: str) -> bytes | None:
        """Give the copy of a value that may be shown, or ``None`` where it was erased or never was."""
        raw = await self.beneath.value(ref)
        try:
            envelope = None if raw is None else read_envelope(raw)
        except Tampered:
            return Redacted(marker(UNREADABLE).encode(), (Hidden(at="", by=UNREADABLE),))
        return raw if envelope is None else envelope.redacted

    async def exact(self, ref: str) -> bytes | None:
        """Give the exact bytes of a value; see ``open_value``."""
        raw = await self.beneath.value(ref)
        envelope = None if raw is None else read_envelope(raw)
        if envelope is None:
            return raw
        of = envelope.of
        if value_ref(of.source, of.event, of.name) != ref:
            raise Tampered("A sealed value stands in another's place.", remedy="Run `toolwitness verify`.", place=f"stored_values {ref}")
        plain = self._opened(envelope, ref)
        self._note_secrets(envelope, plain)
        return plain

    def _opened(self, envelope: Envelope, ref: str) -> bytes:
        if envelope.by == AS_IT_IS:
            if envelope.box.decode("utf-8", "backslashreplace").encode() != envelope.shown:
                raise Tampered("A value is not what it is shown as.", remedy="Run `toolwitness verify`.", place=f"stored_values {ref}")
            return envelope.box
        if not envelope.is_written_down:
            held = self._held.get(ref)
            if held is None:
                raise NotPermitted(
                    f"Secret parts of it were never written down, since {KEY_VARIABLE} was not set, and the process that held them is "
                    "another one or has ended.", rule="sealed",
                    remedy=f"Propose the call afresh; with {KEY_VARIABLE} set it outlives a process.",
                )  # fmt: skip  # message first, facts after
            return held
        key = self._keys.get(envelope.by)
        if key is None:
            raise NotPermitted(
                f"It is sealed with {envelope.by}, which is not among the keys in {KEY_VARIABLE} of this process.", rule="sealed",
                remedy=f"Add that key to {KEY_VARIABLE}; the first one there seals, and all of them open.",
            )  # fmt: skip  # message first, facts after
        return key.open(envelope.nonce, envelope.box, bound_by(envelope.of, envelope.by, envelope.shown, envelope.hidden))

    # ── as beneath ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def task(self, task_id: str) -> TaskView | None:
        """Read one task; see ``Ledger.task``."""
        return await self.beneath.task(task_id)

    async def find(self, invocation_id: str) -> str | None:
        """Give the task of an invocation; see ``Ledger.find``."""
        return await self.beneath.find(invocation_id)

    async def tasks(self, *, tenant: str | None = None, limit: int = 200) -> Sequence[str]:
        """List task ids; see ``Ledger.tasks``."""
        return await self.beneath.tasks(tenant=tenant, limit=limit)

    async def states(self, *, states: Iterable[State | None] | None = None) -> Sequence[StateRow]:
        """List state rows; see ``Ledger.states``."""
        return await self.beneath.states(states=states)

    async def read(
        self, *, after: int = 0, task_id: str | None = None, invocation_id: str | None = None, limit: int | None = None
    ) -> Sequence[Recorded]:
        """Read recorded events; see ``Ledger.read``."""
        return await self.beneath.read(after=after, task_id=task_id, invocation_id=invocation_id, limit=limit)

    def follow(self, *, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        """Follow what is recorded; see ``Ledger.follow``."""
        return self.beneath.follow(after=after)

    async def head(self) -> int:
        """Give the position of the last event; see ``Ledger.head``."""
        return await self.beneath.head()

    async def verify(self) -> Sequence[Problem]:
        """Recompute everything; no key is needed for it. See ``Ledger.verify``."""
        return await self.beneath.verify()

    async def close(self) -> None:
        """Let go of the file, and of what was held in memory."""
        await self.beneath.close()
        with self._lock:
            self._held.clear()
            self._held_bytes = 0

    def __getattr__(self, name: str) -> Any:
        """Give what a ledger has beside the port (``add_listener``, ``duplicates``)."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.beneath, name)


def sealed_refs(event: Event) -> list[str]:
    """Name the sealed values that stand beside an event."""
    members = (cast("Mapping[str, Any]", said) for said in event.data.values() if isinstance(said, Mapping))
    return [str(said["ref"]) for said in members if said.get("media") == SEALED_MEDIA and "ref" in said]
