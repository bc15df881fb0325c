"""The hash chain of a task: each event's hash covers its own bytes, its place, its verdict, and everything before it.

The hashed bytes are RFC 8785 JSON of ``{"basis", "event", "position", "reason", "recorded_time", "row", "state", "task_sequence",
"verdict"}`` with the event's own canonical bytes inside; anyone with SHA-256 and a JSON reader can check a chain without this package.
The chain proves what was recorded, not that a source told the truth; and whoever removes a whole task, or a tail together with its
head, leaves no trace in it.
"""

from hashlib import sha256
from typing import Final

import orjson

_GENESIS: Final = b"toolwitness task chain 1\n"
_FORM: Final = (
    b'{"basis":"%b","event":%b,"position":%d,"reason":%b,"recorded_time":"%b","row":%b,"state":%b,"task_sequence":%d,"verdict":"%b"}'
)
_EMPTY: Final = b'""'


def genesis(task_id: str) -> bytes:
    """Give the hash that stands before the first event of a task."""
    return sha256(_GENESIS + task_id.encode("utf-8", "surrogatepass")).digest()


def link(
    before: bytes, body: bytes, *, position: int, task_sequence: int, recorded_time: str, verdict: str, reason: str, state: str | None,
    basis: str, row: str,
) -> bytes:  # fmt: skip  # what is hashed, in one place
    """Give the hash of an event whose predecessor in its task has the hash ``before``."""
    hashed = _FORM % (
        basis.encode(), body, position, orjson.dumps(reason) if reason else _EMPTY, recorded_time.encode(),
        orjson.dumps(row) if row else _EMPTY, b'"%b"' % state.encode() if state is not None else b"null", task_sequence, verdict.encode(),
    )  # fmt: skip  # in the order of the form
    return sha256(before + hashed).digest()
