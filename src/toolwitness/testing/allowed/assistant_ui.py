"""What whole evidence in an assistant-ui stream allows a record to claim; written apart from the adapter, from the package's own words.

Both encodings are read: the data stream names the call in each line, the transport names the path of its part. A result of a call that the
stream did not begin allows nothing: the package's own decoder refuses it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolwitness.testing.truth.claims import Claims, Expectation
from toolwitness.testing.truth.episodes import Row

_STOPPED = re.compile(r"abort|cancel|time-?out|interrupted", re.IGNORECASE)
_BEGUN = frozenset({"b", "9", "part-start"})
_ANSWERED = frozenset({"a", "result"})
_GATED = frozenset({"aui-tool-call-approval", "tool-call-approval"})


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the chunks hold whole evidence for."""
    begun: set[str] = set()
    gates: dict[str, bool] = {}
    for number, word, call, value in _about_calls(rows):
        if word in _BEGUN:
            begun.add(call)
            yield Expectation(call, "proposed", lambda claims: bool(claims.told("invocation.proposed")), number)
        elif word in _GATED:
            gate: Any = value.get("approval")
            gates[call] = gates.get(call, False) or _member(gate, "approved") is False
            if _member(gate, "isAutomatic") is not True:
                yield Expectation(call, "approval requested", lambda claims: bool(claims.told("approval.requested")), number)
            if gates[call]:
                yield Expectation(call, "denied", lambda claims: bool(claims.told("closure.recorded")), number)
        elif word in _ANSWERED and call in begun and not gates.get(call, False):
            yield from _ended(call, value, number)


def _ended(call: str, value: Row, number: int) -> Iterator[Expectation]:
    content = json.dumps(value.get("result"), ensure_ascii=False)
    if value.get("isPreliminary") is True:
        yield Expectation(call, "output before the end", _put_out, number)
    elif _STOPPED.search(content):
        return
    elif value.get("isError") is True:
        yield Expectation(call, "failed", lambda claims: bool(claims.told("execution.failed")), number)
    elif not re.search(r'"(status|state|outcome)": *"(failed|error|denied|rejected)|"isError": true|"error":', content):
        yield Expectation(call, "succeeded", lambda claims: bool(claims.told("execution.succeeded")), number)


def _put_out(claims: Claims) -> bool:
    return bool(claims.told("output.emitted"))


def _about_calls(rows: Sequence[Row]) -> Iterator[tuple[int, str, str, Row]]:
    """Give each chunk that is about a call: its row, its word, the call's id, its members."""
    parts: dict[tuple[int, ...], str] = {}
    counts: dict[tuple[int, ...], int] = {}
    for row in rows:
        chunk: Any = row.get("event")
        if row.get("src") != "runtime" or not isinstance(chunk, Mapping):
            continue
        number = int(row.get("seq") or 0)
        if "code" in chunk:
            value: Any = chunk.get("value")
            yield number, str(chunk["code"]), str(_member(value, "toolCallId") or ""), value if isinstance(value, Mapping) else {}
            continue
        path = tuple(one for one in chunk.get("path") or () if isinstance(one, int))
        if chunk.get("type") == "part-start":
            place = (*path, counts.get(path, 0))
            counts[path] = place[-1] + 1
            part = chunk.get("part")
            if _member(part, "type") != "tool-call":
                continue
            parts[place] = str(_member(part, "toolCallId"))
            path = place
        if path in parts:
            yield number, str(chunk.get("type")), parts[path], chunk


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None
