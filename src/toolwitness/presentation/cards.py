"""The card: what a person reads about one call, a task, a list of tasks, or what waits for a decision. One document for every screen.

A card answers in this order: what it is for, what state it is in, what is known to be wrong, what can be done, until when. Everything else
is one disclosure away. Times stand in sentences as tokens (``times``), foreign text is safe to set (``foreign``), and each claim cites
evidence that is on the rail.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from toolwitness.core.findings import Finding, Severity
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.task import Records, TaskRecord, TaskSummary, blocked_by, contradicted, latest_attempts, root_of, summarize
from toolwitness.core.verdicts import Control
from toolwitness.presentation import claims
from toolwitness.presentation.controls import controls as control_list
from toolwitness.presentation.disclosures import disclosures, output_text
from toolwitness.presentation.facts import facts
from toolwitness.presentation.foreign import line
from toolwitness.presentation.headlines import findings
from toolwitness.presentation.reading import Reading, RecordedEvent
from toolwitness.presentation.timeline import timeline
from toolwitness.presentation.times import stamp, token
from toolwitness.presentation.words import DECISIONS, EMPTY_INBOX, counted, state_words

Document = dict[str, Any]
TITLE_LENGTH: Final = 200


def invocation_card(
    record: InvocationRecord,
    *,
    events: Sequence[RecordedEvent],
    now: datetime,
    controls: Sequence[Control] = (),
    values: Mapping[str, bytes] | None = None,
    policy_findings: Iterable[Finding] = (),
    links: Mapping[str, str] | None = None,
    viewer: str = "",
    blocked: Sequence[str] = (),
    redact: Sequence[str] = (),
    inverse: str = "",
    provider: str = "",
) -> Document:
    """Make the card of one invocation.

    ``events`` are its recorded events in order of arrival; ``values`` holds the bytes that ``needed_values(events)`` names; ``links`` names
    other invocations and actors by id; ``viewer`` is the id of the actor who reads; ``blocked`` are the invocations that this one waits
    for; ``redact`` are JSON Pointers into the inputs whose values nobody is shown; ``inverse`` is the tool that undoes this one;
    ``provider`` is the tool's name where whoever serves the card can ask it what really happened.
    """
    reading = Reading(
        record=record, events=events, now=now, viewer=viewer, values=values or {}, links=links or {}, redact=redact, inverse=inverse,
        provider=provider,
    )  # fmt: skip  # one record
    asked = claims.requests(reading)
    return {
        "id": record.id,
        "task": record.task_id,
        "version": record.version,
        "title": title_of(record),
        "tool": line(record.tool),
        "attempt": record.attempt,
        **_state(record.state),
        "meta": claims.meta(reading),
        "findings": findings(reading, policy_findings, strips=[request["kind"] for request in asked]),
        "requests": asked,
        "facts": facts(reading),
        "lineage": claims.lineage(reading),
        "blocked": claims.blocked(reading, blocked),
        "deadline": claims.deadline(reading) if reading.open else None,
        "controls": control_list(reading, controls),
        "disclosures": disclosures(reading),
        "timeline": timeline(reading),
        "output": _output(reading),
        "progress": claims.progress(reading),
    }


def _state(state: State | None) -> Document:
    words = state_words(state)
    return {"state": state.value if state else "", "label": words.label, "tone": words.tone, "glyph": state.value if state else "unknown"}


def title_of(record: InvocationRecord) -> str:
    """Say what the call is for, in the words of whoever proposed it; the tool's name where no purpose was given."""
    return line(record.proposal.get("purpose") or record.tool or record.id, cut_at=TITLE_LENGTH)


def _output(reading: Reading) -> Document | None:
    """Show the output of an attempt that is open; of one that has ended it is a disclosure."""
    chunks = reading.record.output_chunks
    if not chunks or not reading.open:
        return None
    text, note = output_text(reading)
    made: Document = {"text": text, "chunks": len(chunks), "order": reading.record.output_order, "complete": not note}
    return {**made, "note": note} if note else made


