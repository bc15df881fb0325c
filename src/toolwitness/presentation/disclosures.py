"""Everything else, one step away: inputs and where they came from, the whole result, output, effects, lineage, policy's answers, raw ids.

A disclosure's ``text`` and ``copy`` are exact: what was recorded, digit for digit. Whoever draws them treats them as foreign text.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.evidence import Kind
from toolwitness.core.states import Consequence, Reconciliation
from toolwitness.policy.consequences import CONSEQUENCES as DEMANDS
from toolwitness.presentation.foreign import line
from toolwitness.presentation.headlines import effect_words
from toolwitness.presentation.reading import OUTPUT_VALUES, Reading, fields, value_ref
from toolwitness.presentation.times import token
from toolwitness.presentation.values import SHOWN_BYTES, Text, items_of, members, scalar, shape
from toolwitness.presentation.words import CLOSURES, RECONCILIATIONS, conclusion_words, counted

Disclosure = dict[str, Any]
Rows = list[dict[str, str]]


def disclosures(reading: Reading) -> list[Disclosure]:
    """Give the disclosures that have something in them, in the order in which a person asks for them."""
    made = (
        *_answer(reading),
        *_result(reading),
        *_rejected_result(reading),
        *_error(reading),
        *_inputs(reading),
        *_output(reading),
        *_rows("parts", "Parts", _parts(reading)),
        *_rows("effects", _effects_title(reading), _effects(reading)),
        *_rows("policy", "What policy asked and answered", _policy(reading)),
        *_rows("lineage", "Attempts and dependencies", _lineage(reading)),
        *_rows("ids", "Ids", _ids(reading)),
    )
    return list(made)


def _row(term: str, text: str) -> dict[str, str]:
    return {"term": term, "text": text}


def _rows(name: str, title: str, rows: Rows, *, copy: str | None = None) -> Iterator[Disclosure]:
    if rows:
        yield {"id": name, "title": title, "kind": "rows", "rows": rows, "complete": True, "copy": copy}


def _exact(name: str, title: str, text: Text) -> Disclosure:
    """Show a value as it is; what is not shown is said in ``note``."""
    kind = "json" if text.is_json else "text"
    copy = text.text if text.complete else None
    made: Disclosure = {"id": name, "title": title, "kind": kind, "text": text.text, "complete": text.complete, "copy": copy}
    return {**made, "note": text.note} if text.note else made


def _absent(reading: Reading, name: str, title: str, said: object) -> Disclosure:
    """Say in the place of a value by whom, when and why it was erased, or where else it is; there is nothing to copy."""
    why = reading.absent(said)
    note = f"{why[:1].upper()}{why[1:]}{'' if why.endswith(('.', '!', '?')) else '.'}"
    gone = reading.erased(said) is not None
    return {
        "id": name, "title": f"{title}: erased" if gone else title, "kind": "text", "text": "", "complete": False, "copy": None,
        "note": note,
    }  # fmt: skip  # facts in lines


def _value(reading: Reading, name: str, title: str, said: object) -> Disclosure:
    """Show the value that a field refers to, or say why it is not here; a plain field is shown as it is."""
    text = reading.value(said)
    if text is not None:
        return _exact(name, title, text)
    if value_ref(said):
        return _absent(reading, name, title, said)
    return {"id": name, "title": title, "kind": "text", "text": scalar(said, cut_at=SHOWN_BYTES), "complete": True, "copy": None}


# ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _inputs(reading: Reading) -> Iterator[Disclosure]:
    """Show the inputs that stand with their provenance, their exact text, and those that ran or stood before."""
    record = reading.record
    if record.inputs is None:
        return
    title = "Inputs and where they came from"
    text = reading.inputs(record.inputs)
    if text is None:
        yield _absent(reading, "inputs", title, record.inputs)
    else:
        rows = [_row(line(name), f"{scalar(inner)} · {provenance(reading, name)}") for name, inner in members(text.parsed)]
        yield from _rows("inputs", title, rows, copy=text.text if text.complete else None)
        yield _exact("inputs-exact", "Inputs, but for what is redacted" if text.hidden else "Inputs, exactly", text)
    if record.executed_inputs is not None and record.executed_inputs != record.inputs:
        yield from _other_inputs(reading, "inputs-executed", "Inputs that it ran with", record.executed_inputs)
    for number, earlier in enumerate(_earlier(reading), start=1):
        yield from _other_inputs(reading, f"inputs-{number}", f"Inputs before change {number}", earlier)


def _earlier(reading: Reading) -> Iterator[object]:
    """Give the inputs that stood before, once each."""
    seen = {value_ref(reading.record.inputs)}
    for said in reading.record.inputs_history:
        if value_ref(said) not in seen:
            seen.add(value_ref(said))
            yield said


def _other_inputs(reading: Reading, name: str, title: str, said: object) -> Iterator[Disclosure]:
    text = reading.inputs(said)
    yield _absent(reading, name, title, said) if text is None else _exact(name, title, text)


def provenance(reading: Reading, name: str) -> str:
    """Say where an input came from, as its caller declared it; what nobody declared is unrecorded."""
    declared = next((row for row in _declared(reading) if row.get("field") == name), None)
    if declared is None:
        return "unrecorded"
    source, ref = str(declared.get("source") or "unrecorded"), str(declared.get("source_ref") or "")
    pointer = f", {line(declared['pointer'])}" if declared.get("pointer") else ""
    if source == "result":
        return f"from the result of {reading.label(ref)}{pointer}"
    if source == "user":
        actor = str(declared.get("actor") or "")
        whom = reading.who(actor) if actor else "a person"
        return f"from {whom}{f' ({line(ref)})' if ref else ''}"
    if source == "unrecorded":
        return "unrecorded"
    return f"from {line(source.replace('-', ' '))}{f' ({reading.label(ref)})' if ref else ''}{pointer}"


def _declared(reading: Reading) -> Iterator[Mapping[str, Any]]:
    for row in items_of(reading.record.proposal.get("provenance")):
        if isinstance(row, Mapping):
            yield cast("Mapping[str, Any]", row)


# ── what came of it ─────────────────────────────────────────────────────────────────────────────────────────────────


def _answer(reading: Reading) -> Iterator[Disclosure]:
    """Show what a person answered in the tool's place: it is theirs, and no result of the tool."""
    given = reading.answer_given
    if given.get("inputs") is None:
        return
    title, text = f"Answer in the tool's place, by {reading.who(given.get('actor'))}", reading.value(given["inputs"])
    if text is not None and type(text.parsed) is str and text.complete:
        spoken = text.parsed.encode("utf-8", "backslashreplace").decode()
        yield {"id": "answer", "title": title, "kind": "text", "text": spoken, "complete": True, "copy": spoken}
    else:
        yield _value(reading, "answer", title, given["inputs"])


