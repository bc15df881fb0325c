"""Encoded documents, kept until their records change.

A list of a thousand cards changes one card at a time. Each document is therefore encoded once for every version of its
record, and a list is joined from the pieces (27 times cheaper than encoding it anew).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolwitness.contract.document import build_invocation_document, task_entry, task_section
from toolwitness.contract.encode import encode_built, join
from toolwitness.core.record import InvocationRecord
from toolwitness.core.task import TaskRecord, blocked_by


class Fragments:
    """Keeps the encoded documents of records until their versions change.

    What one actor may do is not among it: pass it to ``extend``. The least recently used go when there are more than ``keep``.
    """

    def __init__(self, *, keep: int = 20_000) -> None:
        """Begin with none."""
        self._keep = keep
        self._made: dict[tuple[str, str], tuple[tuple[Any, ...], bytes]] = {}
        self.made = 0
        """How many documents had to be encoded so far."""

    def invocation(self, record: InvocationRecord, *, blocked: Sequence[str] = ()) -> bytes:
        """Give the shared document of an attempt, without ``permittedActions``: ``extend`` it with those of the reader."""

        def build() -> dict[str, Any]:
            document = build_invocation_document(record, blocked=blocked)
            del document["permittedActions"]
            return document

        return self._get("invocation", record, tuple(blocked), build)

    def entry(self, record: InvocationRecord, *, blocked: Sequence[str] = ()) -> bytes:
        """Give what a task document says of an attempt."""
        return self._get("entry", record, tuple(blocked), lambda: task_entry(record, blocked))

    def task(self, task: TaskRecord, records: Mapping[str, InvocationRecord], *, not_retryable: Sequence[str] = ()) -> bytes:
        """Give the task document, of which only the changed attempts are encoded anew."""
        entries = join(self.entry(record, blocked=blocked_by(record, task, records)) for record in records.values())
        section = encode_built(task_section(task, records, not_retryable=not_retryable))
        return section[:-1] + b',"invocations":' + entries + b"}"

    def _get(self, what: str, record: InvocationRecord, beside: tuple[str, ...], build: Callable[[], dict[str, Any]]) -> bytes:
        key, version = (what, record.id), (record.version, beside)
        known = self._made.pop(key, None)
        if known is None or known[0] != version:
            known = (version, encode_built(build()))
            self.made += 1
        self._made[key] = known
        if len(self._made) > self._keep:
            del self._made[next(iter(self._made))]
        return known[1]