# ── tasks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def task_card(
    task: TaskRecord,
    records: Records,
    *,
    events: Mapping[str, Sequence[RecordedEvent]],
    now: datetime,
    controls: Mapping[str, Sequence[Control]] | None = None,
    values: Mapping[str, bytes] | None = None,
    policy_findings: Mapping[str, Sequence[Finding]] | None = None,
    links: Mapping[str, str] | None = None,
    viewer: str = "",
    redact: Mapping[str, Sequence[str]] | None = None,
    inverses: Mapping[str, str] | None = None,
    not_retryable: Sequence[str] = (),
    task_controls: Sequence[Control] = (),
) -> Document:
    """Make the card of a task: what its parts add up to, and their cards in the order in which they are shown.

    ``events``, ``controls``, ``policy_findings``, ``redact`` and ``inverses`` go by invocation id; the rest is as for ``invocation_card``.
    """
    names = {**labels(records), **(links or {})}
    latest = latest_attempts(records)
    cards = [
        invocation_card(
            record, events=events.get(record.id, ()), now=now, controls=(controls or {}).get(record.id, ()), values=values,
            policy_findings=(policy_findings or {}).get(record.id, ()), links=names, viewer=viewer,
            blocked=blocked_by(record, task, records, latest=latest), redact=(redact or {}).get(record.id, ()),
            inverse=(inverses or {}).get(record.id, ""),
        ) | {"depth": depth}
        for record, depth in display_order(records)
    ]  # fmt: skip  # one comprehension
    head = task_head(
        task, records, summary=summarize(task, records, not_retryable=not_retryable), events=events.get("", ()), now=now, links=names,
        viewer=viewer, mine=[str(card["id"]) for card in cards if decidable(card)],
        loud=[finding for card in cards for finding in loudest(card)], task_controls=task_controls,
    )  # fmt: skip  # facts in lines
    return {**head, "cards": cards}


def task_head(
    task: TaskRecord,
    records: Records,
    *,
    summary: TaskSummary,
    events: Sequence[RecordedEvent],
    now: datetime,
    links: Mapping[str, str],
    viewer: str = "",
    mine: Collection[str] = (),
    loud: Sequence[Document] = (),
    task_controls: Sequence[Control] = (),
) -> Document:
    """Make what stands above the cards of a task.

    ``events`` are those about the task itself; ``mine`` are the calls that the reader may decide; ``loud`` is what ``loudest`` gives.
    """
    whole = InvocationRecord(str(task.id), str(task.id), version=task.version)
    reading = Reading(record=whole, events=events, now=now, viewer=viewer, links=links)
    return {
        "id": str(task.id),
        "title": _task_title(task),
        "subtitle": f"Opened {token(task.opened_at)} · {line(task.id)}",
        **_state(summary.state),
        "summary": summary_words(summary, mine),
        "findings": [*_contradictions(reading, task, summary), *_waivers(reading, task), *loud],
        "controls": control_list(reading, task_controls),
        "version": task.version + sum(record.version for record in records.values()),
    }


def labels(records: Records) -> dict[str, str]:
    """Name each invocation of a task for the sentences that point at it; its attempt is said where there are several."""
    roots = [root_of(record, records) for record in records.values()]
    attempts = Counter(roots)
    return {
        record.id: f"{title_of(record)} (attempt {record.attempt})" if record.attempt > 1 or attempts[root] > 1 else title_of(record)
        for record, root in zip(records.values(), roots, strict=True)
    }


def display_order(records: Records) -> list[tuple[InvocationRecord, int]]:
    """Give the invocations as they are shown: in order of proposal, attempts after one another, parts under what they are part of."""
    lineages: dict[str, list[InvocationRecord]] = {}
    for record in records.values():
        lineages.setdefault(root_of(record, records), []).append(record)
    parents: dict[str, list[str]] = {}
    for root, attempts in lineages.items():
        parents.setdefault(_parent(attempts[0], records), []).append(root)
    shown: list[tuple[InvocationRecord, int]] = []
    waiting = [(root, 0) for root in reversed(parents.get("", []))]
    while waiting:
        root, depth = waiting.pop()
        for record in lineages.pop(root, ()):
            shown.append((record, depth))
            waiting += [(child, depth + 1) for child in reversed(parents.get(record.id, []))]
    return shown + [(record, 0) for attempts in lineages.values() for record in attempts]


def _parent(record: InvocationRecord, records: Records) -> str:
    parent = str(record.proposal.get("parent") or "")
    return parent if parent in records and parent != record.id else ""


