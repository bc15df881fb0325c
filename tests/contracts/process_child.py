"""A process that a test drives line by line: it has a desk of its own on the common file, and perhaps the tool, and dies where it is told.

Run as ``python process_child.py FILE LINES NAME TOOL STEP``. ``TOOL`` is ``yes`` where it may run calls. ``STEP`` is where it kills
itself: ``claimed``, ``started``, ``ended`` or ``never``. Each line of input is ``{"do", …}``; each line of output is the answer. Bodies
leave a line in ``LINES``, with ``O_APPEND``, so that what ran is known whatever the record says.
"""

import asyncio
import json
import os
import signal
import sys
import time
from typing import Any

import toolwitness as tw
from toolwitness.runtime import dispatching
from toolwitness.runtime.reporting import Reporter
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
        if step == "started":
            die()
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


def arrange_death(step: str) -> None:
    """Put the end of this process where the test wants it."""
    if step == "claimed":
        claim = dispatching.claim

        async def claim_and_die(*args: Any, **kwargs: Any) -> Any:
            await claim(*args, **kwargs)
            die()

        dispatching.claim = claim_and_die
    elif step == "ended":

        async def die_instead(*_: Any) -> None:
            die()

        Reporter._end = die_instead


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
        case "state":
            return (await desk.record(wanted["id"])).state
        case act:
            return (await getattr(desk, act)(wanted["id"], by=actor)).record.id


async def main(path: str, lines: str, name: str, tool: str, step: str) -> None:
    """Answer line by line until the input ends."""
    loop = asyncio.get_running_loop()
    arrange_death(step)
    desk = tw.open(path, sweep_seconds=3600)
    if tool == "yes":
        declare(desk, lines, step)
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