def _result(reading: Reading) -> Iterator[Disclosure]:
    outcome = reading.record.outcome
    if outcome is None or "completed_at" not in outcome.data:
        return
    summary, whole = outcome.data.get("summary"), reading.value(outcome.data.get("result"))
    about = reading.plain(summary) if summary else shape(whole) if whole else ""
    title = f"Result ({about})" if about else "Result"
    if outcome.data.get("result") is not None:
        yield _value(reading, "result", title, outcome.data["result"])
    elif outcome.data.get("result_ref"):
        note = f"The result is kept by the runtime as {line(outcome.data['result_ref'])}."
        yield {"id": "result", "title": title, "kind": "text", "text": note, "complete": False, "copy": None, "note": note}


def _rejected_result(reading: Reading) -> Iterator[Disclosure]:
    rejected = reading.last(Kind.RESULT_REJECTED)
    if fields(rejected).get("result") is not None:
        yield _value(reading, "result-rejected", "The result that does not fit", fields(rejected)["result"])


_YES_OR_NO: Final = MappingProxyType[Any, str]({True: "yes", False: "no"})


def _error(reading: Reading) -> Iterator[Disclosure]:
    outcome = reading.record.outcome
    if outcome is None or "category" not in outcome.data:
        return
    said = outcome.data
    rows = [_row("category", line(said["category"])), _row("detail", reading.plain(said["detail"], cut_at=4000))]
    rows.append(_row("evidence", line(said["evidence_ref"])))
    if said.get("retryable") is not None:
        rows.append(_row("retryable", f"{_YES_OR_NO.get(said['retryable'], line(said['retryable']))}, says the tool"))
    if said.get("effects"):
        rows.append(_row("effects", reading.plain(said["effects"])))
    yield from _rows("error", "What went wrong", rows)
    if said.get("exception"):
        yield _value(reading, "exception", "The error, exactly", said["exception"])


