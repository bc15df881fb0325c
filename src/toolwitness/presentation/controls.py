"""Controls as a person meets them: a label that says what it does, the reason where it is off, and what has to be filled in.

Which controls there are, and which are on, is policy's answer; nothing here turns one on.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.findings import Code
from toolwitness.core.states import Consequence, State
from toolwitness.core.verdicts import Control
from toolwitness.policy.retry import Conclusion
from toolwitness.presentation.facts import asked_amount
from toolwitness.presentation.foreign import line
from toolwitness.presentation.reading import Reading
from toolwitness.presentation.values import items_of, written
from toolwitness.presentation.words import CONCLUSIONS, FORWARD, PASSIVE, action_words

Field = dict[str, Any]


def controls(reading: Reading, offered: Sequence[Control]) -> list[dict[str, Any]]:
    """Give the controls in policy's order; reading, copying and the like are what the card itself is for."""
    shown = [control for control in offered if control.action not in PASSIVE and _has_a_place(reading, control)]
    return [drawn for control in shown for drawn in (_control(reading, control), *_asking(reading, control))]


def _has_a_place(reading: Reading, control: Control) -> bool:
    """Leave out the undo of a call that only reads: there is nothing to undo, and saying so on every card helps nobody."""
    only_reads = Consequence.READ_ONLY in reading.record.consequences
    return control.enabled or control.action != "reverse" or not only_reads


def _control(reading: Reading, control: Control) -> dict[str, Any]:
    return {
        "action": control.action,
        "label": _label(reading, control),
        "style": "go" if control.enabled and control.action in FORWARD else "plain",
        "enabled": control.enabled,
        "why": _why(reading, control),
        "fields": _fields(reading, control) if control.enabled else [],
        "binding": dict(control.binding),
    }


def _asking(reading: Reading, control: Control) -> Iterator[dict[str, Any]]:
    """Give, beside the form in which a person says what happened, the button that asks the tool, where it can be asked from here."""
    if control.action == "reconcile" and control.enabled and reading.provider:
        tool = line(reading.provider)
        yield {**_control(reading, control), "label": f"Ask {tool} what happened", "fields": [], "binding": {"asks": tool}}


def _why(reading: Reading, control: Control) -> str | None:
    """Say why a control is off, or what a person should know before pressing one that is on."""
    said = reading.own(control.reason)
    asked = reading.record.open_approval
    if control.enabled and control.action == "approve" and asked is not None and asked.needed > 1:
        return f"one of {asked.needed} people who must agree; {asked.lacking} {'is' if asked.lacking == 1 else 'are'} still missing"
    return said or (None if control.enabled else f"rule {line(control.rule)} does not allow it")


def _label(reading: Reading, control: Control) -> str:
    """Name what the control does, with what it is about: the amount, the attempt, the inverse."""
    words = line(action_words(control.action))
    if control.action == "approve" and (amount := asked_amount(reading)):
        return f"{words} {amount}"
    if control.action == "retry":
        return f"{words} as attempt {reading.record.attempt + 1}"
    if control.action == "reverse" and reading.inverse:
        return f"{words} with {line(reading.inverse)}"
    if control.action == "waive_child" and control.binding.get("invocationId"):
        return f"{words} {reading.label(str(control.binding['invocationId']))}"
    return words


# ── forms ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def field(name: str, label: str, kind: str, *, need: str = "optional", value: str = "", options: Sequence[Any] = ()) -> Field:
    """Make one thing to fill in; ``need`` is ``required`` or ``optional``."""
    return {"name": name, "label": label, "kind": kind, "required": need == "required", "value": value, "options": list(options)}


_REASON: Final = field("reason", "Reason, kept on record", "multiline")
_FORMS: Final = MappingProxyType[str, tuple[Field, ...]]({
    "deny": (_REASON,),
    "waive_child": (field("reason", "Why the task is complete without it", "multiline", need="required"),),
    "respond": (field("answer", "Your answer, given to the model as yours; the tool does not run", "multiline", need="required"), _REASON),
})  # fmt: skip  # one line a field


def _fields(reading: Reading, control: Control) -> list[Field]:
    """Give what has to be filled in before the control is pressed."""
    match control.action:
        case "supply_input":
            return _missing(reading)
        case "edit_inputs":
            return _editable(reading)
        case "choose_route":
            routes = [line(route) for route in items_of(reading.record.proposal.get("alternate_routes"))]
            kind = "choice" if routes else "text"
            return [field("route", "Route", kind, need="required", options=routes), _REASON]
        case "reconcile":
            return _to_say_what_happened(reading)
        case action:
            return [dict(form) for form in _FORMS.get(action, ())]


_LATE: Final = frozenset({Code.LATE_OUTCOME, Code.CONFLICTING_OUTCOMES})
"""Findings under which somebody has reported a success beside the end that stands."""


def _to_say_what_happened(reading: Reading) -> list[Field]:
    """Ask what the other side shows; where nothing was reported to have happened, nothing can have happened as reported."""
    record = reading.record
    told = record.state is State.SUCCEEDED or record.effects or record.commitment or _LATE.intersection(record.findings)
    options = [
        {"value": value.value, "label": label} for value, label in CONCLUSIONS.items() if told or value is not Conclusion.AS_REPORTED
    ]
    return [
        field("conclusion", "What really happened", "choice", need="required", options=options),
        field("reference", "Reference at the other side", "text"),
        field("detail", "How that is known", "multiline"),
    ]


def _missing(reading: Reading) -> list[Field]:
    """Give one field for each input that is unresolved, with what was said about it."""
    asked = reading.record.input_request or {}
    known: dict[str, Mapping[str, Any]] = {}
    for entry in items_of(asked.get("fields")):
        if isinstance(entry, Mapping):
            known[str(cast("Mapping[str, Any]", entry).get("name"))] = cast("Mapping[str, Any]", entry)
    given: list[Field] = []
    for name in items_of(asked.get("unresolved")):
        about = known.get(str(name), {})
        label = line(about.get("label") or about.get("title") or name)
        message = line(about.get("message") or "")
        options = [line(option) for option in items_of(about.get("options"))]
        kind = "choice" if options else "json" if about.get("kind") == "type" or about.get("type") in _NOT_TEXT else "text"
        given.append(field(str(name), f"{label}: {message}" if message else label, kind, need="required", options=options))
    return given


_NOT_TEXT: Final = frozenset({"integer", "number", "boolean", "array", "object"})


def _editable(reading: Reading) -> list[Field]:
    """Give one field for each input that stands, as exact JSON; a redacted part that is left as it is, is kept.

    What policy redacts, and was recorded before it was sealed, is not offered, and so is not changed.
    """
    text = reading.value(reading.record.inputs)
    sealed = {hidden.at.split("/")[1].replace("~1", "/").replace("~0", "~") for hidden in text.hidden if hidden.at} if text else set[str]()
    hidden = set[str]() if sealed else {pointer.split("/")[1] for pointer in reading.redact if pointer}
    return [
        field(name, f"{line(name)}{_KEEPS if name in sealed else ''}", "json", value=written(inner))
        for name, inner in reading.standing_inputs.items()
        if name not in hidden
    ]


_KEEPS: Final = " (redacted: what is left as it is, is kept)"
