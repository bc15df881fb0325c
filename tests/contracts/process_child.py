"""A process that a test drives line by line: it has a desk of its own on the common file, and perhaps the tool, and dies where it is told.

Run as ``python process_child.py FILE LINES NAME TOOL STEP``. ``TOOL`` is ``yes`` where it runs calls, ``declared`` where it only knows
the tools, ``no`` where it knows none. ``STEP`` is where it kills itself: ``before KIND`` and ``after KIND``, at the very append of evidence
of that kind; ``in the body``; or ``never``. Each line of input is ``{"do", …}``; each line of output is the answer. Bodies leave a line in
``LINES``, with ``O_APPEND``, so that what ran is known whatever the record says.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import toolwitness as tw
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.ports import Draft, Recorded, TaskView
from toolwitness.service.claim import claim
from toolwitness.service.propose import Proposal, propose

ROLES = frozenset({"finance"})


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def say(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def declare(desk: tw.Desk, lines: str, step: str) -> None:
    """Declare the tools of the test; their bodies leave a line and, where told so, end the process in the middle."""

    def leave_a_line(key: str) -> None:
        handle = os.open(lines, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, f"{key} {os.getpid()}\n".encode())
        os.close(handle)

    @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], approval_seconds=600, retry_attempts=3)
    async def send(key: str) -> str:
        leave_a_line(key)
        if step == "in the body":
            die()
        return key

    @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], approval_seconds=600)
    async def wait(key: str) -> str:
        leave_a_line(key)
        await asyncio.Event().wait()
        return key

    @desk.tool(consequences=[tw.READ_ONLY], retry_attempts=5)
    async def look(key: str, fail: str = "no") -> str:
        leave_a_line(key)
        if fail == "yes":
            raise tw.ToolFailure("upstream-unavailable", "It did not answer.")
        return key

    @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], approval_seconds=0.05)
    async def hurry(key: str) -> str:
        leave_a_line(key)
        return key


def arrange_death(desk: tw.Desk, step: str) -> None:
    """Put the end of this process where the test wants it: at the ledger, before or after it takes evidence of one kind."""
    when, _, kind = step.partition(" ")
    ledger: Any = desk.ledger
    append, decide = ledger.append, ledger.decide

    def die_at(moment: str, kinds: Iterable[str]) -> None:
        if moment == when and kind in {str(one) for one in kinds}:
            die()

    async def append_and_die(task_id: str, drafts: Sequence[Draft], **options: Any) -> Sequence[Recorded]:
        die_at("before", (draft.event.kind for draft in drafts))
        recorded = await append(task_id, drafts, **options)
        die_at("after", (draft.event.kind for draft in drafts))
        return recorded

    async def decide_and_die(task_id: str, deciding: Any) -> Sequence[Recorded]:
        def and_die(view: TaskView) -> Sequence[Draft]:
            drafts = deciding(view)
            die_at("before", (draft.event.kind for draft in drafts))
            return drafts

        recorded = await decide(task_id, and_die)
        die_at("after", (one.event.kind for one in recorded))
        return recorded

    ledger.append, ledger.decide = append_and_die, decide_and_die


async def carry_out(desk: tw.Desk, wanted: dict[str, Any], name: str) -> Any:
    """Do one thing at the moment that was agreed on, and say what came of it."""
    actor = tw.Actor(id=name, roles=ROLES)
    while time.monotonic() < wanted.get("at", 0):
        pass  # a sleep would wake up late, and not all alike
    match wanted["do"]:
        case "call":
            inputs = json.dumps({"key": wanted["key"], **wanted.get("with", {})}).encode()
            proposal = Proposal(
                tool=wanted["tool"], inputs=inputs, source_request="drill", proposer="drill", host=desk.host if wanted.get("mine") else ""
            )
            one = await propose(desk.place, wanted["task"], proposal)
            await desk.submit(one)
            return one
        case "sweep":
            return len(await desk.sweep())
        case "claim":  # what a worker is sent that gets a message twice
            answer = await claim(desk.place, wanted["id"], source=f"worker:{name}", worker=f"elsewhere:{name}:1")
            return {"refused": answer.rule} if isinstance(answer, PolicyVerdict) else "claimed"
        case "edit":
            return (await desk.edit_inputs(wanted["id"], wanted["with"], by=actor)).record.id
        case "state":
            return (await desk.record(wanted["id"])).state
        case act:
            return (await getattr(desk, act)(wanted["id"], by=actor)).record.id


async def main(path: str, lines: str, name: str, tool: str, step: str) -> None:
    """Answer line by line until the input ends."""
    loop = asyncio.get_running_loop()
    desk = tw.open(path, sweep_seconds=3600)
    arrange_death(desk, step)
    if tool != "no":
        declare(desk, lines, step)
    if tool == "yes":
        await desk.start()
    say("ready")
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            answer: Any = await carry_out(desk, json.loads(line), name)
        except tw.NotPermitted as no:
            answer = {"refused": no.facts["rule"]}
        say(answer)
    await desk.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