def output_text(reading: Reading) -> tuple[str, str]:
    """Give the latest output as text, and in words what a reader must know of it: what is missing here, what came after the end.

    A chunk that is a JSON text is set as its text and joined to the next; any other chunk stands on lines of its own.
    """
    chunks = reading.record.output_chunks
    shown: list[str] = []
    missing = max(0, len(chunks) - OUTPUT_VALUES)
    for chunk in chunks[-OUTPUT_VALUES:]:
        said = chunk.get("output")
        text = reading.value(said)
        if text is not None:
            shown.append(text.parsed if text.is_json and type(text.parsed) is str else f"{text.text}\n")
        elif value_ref(said):
            missing += 1
        elif said is not None:
            shown.append(said if isinstance(said, str) else f"{scalar(said)}\n")
    whole = "".join(shown)
    note = f"{counted(missing, 'earlier or unread part')} of {len(chunks)} not on this card." if missing else ""
    if len(whole) > SHOWN_BYTES:
        note = f"{note} The last {SHOWN_BYTES} of {len(whole)} characters.".strip()
    if any(chunk.get("late") for chunk in chunks):
        note = f"{note} Some of it came after the end.".strip()
    return whole[-SHOWN_BYTES:].encode("utf-8", "backslashreplace").decode(), note


def _output(reading: Reading) -> Iterator[Disclosure]:
    """Show the output of an attempt that has ended; while it runs the card shows it itself."""
    if not reading.record.output_chunks or reading.open:
        return
    text, note = output_text(reading)
    title = f"Output ({counted(len(reading.record.output_chunks), 'part')})"
    made: Disclosure = {"id": "output", "title": title, "kind": "text", "text": text, "complete": not note, "copy": None if note else text}
    yield {**made, "note": note} if note else made


def _parts(reading: Reading) -> Rows:
    return [_row(line(part["part"]), reading.plain(part.get("outcome") or "ended")) for part in reading.record.parts]


def _effects_title(reading: Reading) -> str:
    nothing_yet = reading.record.reconciliation is Reconciliation.NOT_EXECUTED and not reading.record.effects
    return "Effects that are declared beforehand" if nothing_yet else "Effects, and what is known about them"


def _effects(reading: Reading) -> Rows:
    record = reading.record
    rows: Rows = []
    for effect in record.effects:
        when = token(str(effect.data.get("at") or effect.at))
        known = [f"{name.replace('_', ' ')} {line(effect.data[name])}" for name in _EFFECT_FIELDS if effect.data.get(name)]
        said = ", ".join([f"{effect_words(reading, effect)} {when}", *known])
        rows.append(_row("after the end" if effect.late else "observed", said))
    expected = [line(entry) for entry in items_of(record.proposal.get("expected_effects"))]
    if expected:
        rows.append(_row("declared beforehand", ", ".join(expected)))
    if rows or record.starts or record.reconciliations:
        rows.append(_row("known", _known(reading)))
    for settled in record.reconciliations:
        said = settled.data
        reference = f", reference {line(said['reference'])}" if said.get("reference") else ""
        detail = f": {reading.plain(said['detail'])}" if said.get("detail") else ""
        who = reading.who(said["by"])
        rows.append(_row("reconciled", f"{conclusion_words(said['conclusion'])}, recorded {token(settled.at)} by {who}{detail}{reference}"))
    return rows


