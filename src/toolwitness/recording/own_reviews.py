"""Approvals that a framework asks for and answers by itself: put on record as they were seen. They are no permits of ours.

A call that is governed by a policy of ours is left alone here: what counts for it is what the desk asks and hears.
"""

from collections.abc import Mapping
from typing import Any

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, ClosureKind, Owner
from toolwitness.ports import Draft
from toolwitness.recording.desk_side import DeskSide
from toolwitness.service.workplace import read


async def requested(side: DeskSide, invocation_id: str) -> None:
    """Record that the framework waits for an approval of its own; saying it twice asks once."""
    record = (await read(side.place, invocation_id)).record
    if record.governed or record.state in TERMINAL or record.open_approval is not None:
        return
    await _request(side, record)


async def _request(side: DeskSide, record: InvocationRecord) -> None:
    facts = {
        "approval_id": side.place.ids.new("apr"), "attempt": record.attempt, "authority": f"{side.framework} asks by itself",
        "authorization_owner": side.framework, "scope": "this call, with the inputs shown",
        "consequence_summary": f"{record.tool} runs with these inputs. No consequence is declared for it.",
    }  # fmt: skip  # facts in lines
    await _say(side, record, Kind.APPROVAL_REQUESTED, facts, Owner.POLICY)


async def granted(side: DeskSide, invocation_id: str, actor: str, *, edited: bytes | None = None) -> None:
    """Record that the framework took an approval as given; ``edited`` are the inputs that were put in place of the proposed ones."""
    record = (await read(side.place, invocation_id)).record
    if record.governed or record.open_approval is None:
        return
    if edited is not None:
        await _say(side, record, Kind.INPUTS_EDITED, {"actor": actor}, Owner.USER, {"inputs": edited})
        await side.accept_inputs(record, edited)
        await _request(side, (await read(side.place, invocation_id)).record)  # the review is of these inputs now
        record = (await read(side.place, invocation_id)).record
    if record.open_approval is None:
        return
    await _say(side, record, Kind.GRANTED, {"actor": actor, "approval_id": record.open_approval.id}, Owner.USER)


async def denied(side: DeskSide, invocation_id: str, actor: str, reason: str) -> None:
    """Record a denial that the framework was given, and its closure."""
    record = (await read(side.place, invocation_id)).record
    if record.state in TERMINAL or record.starts:
        return
    cause: tuple[str, ...] = ()
    if record.open_approval is not None:
        facts = {"actor": actor, "approval_id": record.open_approval.id, "reason": reason}
        cause = (await _say(side, record, Kind.DENIED, facts, Owner.USER),)
    await _close(side, record, ClosureKind.DENIED, actor, reason, cause)


async def answered(side: DeskSide, invocation_id: str, actor: str, answer: bytes) -> None:
    """Record that a person answered in the tool's place."""
    record = (await read(side.place, invocation_id)).record
    if record.state in TERMINAL or record.starts:
        return
    await _say(side, record, Kind.INPUT_SUPPLIED, {"actor": actor}, Owner.USER, {"inputs": answer})
    await _close(side, record, ClosureKind.ANSWERED_BY_HUMAN, actor, "answered in the tool's place", ())


async def _close(
    side: DeskSide, record: InvocationRecord, kind: ClosureKind, actor: str, reason: str, cause: tuple[str, ...]
) -> None:  # fmt: skip  # a signature in two lines
    facts = {
        "kind": str(kind), "initiator": actor, "scope": "this call", "reason": reason, "at": side.place.stamp(),
        "owner_name": side.framework, "executed": False,
    }  # fmt: skip  # facts in lines
    await _say(side, record, Kind.CLOSED, facts, Owner.POLICY, cause=cause)


async def _say(
    side: DeskSide, record: InvocationRecord, kind: Kind, data: Mapping[str, Any], owner: Owner, values: Mapping[str, bytes] | None = None,
    *, cause: tuple[str, ...] = (),
) -> str:  # fmt: skip  # a signature in two lines
    event = Event(
        kind=kind, source=f"{side.source}:reviews", id=side.place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id,
        owner=owner, attempt=record.attempt, tenant=record.tenant, time=side.place.stamp(), data=data, caused_by=cause,
    )  # fmt: skip  # facts in lines
    await side.place.ledger.append(record.task_id, [Draft(event=event, values=values or {})])
    return str(event.ref)
