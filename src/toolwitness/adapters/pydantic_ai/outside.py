"""What was done to a run from outside, and how it ended: rows of a driver and its outcomes.

A driver writes in its own words. They are read narrowly: what is not clearly a cancellation or a decision on a call that can be named is
left to the framework's own events, which show a grant when the call is taken up and a denial when it is closed. The actor is unrecorded.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from toolwitness.adapters.pydantic_ai import mapping, results
from toolwitness.adapters.pydantic_ai.native import result_of
from toolwitness.core.evidence import Kind
from toolwitness.reading import endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED, exact

Event = Any
_CANCEL: Final = re.compile(r"(^|[.\s])cancel(\(\))?($|[\s(])", re.IGNORECASE)
_GRANT: Final = re.compile(r"\b(approv(e|es|ed|al|als)|grant(s|ed)?)\b", re.IGNORECASE)
_DENY: Final = re.compile(r"\b(den(y|ies|ied|ial)|reject(s|ed|ion)?)\b", re.IGNORECASE)
_NO_ACT: Final = re.compile(
    r"\b(pending|await\w*|while|need\w*|asks?|asked|request\w*|handler|expir\w*|left|abandon\w*|resum\w*|continu\w*|called)\b",
    re.IGNORECASE,
)
_YES: Final = re.compile(r"^(True|ToolApproved\b|tool-approved|approved?\b)", re.IGNORECASE)
_NO: Final = re.compile(r"^(False|ToolDenied\b|tool-denied|den(y|ied)\b)", re.IGNORECASE)
_EDIT: Final = re.compile(r"override_args=(\{.*?\})(?=[,)]\s*(?:kind=|$|\)))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision in a driver's words: on which call (empty where it names none), yes or no, with which inputs instead."""

    provider_id: str
    verdict: str
    edited: bytes | None = None


def driver(calls: Calls, kind: str, event: Event) -> str:
    """Record what a driver did; give why it says nothing about a call, where it does not."""
    said = re.sub(r"\(.*?\)", " ", kind)
    if _CANCEL.search(kind) and not re.search(r"\b(resum|history|new run)", said, re.IGNORECASE):
        calls.request_cancellation("driver cancel", text(members(event).get("scope")) or "run")
        return ""
    decided = list(_decisions(calls, said, event))
    for decision in decided:
        call = _target(calls, decision)
        if call is None:
            return "a decision that names no call while several could be meant; the framework's own events will show it"
        if decision.edited is not None:
            calls.edit("driver edit", call, UNRECORDED, decision.edited)
        if decision.verdict == "granted":
            calls.grant("driver approve", call, UNRECORDED)
        else:
            calls.deny("driver deny", call, UNRECORDED)
    return ""


def _decisions(calls: Calls, said: str, event: Event) -> Iterator[Decision]:
    told = members(event)
    given: Any = told.get("decision", told.get("approvals"))
    if given is None:
        given = {key: value for key, value in told.items() if calls.known(key)} or None
    by_call = members(cast("object", given))
    if by_call and "kind" not in by_call:
        for provider_id, one in by_call.items():
            yield from _read(provider_id, one)
    elif given is not None:
        shown = str(cast("object", given))
        several = [call.provider_id for call in calls.awaiting_approval() if f"'{call.provider_id}': " in shown]
        for provider_id in several:
            yield from _read(provider_id, shown.split(f"'{provider_id}': ", 1)[1])
        if not several:
            yield from _read("", given)
    elif not _NO_ACT.search(said):
        if _DENY.search(said):
            yield Decision("", "denied")
        elif _GRANT.search(said):
            yield Decision("", "granted")


def _read(provider_id: str, given: Any) -> Iterator[Decision]:
    """Read a decision in the framework's form, or in the words in which Python shows it."""
    told = members(given)
    said = text(told.get("kind")) if told else str(given).strip()
    if _YES.match(said):
        edited = told.get("override_args")
        yield Decision(provider_id, "granted", exact(edited) if members(edited) else _edited(said))
    elif _NO.match(said):
        yield Decision(provider_id, "denied")


def _edited(shown: str) -> bytes | None:
    found = _EDIT.search(shown)
    try:
        args = ast.literal_eval(found.group(1)) if found else None
    except (ValueError, SyntaxError):
        return None
    return exact(args) if isinstance(args, dict) else None


def _target(calls: Calls, decision: Decision) -> Call | None:
    """Give the call that a decision is about: the one it names, the one that waits, or the one whose decision is made again."""
    if decision.provider_id:
        return calls.current(decision.provider_id)
    waiting = calls.awaiting_approval() or [call for call in calls.all if call.approval_id]
    return waiting[0] if len(waiting) == 1 else None


# ── outcomes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def outcome(calls: Calls, kind: str, event: Event) -> None:
    """Record how a run ended, and results that only its message history holds."""
    if kind in {"raised", "stream raised"} or "__exc__" in members(event):
        _raised(calls, members(event))
    elif kind in {"returned", "stream ended normally"}:
        _history(calls, event)
        endings.end_run(calls, "outcome returned")
    else:
        _history(calls, event)


def _raised(calls: Calls, error: Mapping[str, Any]) -> None:
    name, said = text(error.get("__exc__")).rsplit(".", 1)[-1], text(error.get("str"))
    if twice := re.search(mapping.DUPLICATE_IDS, said):
        _refuse_duplicates(calls, set(re.findall(r"'([^']*)'", twice.group(1))))
    elif spent := re.match(mapping.MAX_RETRIES, said):
        _retries_spent(calls, spent.group(1), error)
    cancelled = name in {"RunCancelled", "CancelledError", "RunTimedOut"}
    endings.end_run(calls, "outcome raised", "the run was cancelled" if cancelled else "the run ended by an exception")


def _refuse_duplicates(calls: Calls, ids: set[str]) -> None:
    for call in calls.live():
        if call.provider_id in ids and not call.taken_up:
            calls.pen.write(
                Kind.REFUSED, "outcome raised duplicate ids", call.invocation_id, attempt=call.attempt,
                data={"rule": "unique tool_call_id", "reason": "the model used one id for two calls of a response, so none was made"},
            )  # fmt: skip  # facts in lines
            call.over = True


def _retries_spent(calls: Calls, tool: str, error: Mapping[str, Any]) -> None:
    """Record the failure of the one call that asked for a retry too many; say nothing where several could be meant."""
    meant = [call for call in calls.live() if call.tool == tool and call.taken_up]
    if len(meant) != 1:
        return
    why = text(members(error.get("cause")).get("str"))
    word = "outcome raised max retries"
    if re.fullmatch(mapping.TIMED_OUT, why):
        results.time_out(calls, meant[0], word, why)
    else:
        endings.again(calls, meant[0], word)
        results.fail(calls, meant[0], word, "retries-exhausted", why)


def _history(calls: Calls, event: Event) -> None:
    """Take the results that the stream did not carry: a run can be over before it hands on what it has collected."""
    messages = items(members(event).get("messages")) or items(event)
    for message in messages:
        for part in map(members, items(members(message).get("parts"))):
            if part.get("part_kind") != "tool-return" or not calls.known(text(part.get("tool_call_id"))):
                continue
            result = result_of(part, "outcome returned")
            known = calls.known(result.provider_id)
            seen = known[-1].over or any(result.key in call.results for call in known)
            if result.outcome in {"success", "failed", "retried"} and result.key and not seen:
                results.take_result(calls, result)