def _known(reading: Reading) -> str:
    record = reading.record
    if reading.open and record.reconciliation is Reconciliation.UNKNOWN and not record.needs_reconciliation:
        return "Not known before it ends."
    return RECONCILIATIONS[record.reconciliation]


_EFFECT_FIELDS: Final = ("recipient", "resource", "reference", "provider_reference")

# ── policy, lineage, ids ────────────────────────────────────────────────────────────────────────────────────────────


def _policy(reading: Reading) -> Rows:
    """Say which class demanded what, what was asked of whom, and how it was answered."""
    record = reading.record
    rows: Rows = []
    for name in record.consequences:
        row = DEMANDS.get(Consequence(name)) if name in tuple(Consequence) else None
        demanded = f"{row.confirmation_timing} {row.cancellation_behaviour}" if row else "not a class that is known here"
        rows.append(_row(line(name), demanded))
    for asked in record.approvals:
        rule = f", by rule {line(asked.data['rule'])}" if asked.data.get("rule") else ""
        rows.append(_row("approval asked", f"{token(asked.at)} by {reading.who(asked.data['authorization_owner'])}{rule}"))
        rows += [_row("agreed", f"{token(one.at)} by {reading.who(one.actor)}") for one in asked.agreed]
        if asked.answer is not None:
            reason = f": {line(asked.answer.reason)}" if asked.answer.reason else ""
            who = reading.who(asked.answer.actor)
            word = next((words for kind, words in CLOSURES.items() if kind == asked.answer.kind), line(asked.answer.kind))
            rows.append(_row("answered", f"{word} {token(asked.answer.at)} by {who}{reason}"))
    if record.permission is not None:
        said = record.permission
        reason = f": {reading.own(str(said['reason']))}" if said.get("reason") else ""
        rows.append(_row("not permitted" if said["refused"] else "permitted", f"by rule {line(said['rule'])}{reason}"))
    if record.claim is not None:
        rows.append(_row("permit", f"taken {token(record.claim.at)}"))
    return rows


def _lineage(reading: Reading) -> Rows:
    record = reading.record
    given: Sequence[tuple[str, Any]] = (
        ("retries", record.proposal.get("retry_of")),
        ("is to undo", record.proposal.get("reverses")),
        ("replaces", record.proposal.get("replaces")),
        ("retried by", record.retried_by),
        ("undoing asked for", record.reversed_by),
        ("replaced by", record.replaced_by),
        ("part of", record.proposal.get("parent")),
    )
    rows = [_row(term, reading.label(str(target))) for term, target in given if target]
    for dependency in items_of(record.proposal.get("dependencies")):
        moved = record.moved_dependencies.get(dependency)
        now = f", now {reading.label(moved)}" if moved else ""
        state = "resolved" if dependency in record.resolved_dependencies else "not resolved"
        rows.append(_row("depends on", f"{reading.label(str(dependency))}{now}: {state}"))
    return rows


def _ids(reading: Reading) -> Rows:
    record = reading.record
    inputs: Mapping[str, Any] = record.inputs or {}
    given: list[tuple[str, Any]] = [
        ("invocation", record.id),
        ("task", record.task_id),
        ("tool", record.tool),
        ("source request", record.proposal.get("source_request")),
        ("policy version", record.proposal.get("policy_version")),
        ("inputs value", inputs.get("ref")),
        ("inputs digest", inputs.get("digest")),
        ("permit", record.claim.permit if record.claim else ""),
        ("queue reference", record.queue_ref),
        ("executor", record.executor),
        ("lease", record.lease),
    ]
    given += [("approval request", asked.id) for asked in record.approvals]
    given += [("correlation", reading.plain(row)) for row in items_of(record.correlation)]
    return [_row(term, line(value)) for term, value in given if value]
