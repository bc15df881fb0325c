"""Reports that give pieces of a contract document instead of events: each piece is brought about at the desk, by the shortest evidence for its state."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from toolwitness.core.evidence import Kind
from toolwitness.core.states import State
from toolwitness.testing.reports import policy_words, runtime_words
from toolwitness.testing.reports.judging import Findings
from toolwitness.testing.reports.moments import Moment, look
from toolwitness.testing.reports.runtime_words import Word
from toolwitness.testing.reports.stage import Stage
from toolwitness.testing.reports.story import DEFAULT_TASK, Fields, Step, text

_OPENED: Final = "proposed"
_PATHS: Final[Mapping[str, tuple[tuple[str, Word], ...]]] = {
    State.PROPOSED: (("proposed", runtime_words.proposed),),
    State.AWAITING_APPROVAL: (("proposed", runtime_words.proposed), ("approval.requested", policy_words.approval_requested)),
    State.AWAITING_INPUT: (("proposed", runtime_words.proposed), ("input.requested", policy_words.input_requested)),
    State.QUEUED: (("proposed", runtime_words.proposed), ("queue.accepted", runtime_words.queue_accepted)),
    State.RUNNING: (("proposed", runtime_words.proposed), ("started", runtime_words.started)),
    State.STREAMING: (("proposed", runtime_words.proposed), ("started", runtime_words.started), ("output", runtime_words.output)),
    State.SUCCEEDED: (("proposed", runtime_words.proposed), ("started", runtime_words.started), ("succeeded", runtime_words.succeeded)),
    State.FAILED: (("proposed", runtime_words.proposed), ("started", runtime_words.started), ("failed", runtime_words.failed)),
    State.CANCELLED: (
        ("proposed", runtime_words.proposed), ("started", runtime_words.started), ("cancel.acknowledged", runtime_words.cancel_acknowledged),
    ),
}  # fmt: skip  # one line a state
"""State → the event types that bring a call into it."""


async def play_fragments(stage: Stage, findings: Findings) -> list[Moment]:
    """Bring about every piece, and look."""
    await stage.open_tasks()
    for name, piece in pieces(stage.story.input):
        path = _PATHS.get(text(piece.get("state")))
        if path is None:
            findings.skip(f"fragment {name}", f"nothing brings a call into the state {piece.get('state')!r}")
            continue
        key = name if "#" in name else f"{name}#1"
        stage.names[key] = key
        for number, (kind, word) in enumerate(path, start=1):
            fields = _fields(stage, piece, key, kind)
            await word(stage, Step(number=number, seq=number, source=_speaker(kind), type=kind, fields=fields))
    return [await look(stage, 0)]


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
    identity = piece.get("identity")
    told = cast("Fields", identity) if isinstance(identity, Mapping) else piece
    name = text(told.get("invocationId"))
    return f"{name}#{told.get('attempt', 1)}" if name else otherwise


def _speaker(kind: str) -> str:
    return {"proposed": "proposer", "approval.requested": "policy", "input.requested": "policy", "queue.accepted": "scheduler"}.get(kind, "executor")


def _fields(stage: Stage, piece: Fields, key: str, kind: str) -> dict[str, Any]:
    """Give the fields of the event that a piece amounts to; what the piece does not say is left out."""
    name, _, attempt = key.rpartition("#")
    inputs = piece.get("inputs")
    values = cast("Fields", inputs).get("values", inputs) if isinstance(inputs, Mapping) else inputs
    consequence = piece.get("consequence")
    classes = cast("Fields", consequence).get("classes") if isinstance(consequence, Mapping) else consequence
    authorization = piece.get("authorization")
    said = cast("Fields", authorization) if isinstance(authorization, Mapping) else {}
    fields: dict[str, Any] = {
        "invocation": name, "attempt": int(attempt), "tool": piece.get("tool"), "args": values if values is not None else {},
        "consequence": classes, "approval": f"approval of {key}", "authority": {"eligible": said.get("eligible") or ["u1"]},
        "expires_at": said.get("expiresAt"), "result": stage.story.input.get("stored_result", piece.get("result")),
        "fields": piece.get("unresolved") or ["unnamed"], "text": text(piece.get("text")), "queue_ref": text(piece.get("queueRef")) or "a queue",
    }  # fmt: skip  # facts in lines
    if kind != "proposed":
        fields.pop("tool")
    return {field: value for field, value in fields.items() if value is not None}


__all__ = ["DEFAULT_TASK", "Kind", "pieces", "play_fragments"]
