"""A small story for a ledger: two tasks, a retry, decisions, a reused id, values, refusals and facts about tasks."""

from toolwitness.core.evidence import Kind
from toolwitness.core.states import Origin, Owner
from toolwitness.ports import Draft, Ledger
from toolwitness.testing.clock import FakeClock
from toolwitness.testing.ledger_contract import opened, output, proposed, said

POLICY = {"source": "toolwitness:service", "owner": Owner.POLICY}
DESK = {"source": "toolwitness:desk", "owner": Owner.USER}


def approval(inputs_digest: str = "d") -> Draft:
    return said(
        Kind.APPROVAL_REQUESTED, "ask", **POLICY,
        data={
            "approval_id": "apr_1", "consequence_summary": "pays € 5", "authority": "role:finance", "authorization_owner": "desk",
            "scope": "this call", "inputs_digest": inputs_digest,
        },
    )  # fmt: skip  # one fact a line


async def fill(ledger: Ledger, clock: FakeClock) -> None:
    """Tell the story, one second an append."""
    second = {"task": "task_2", "about": "inv_2", "tenant": "acme"}
    appends: list[tuple[str, list[Draft]]] = [
        ("task_1", [opened(), proposed()]),
        ("task_1", [approval()]),
        ("task_1", [said(Kind.GRANTED, "yes", **DESK, data={"actor": "ann", "approval_id": "apr_1"}, once_key="answer:apr_1")]),
        ("task_1", [said(Kind.CLAIMED, "claim", data={"permit": "prm_1", "attempt": 1}, once_key="dispatch:inv_1")]),
        ("task_1", [said(Kind.STARTED, "start", data={"attempt": 1, "executor": "w1"}, time="2026-01-01T12:00:00.5Z", sequence=1)]),
        ("task_1", [output(0, values={"raw": b"data: 1"}, adapter="sse@1#3"), output(1, values={"output": b"\xff\x00"})]),
        ("task_2", [opened("opened-2", task="task_2", tenant="acme"), proposed("proposed-2", **second)]),
        ("task_1", [proposed(inputs=b'{"city":"Oslo"}')]),  # the id again, with other content
        ("task_2", [output(7, task="task_2")]),  # another task's invocation
        (
            "task_2",
            [said(Kind.HEARTBEAT, "client", data={"attempt": 1, "lease": "l"}, origin=Origin.CLIENT, caused_by=("ev_1",), **second)],
        ),
        ("task_1", [said(Kind.SUCCEEDED, "end", data={"completed_at": "2026-01-01T12:00:05Z"}, values={"result": b'{"n":1}'})]),
        (
            "task_2",
            [
                said(
                    Kind.CHILD_WAIVED,
                    "waive",
                    task="task_2",
                    about=None,
                    **DESK,
                    data={"actor": "ann", "child": "inv_2", "reason": "no need"},
                )
            ],
        ),
    ]
    for task_id, drafts in appends:
        await ledger.append(task_id, drafts)
        clock.advance(1)
