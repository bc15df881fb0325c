"""Reports of texts: a line of JSON that holds half a character, and JSON whose numbers no JSON number can carry.

Nothing here is a framework's stream. The texts go where such texts go: as the inputs of a proposal, as a result, as an event; and what
becomes of them is read from documents and cards.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from toolwitness.core.evidence import Kind
from toolwitness.runtime.encoding import encode_value
from toolwitness.testing.reports.case import Findings
from toolwitness.testing.reports.moments import Moment, look
from toolwitness.testing.reports.raw.wire import Remark, Wire
from toolwitness.testing.reports.runtime_words import WORDS, propose_call
from toolwitness.testing.reports.stage import Answer, Stage
from toolwitness.testing.reports.story import Step, text
from toolwitness.wire.json_text import Parsed, parse


async def play_line(stage: Stage, findings: Findings) -> tuple[list[Moment], list[Wire]]:
    """Read one line as it was stored, and play the event that it holds."""
    await stage.open_tasks()
    line = text(stage.story.input.get("line"))
    parsed = parse(line.encode("utf-8", "surrogatepass"), expect="object")
    moments = [await look(stage, 0)]
    fields = cast("Mapping[str, Any]", spelled(parsed.value)) if isinstance(parsed.value, Mapping) else {}
    step = Step(number=1, seq=int(fields.get("seq") or 1), source=text(fields.get("source")), type=text(fields.get("type")), fields=fields)
    word = WORDS.get(step.type)
    if word is None:
        findings.skip("line", f"nobody here knows the event type {step.type!r}")
        return moments, []
    stage.answers[step.seq] = await word(stage, step)
    moments.append(await look(stage, 1))
    return moments, [_remarked(stage, step.seq, parsed)]


async def play_json(stage: Stage, findings: Findings) -> tuple[list[Moment], list[Wire]]:
    """Propose a call with the arguments as they were written; give each result to a call of its own, as it was written."""
    await stage.open_tasks()
    named = stage.story.input.get("map")
    key = next((str(name) for name in named.values()), "i1#1") if isinstance(named, Mapping) else "i1#1"
    step = Step(number=1, seq=1, source="model", type="proposed", fields={"args_text": text(stage.story.input.get("arguments_text"))})
    moments = [await look(stage, 0)]
    stage.answers[1] = await propose_call(stage, step, key)
    moments.append(await look(stage, 1))
    remarks: list[Wire] = []
    results = stage.story.input.get("result_texts")
    for number, result in enumerate(results if isinstance(results, list) else []):
        remarks.append(await _result(stage, number, text(result)))
    moments.append(await look(stage, 2))
    await _python_values(stage)
    moments.append(await look(stage, 3))
    return moments, remarks


def spelled(value: Any) -> Any:
    """Spell out what no UTF-8 can carry, as every reader of ours does for the facts that it writes; the bytes are kept beside."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [spelled(one) for one in cast("list[Any]", value)]
    return {spelled(name): spelled(one) for name, one in cast("Mapping[str, Any]", value).items()} if isinstance(value, Mapping) else value


async def _result(stage: Stage, number: int, result: str) -> Wire:
    key, step = f"result{number}#1", Step(number=number + 2, seq=number + 2, source="executor", type="succeeded", fields={})
    await propose_call(stage, Step(number=0, seq=0, source="model", type="proposed", fields={}), key)
    raw = result.encode("utf-8", "surrogatepass")
    recorded = await stage.observe(step, Kind.SUCCEEDED, {"completed_at": stage.place.stamp()}, key=key, values={"result": raw})
    stage.answers[step.seq] = Answer(recorded=recorded)
    parsed = parse(raw)
    wire = _remarked(stage, step.seq, parsed)
    wire.remarks += [Remark(seq=step.seq, word=f"result {number}", why="not strict JSON")] if parsed.problems else []
    return wire


async def _python_values(stage: Stage) -> None:
    """End a call with what a Python tool could return and JSON cannot say: the event is recorded all the same, and the value is tagged."""
    value: dict[Any, Any] = {
        "mean": float("nan"), "when": datetime(2025, 3, 10, tzinfo=UTC), "set": {1, 2}, "dec": Decimal("1.10"), "big": 2**70, 1: "int key",
        "raw": b"\x89PNG",
    }  # fmt: skip  # pairs in lines
    value["self"] = value
    value["object"] = object()
    key, step = "python#1", Step(number=90, seq=90, source="executor", type="succeeded", fields={})
    await propose_call(stage, Step(number=0, seq=0, source="model", type="proposed", fields={}), key)
    values = {"result": encode_value(value)}
    recorded = await stage.observe(step, Kind.SUCCEEDED, {"completed_at": stage.place.stamp()}, key=key, values=values)
    stage.answers[step.seq] = Answer(recorded=recorded)


def _remarked(stage: Stage, seq: int, parsed: Parsed) -> Wire:
    """Keep what the reading of a text had to decide."""
    wire = Wire.of(stage, "ag-ui")
    wire.remarks = [Remark(seq=seq, word=problem.code, why=problem.detail) for problem in parsed.problems]
    return wire