def _task_title(task: TaskRecord) -> str:
    return line(task.purpose or task.id, cut_at=TITLE_LENGTH)


def decidable(card: Document) -> bool:
    """Tell whether whoever reads the card may answer what it waits for."""
    return any(control["enabled"] and control["action"] in DECISIONS for control in card["controls"])


def summary_words(summary: TaskSummary, mine: Collection[str] = ()) -> str:
    """Say in one line what the parts add up to; ``you`` only of those that the reader may really answer, which ``mine`` names."""
    if not summary.required:
        return "No part is recorded yet"
    yours = [waiting for waiting in summary.waiting_for_person if waiting in mine]
    others = len(summary.waiting_for_person) - len(yours)
    said = [f"{len(summary.complete)} of {counted(len(summary.required), 'required part')} complete"]
    said += [f"{len(yours)} {'waits' if len(yours) == 1 else 'wait'} for you"] if yours else []
    said += [f"{others} {'waits' if others == 1 else 'wait'} for a person"] if others else []
    said += [f"{len(summary.stopping)} asked to stop"] if summary.stopping else []
    return " · ".join(said)


def _contradictions(reading: Reading, task: TaskRecord, summary: TaskSummary) -> list[Document]:
    """Say where a runtime claims an end of the whole that its calls do not bear out; the claim moves nothing."""
    claimed = contradicted(task, summary)
    if claimed is None:
        return []
    return [
        {
            "code": "runtime-claim-contradicted",
            "severity": Severity.WARNING.value,
            "headline": f"The runtime says “{line(claimed['claimed'])}”; its calls say {state_words(summary.state).phrase}.",
            "detail": f"Said {token(claimed['at'])} by {line(claimed['source'])}. The state here is what the calls amount to.",
            "evidence": [claimed["ref"]],
        }
    ]


def _waivers(reading: Reading, task: TaskRecord) -> list[Document]:
    """Say which parts a person declared unneeded: the task may be complete without them, and is not the better for it."""
    return [
        {
            "code": "child-waived",
            "severity": Severity.NOTE.value,
            "headline": f"{reading.label(str(waiver['child']))} is not needed any more.",
            "detail": f"Waived {token(waiver['at'])} by {reading.who(waiver['actor'])}: {line(waiver['reason'])}",
            "evidence": [waiver["ref"]],
        }
        for waiver in task.waivers
    ]


def loudest(card: Document) -> list[Document]:
    """Give what a person must not miss at a part, to be repeated at its task."""
    return [
        {**finding, "headline": f"{card['title']}: {finding['headline']}"}
        for finding in card["findings"]
        if finding["severity"] == Severity.VIOLATION.value
    ]


def task_row(task: TaskRecord, records: Records, *, not_retryable: Sequence[str] = (), summary: TaskSummary | None = None) -> Document:
    """Make the one line of a task in a list of tasks; ``summary`` where it is already known."""
    summary = summary or summarize(task, records, not_retryable=not_retryable)
    last = max((record.last_at for record in records.values()), default="")
    return {
        "id": str(task.id),
        "title": _task_title(task),
        **_state(summary.state),
        "summary": summary_words(summary),
        "at": stamp(max(task.last_at, last)),
        "waiting": len(summary.waiting_for_person),
    }


def inbox(cards: Iterable[Document]) -> Document:
    """Collect what waits for a decision: first what the reader may answer, then by what lapses first."""
    waiting = [card for card in cards if card["state"] in {"awaiting_approval", "awaiting_input"} or decidable(card)]
    waiting.sort(key=_soonest)
    mine = sum(decidable(card) for card in waiting)
    return {"title": _inbox_title(len(waiting), mine), "items": waiting, "empty": EMPTY_INBOX}


def _soonest(card: Document) -> tuple[str, str]:
    lapses: Document = card["deadline"] or {}
    return ("mine" if decidable(card) else "theirs"), str(lapses.get("at") or "~")


def _inbox_title(waiting: int, mine: int) -> str:
    if not waiting:
        return "Inbox"
    return f"{counted(waiting, 'call')} {'waits' if waiting == 1 else 'wait'} for a decision, {mine} for yours"


__all__ = [
    "decidable",
    "display_order",
    "inbox",
    "invocation_card",
    "labels",
    "loudest",
    "summary_words",
    "task_card",
    "task_head",
    "task_row",
    "title_of",
]
