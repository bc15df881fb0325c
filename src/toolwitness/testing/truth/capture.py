"""Reads one capture for the judge: every row with its number, whatever the file looks like, and the rows of truth that lie beside it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolwitness.testing.truth.layout import Capture

Rows = list[dict[str, Any]]


def rows_of(capture: Capture) -> Rows:
    """Give every row of a capture, ``truth`` included, as ``{"src", "kind", "seq", "event"}``.

    A chunk of a plain stream becomes a row of ``src`` ``runtime`` and kind ``chunk``, whose event is the chunk and whose ``seq`` is its
    line; a row of truth beside it becomes ``src`` ``truth`` with its word as kind and its own line as ``seq``.
    """
    if not capture.replayed:
        return list(_beside(capture.path))
    rows = [_row(number, row, streams=capture.streams) for number, row in _lines(capture.path)]
    return rows + (list(_beside(capture.truth)) if capture.truth else [])


def _row(number: int, row: dict[str, Any], *, streams: bool) -> dict[str, Any]:
    if streams:
        return {"src": "runtime", "kind": "chunk", "seq": number, "event": row}
    seq = row.get("seq")
    known = {"src": _text(row.get("src")), "kind": _text(row.get("kind")), "event": row.get("event")}
    return {**row, **known, "seq": seq if isinstance(seq, int) else number}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _beside(path: Path) -> Iterator[dict[str, Any]]:
    for number, row in _lines(path):
        yield {"src": "truth", "kind": _text(row.get("ev")), "seq": number, "t": row.get("t_ms"), "event": row}


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give every readable row; a replay reports the others."""
    if path.suffix == ".json":
        document: object = json.loads(path.read_bytes())
        yield 1, document if isinstance(document, dict) else {"rows": document}
        return
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            row: object = json.loads(line) if line.strip() else None
        except ValueError:
            continue
        if isinstance(row, dict):
            yield number, row
        elif row is not None:
            yield number, {"value": row}
