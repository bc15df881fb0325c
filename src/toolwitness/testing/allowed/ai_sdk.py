"""What whole evidence in an AI SDK stream allows a record to claim; written apart from the adapter, from the package's own chunk types.

A claim is counted for each chunk that holds it: that a call was proposed, with which input; that an approval was asked for; that it put out
something before its end; and how it ended, unless the value says of itself that it is no end that can be believed.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolwitness.testing.truth.claims import Claims, Expectation
from toolwitness.testing.truth.episodes import Row

_STOPPED = re.compile(r"abort|cancel|time-?out|timed out|interrupted", re.IGNORECASE)
_NO_SUCCESS = frozenset({"cancelled", "canceled", "aborted", "failed", "error", "denied", "rejected", "interrupted", "stopped"})


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the chunks hold whole evidence for."""
    asked: set[str] = set()
    refused: set[str] = set()
    policy: dict[str, str] = {}
    for row in rows:
        chunk = row.get("event")
        if row.get("src") != "runtime" or not isinstance(chunk, Mapping):
            continue
        kind, call, number = str(chunk.get("type")), str(chunk.get("toolCallId") or ""), int(row.get("seq") or 0)
        if kind == "tool-approval-response":
            call = policy.get(str(chunk.get("approvalId")), "")
        if not call:
            continue
        if kind == "tool-approval-request":
            policy[str(chunk.get("approvalId"))] = call
            asked.add(call)
        refused |= {call} if kind == "tool-input-error" else set()
        for claim, made in _claims(kind, chunk, matched=call in asked, refused=call in refused):
            yield Expectation(call, claim, made, number)


def _claims(kind: str, chunk: Row, *, matched: bool, refused: bool) -> Iterator[tuple[str, Callable[[Claims], bool]]]:
    """Give what one chunk allows about its call."""
    if kind == "tool-input-available":
        yield "proposed", lambda claims: bool(claims.told("invocation.proposed"))
        yield "proposed with this input", _proposed_with(chunk.get("input"))
    elif kind == "tool-input-error":
        yield "proposed", lambda claims: bool(claims.told("invocation.proposed"))
        yield "refused inputs", lambda claims: bool(claims.told("inputs.rejected"))
    elif kind == "tool-approval-request" and chunk.get("isAutomatic") is not True:
        yield "approval requested", lambda claims: bool(claims.told("approval.requested"))
    elif kind == "tool-approval-response":
        yield "answered by a policy", lambda claims: bool(claims.told("dispatch.permitted") or claims.told("dispatch.refused"))
    elif kind == "tool-output-available" and chunk.get("preliminary") is True:
        yield "output before the end", lambda claims: bool(claims.told("output.emitted"))
    elif kind == "tool-output-available" and not _owns_up(chunk.get("output")):
        yield "succeeded", lambda claims: bool(claims.told("execution.succeeded"))
    elif kind == "tool-output-error" and not refused and not _STOPPED.search(str(chunk.get("errorText"))):
        yield "failed", lambda claims: bool(claims.told("execution.failed"))
    elif kind == "tool-output-denied" and matched:
        yield "denied", lambda claims: bool(claims.told("closure.recorded"))


def _proposed_with(given: Any) -> Callable[[Claims], bool]:
    return lambda claims: any(_same(document.get("inputs", {}).get("values"), given) for document in claims.documents)


def _same(shown: Any, given: Any) -> bool:
    if shown == given:
        return True
    try:
        return isinstance(shown, str) and json.loads(shown) == given
    except ValueError:
        return False


def _owns_up(output: Any) -> bool:
    """Tell whether an output says that it is none."""
    if isinstance(output, str):
        return bool(re.match(r"\W*(AbortError|CancelledError|cancell?ed|aborted)", output, re.IGNORECASE))
    if not isinstance(output, Mapping):
        return False
    told = [str(output.get(name)).lower() for name in ("status", "state", "outcome", "kind", "type")]
    return any(word in _NO_SUCCESS for word in told) or output.get("isError") is True or output.get("error") is not None
