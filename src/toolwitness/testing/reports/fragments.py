"""Reports that give pieces of a contract document instead of events.

Each piece is brought about at the desk, in a task of its own, by the shortest evidence for the state that it is in.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.states import State
from toolwitness.service.propose import open_task
from toolwitness.testing.reports import people_words, policy_words, runtime_words
from toolwitness.testing.reports.case import Findings
from toolwitness.testing.reports.moments import Moment, look
from toolwitness.testing.reports.runtime_words import Word
from toolwitness.testing.reports.stage import Stage
from toolwitness.testing.reports.story import Fields, Step, text, texts

_WORDS: Final[Mapping[str, Word]] = MappingProxyType({**runtime_words.WORDS, **policy_words.WORDS, **people_words.WORDS})
_PATHS: Final[Mapping[str, str]] = MappingProxyType({
    State.PROPOSED: "",
    State.AWAITING_APPROVAL: "approval.requested",
    State.AWAITING_INPUT: "input.requested",
    State.QUEUED: "queue.accepted",
    State.RUNNING: "queue.accepted started",
    State.STREAMING: "queue.accepted started output",
    State.PARTIALLY_COMPLETE: "queue.accepted started part.completed",
    State.SUCCEEDED: "queue.accepted started succeeded",
    State.FAILED: "queue.accepted started failed",
    State.CANCELLED: "queue.accepted started cancel.requested cancel.acknowledged",
    State.EXPIRED: "approval.requested approval.expired",
})  # fmt: skip  # one line a state
"""State → the event types that bring a proposed call into it."""
_BEFORE_DISPATCH: Final = MappingProxyType({"denied": "deny", "dismissed": "dismiss", "withdrawn": "withdraw"})
"""How a call was closed before dispatch, and the decision that closes one so."""
_SPEAKERS: Final = MappingProxyType({
    "proposed": "proposer", "approval.requested": "policy", "approval.expired": "policy", "input.requested": "policy",
    "queue.accepted": "scheduler", "cancel.requested": "user", "decision": "user",
})  # fmt: skip  # pairs in lines
_PERSON: Final = "u1"


async def play_fragments(stage: Stage, findings: Findings) -> list[Moment]:
    """Bring about every piece, and look."""
    for name, piece in pieces(stage.story.input):
        path = _path(piece)
        if path is None:
            findings.skip(f"fragment {name}", f"nothing brings a call into the state {piece.get('state')!r}")
            continue
        key = stage.names.setdefault(name if "#" in name else f"{name}#1", name if "#" in name else f"{name}#1")
        stage.tasks[key.rpartition("#")[0]] = await open_task(stage.place, f"the piece {name}", task_id=f"piece {name}")
        for number, kind in enumerate(path, start=1):
            if kind == "approval.expired":
                stage.clock.advance(60)
            fields = _fields(stage, piece, key, kind)
            await _WORDS[kind](stage, Step(number=number, seq=number, source=_SPEAKERS.get(kind, "executor"), type=kind, fields=fields))
    return [await look(stage, 0)]


def _path(piece: Fields) -> Sequence[str] | None:
    """Give the event types that bring about a piece; ``None`` where nothing in the reports' vocabulary does."""
    path = _PATHS.get(text(piece.get("state")))
    if path is None:
        return None
    closed_early = piece.get("state") == State.CANCELLED and text(_part(piece, "closure").get("kind")) in _BEFORE_DISPATCH
    return ["proposed", *(["approval.requested", "decision"] if closed_early else path.split())]


def _part(piece: Fields, name: str) -> Fields:
    part = piece.get(name)
    return cast("Fields", part) if isinstance(part, Mapping) else {}


def pieces(told: Fields) -> Iterator[tuple[str, Fields]]:
    """Give the pieces of a report with the names under which it asks about them: those of its cards, else their ids."""
    for name, value in told.items():
        if isinstance(value, Mapping) and "state" in value:
            yield _name(cast("Fields", value), name), cast("Fields", value)
        elif isinstance(value, Mapping):
            for inner, piece in cast("Fields", value).items():
                if isinstance(piece, Mapping) and "state" in piece:
                    yield inner, cast("Fields", piece)
        elif isinstance(value, list):
            for place, piece in enumerate(cast("list[Any]", value)):
                if isinstance(piece, Mapping) and "state" in piece:
                    yield _name(cast("Fields", piece), str(place)), cast("Fields", piece)


def _name(piece: Fields, otherwise: str) -> str:
    identity = _part(piece, "identity") or piece
    name = text(identity.get("invocationId")) or text(identity.get("invocation"))
    return f"{name}#{identity.get('attempt', 1)}" if name else otherwise


def _fields(stage: Stage, piece: Fields, key: str, kind: str) -> dict[str, Any]:
    """Give the fields of the event that a piece amounts to; what the piece does not say is left out."""
    name, _, attempt = key.rpartition("#")
    inputs, consequence, said = piece.get("inputs"), piece.get("consequence"), _part(piece, "authorization")
    closure, errors = _part(piece, "closure"), _part(piece, "errors")
    person = text(closure.get("initiator")) or _PERSON
    result = _part(piece, "output").get("result", stage.story.input.get("stored_result", piece.get("result")))
    fields: dict[str, Any] = {
        "invocation": name, "attempt": int(attempt), "approval": f"approval of {key}",
        "fields": texts(piece.get("unresolved")) or ["unnamed"], "open": texts(piece.get("open")) or ["the rest"],
        "args": cast("Fields", inputs).get("values", inputs) if isinstance(inputs, Mapping) else inputs if inputs is not None else {},
        "consequence": cast("Fields", consequence).get("classes") if isinstance(consequence, Mapping) else consequence,
        "authority": {"eligible": texts(said.get("eligible")) or [person]}, "expires_at": said.get("expiresAt"),
        "deadline_seconds": 30 if piece.get("state") == State.EXPIRED else None, "actor": person,
        "kind": _BEFORE_DISPATCH.get(text(closure.get("kind"))), "reason": text(closure.get("reason")) or None, "result": result,
        "category": text(errors.get("safeCategory")) or None, "message": text(errors.get("userMessage")) or None,
        "text": text(piece.get("text")), "queue_ref": text(piece.get("queueRef")) or "a queue", "scope": text(closure.get("scope")) or None,
        "tool": piece.get("tool") if kind == "proposed" else None, "initiator": text(closure.get("initiator")) or None,
    }  # fmt: skip  # facts in lines
    return {field: value for field, value in fields.items() if value is not None}
