"""What whole evidence on Anthropic's wire allows a record to claim; written apart from the adapter, from the wire's own words.

Used with the judge: an expectation that the record does not meet is a missed claim. A call is proposed when its block is complete; what
comes back is a failure where is_error says so, and a success where nothing in it reads like a cancellation.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolwitness.testing.truth.claims import Claims, Expectation
from toolwitness.testing.truth.episodes import Row

_SUSPECT = re.compile(r"cancel|abort|interrupt|stopped|timed? ?out|timeout|error|fail|masked", re.IGNORECASE)


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the provider's and the application's rows hold whole evidence for."""
    blocks: dict[int, str] = {}
    made: Counter[str] = Counter()
    results: list[tuple[str, str, int]] = []
    for row in rows:
        event = row.get("event", row)
        if not isinstance(event, Mapping) or row.get("src") == "truth":
            continue
        seq, kind = row.get("seq"), event.get("type")
        number = seq if isinstance(seq, int) else 0
        if kind == "content_block_start" and event["content_block"].get("type") in {"tool_use", "server_tool_use", "mcp_tool_use"}:
            blocks[event["index"]] = str(event["content_block"].get("id"))
        elif kind == "content_block_stop" and event.get("index") in blocks:
            call = blocks.pop(event["index"])
            made[call] += 1
            yield Expectation(call, "proposed", lambda claims: bool(claims.told("invocation.proposed")), number)
        elif kind == "tool_result":
            results.append((str(event.get("tool_use_id")), _end(event), number))
    answered = Counter(call for call, _, _ in results)
    for call, end, number in results:
        if end and made[call] == answered[call] == 1:
            yield Expectation(call, end, _shows(end), number)


def _end(block: Mapping[str, Any]) -> str:
    said = json.dumps(block.get("content"))
    if _SUSPECT.search(said):
        return ""
    return "failed" if block.get("is_error") is True else "succeeded"


def _shows(state: str) -> Callable[[Claims], bool]:
    return lambda claims: state in claims.states
