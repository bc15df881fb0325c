"""What every ledger promises about values: kept byte by byte, apart from the events, and forgotten when the record says so.

Part of the conformance suite; subclass ``LedgerContract`` to run it all.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import pytest

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Verdict
from toolwitness.ports import Draft, Ledger, Listener, Recorded

SOURCE = "contract:runtime"


class OpenLedger(Ledger, Protocol):
    """A ledger, and what the suite looks at besides the port."""

    duplicates: int

    def add_listener(self, listener: Listener) -> Any:
        """Call ``listener`` with each batch recorded from now on."""
        ...


def said(
    kind: str, event_id: str, *, task: str = "task_1", about: str | None = "inv_1", owner: Owner = Owner.RUNTIME,
    values: Mapping[str, bytes] | None = None, **fields: Any,
) -> Draft:  # fmt: skip  # a signature in two lines
    """Make a draft; ``fields`` are those of ``Event``."""
    fields.setdefault("source", SOURCE)
    return Draft(event=Event(kind=kind, id=event_id, task_id=task, invocation_id=about, owner=owner, **fields), values=values or {})


def opened(event_id: str = "opened", *, task: str = "task_1", **fields: Any) -> Draft:
    """Make the draft that opens a task."""
    return said(Kind.TASK_OPENED, event_id, task=task, about=None, data={"purpose": "to see"}, **fields)


def proposed(event_id: str = "proposed", *, inputs: bytes = b'{"city":"Bergen"}', **fields: Any) -> Draft:
    """Make the draft of a proposal whose inputs are ``inputs``."""
    return said(
        Kind.PROPOSED,
        event_id,
        values={"inputs": inputs},
        data={"tool": "search", "source_request": "msg_1", "proposer": "model"},
        **fields,
    )


def output(order: int, event_id: str = "", **fields: Any) -> Draft:
    """Make the draft of one chunk of output."""
    return said(Kind.OUTPUT, event_id or f"output-{order}", data={"order": order}, **fields)


def erasing(ref: str, event_id: str = "erased", **fields: Any) -> Draft:
    """Make the draft that says that a value is erased."""
    fields.setdefault("owner", Owner.POLICY)
    return said(Kind.VALUE_ERASED, event_id, data={"value_ref": ref, "by": "ann", "reason": "asked to"}, **fields)


def ref_of(recorded: Recorded) -> str:
    """Give the reference of the inputs that lie beside an event."""
    return str(recorded.event.data["inputs"]["ref"])


class ValuesContract:
    """What every ledger promises about values (design rule R12)."""

    @pytest.mark.parametrize("content", [b"", b"\xff\x00\xfe", b'{"n":12345678901234567890}', b'"\\ud800"', b"x" * 100_000])
    async def test_a_value_is_kept_byte_by_byte(self, ledger: OpenLedger, content: bytes) -> None:
        """Whatever the bytes are; the event holds reference, digest, length and, where it is not JSON, the media type."""
        draft = Draft(event=proposed().event, values={"inputs": content}, media_types={"inputs": "text/plain"})
        recorded = (await ledger.append("task_1", [draft]))[0]
        standing = recorded.event.data["inputs"]
        assert (await ledger.value(standing["ref"]), standing["bytes"], standing["media"]) == (content, len(content), "text/plain")
        assert (len(standing["digest"]), standing["ref"][:4], len(standing["ref"])) == (64, "val_", 36)

    async def test_the_same_value_twice_has_two_digests(self, ledger: OpenLedger) -> None:
        """Digests are salted, so that an erased value cannot be guessed from them."""
        first, second = await ledger.append("task_1", [proposed(), proposed("other")])
        assert first.event.data["inputs"]["digest"] != second.event.data["inputs"]["digest"]

    async def test_the_raw_event_is_cited(self, ledger: OpenLedger) -> None:
        """The value called ``raw`` is the source's own event."""
        recorded = (await ledger.append("task_1", [Draft(event=output(0).event, values={"raw": b"data: {}"})]))[0]
        assert await ledger.value(recorded.event.raw_ref) == b"data: {}"

    async def test_a_reference_to_an_earlier_value_is_kept(self, ledger: OpenLedger) -> None:
        """Data that already holds a reference brings no bytes of its own."""
        inputs = (await ledger.append("task_1", [proposed()]))[0].event.data["inputs"]
        started = said(Kind.STARTED, "started", data={"attempt": 1, "executor": "w", "inputs": inputs})
        assert (await ledger.append("task_1", [started]))[0].event.data["inputs"] == inputs
        assert await ledger.value("val_" + "0" * 32) is None
        assert await ledger.value("anything") is None

    async def test_an_erased_value_is_gone_and_the_record_stays_good(self, ledger: OpenLedger) -> None:
        """Bytes and salt go in the step that records it; the event that referred to them stays as it was."""
        kept, gone = await ledger.append("task_1", [proposed(), proposed("other", inputs=b'{"city":"Oslo"}')])
        digest = gone.event.data["inputs"]["digest"]
        assert (await ledger.append("task_1", [erasing(ref_of(gone))]))[0].verdict is not Verdict.REFUSED
        assert [await ledger.value(ref_of(gone)), await ledger.value(ref_of(kept))] == [None, b'{"city":"Bergen"}']
        assert (await ledger.read())[1].event.data["inputs"]["digest"] == digest
        assert list(await ledger.verify()) == []

    async def test_a_value_that_came_in_the_same_append_can_be_erased(self, ledger: OpenLedger) -> None:
        """What is said in one step holds together."""
        ref = ref_of((await ledger.append("task_1", [proposed("twice")]))[0])
        other = proposed("late", inputs=b'{"n":1}')
        recorded = await ledger.append("task_1", [other, erasing(ref)])
        assert [await ledger.value(ref), await ledger.value(ref_of(recorded[0]))] == [None, b'{"n":1}']
        assert list(await ledger.verify()) == []

    @pytest.mark.parametrize("fields", [{"owner": Owner.RUNTIME}, {"refusal": "eraser: not theirs", "once_key": ""}])
    async def test_an_erasure_that_is_not_believed_erases_nothing(self, ledger: OpenLedger, fields: dict[str, Any]) -> None:
        """One that is refused, or said by somebody who may not say it."""
        ref = ref_of((await ledger.append("task_1", [proposed()]))[0])
        assert (await ledger.append("task_1", [erasing(ref, **fields)]))[0].verdict is Verdict.REFUSED
        assert await ledger.value(ref) == b'{"city":"Bergen"}'
        assert list(await ledger.verify()) == []

    async def test_no_task_erases_the_value_of_another(self, ledger: OpenLedger) -> None:
        """An event is about its own task."""
        ref = ref_of((await ledger.append("task_1", [proposed()]))[0])
        await ledger.append("task_2", [erasing(ref, task="task_2", about="inv_2")])
        assert await ledger.value(ref) == b'{"city":"Bergen"}'
        assert list(await ledger.verify()) == []

    async def test_a_repetition_of_what_was_erased_is_a_repetition_and_brings_nothing_back(self, ledger: OpenLedger) -> None:
        """At-least-once delivery does not undo an erasure."""
        ref = ref_of((await ledger.append("task_1", [proposed()]))[0])
        await ledger.append("task_1", [erasing(ref)])
        assert (await ledger.append("task_1", [proposed()]))[0].verdict is Verdict.DUPLICATE
        assert await ledger.value(ref) is None
        assert list(await ledger.verify()) == []
