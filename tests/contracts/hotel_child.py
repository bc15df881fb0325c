"""A process that hosts the tools of a hotel on a ledger and runs what others decide; it ends when its input does.

Run as ``python hotel_child.py FILE LINES``. It prints the ids of a room that was booked and of one whose booking timed out, as one line of
JSON, and goes on running what is permitted. Bodies leave a line in ``LINES``, so that what ran is known whatever the record says.
"""

import asyncio
import json
import sys
from pathlib import Path

import toolwitness as tw
from toolwitness.runtime.context import idempotency_key


async def host(file: str, lines: Path) -> None:
    """Make two calls, then run what is permitted until the input ends."""
    timing_out = ["14"]

    def leave(word: str, room: str) -> None:
        with lines.open("a", encoding="utf-8") as kept:
            kept.write(f"{word} {room} {idempotency_key()}\n")

    async with tw.open(file, sweep_seconds=3600) as desk:

        @desk.tool(
            consequences=[tw.EXTERNALLY_VISIBLE], standing_authorization="the mandate of the trip", retry_attempts=3,
            inverse=tw.Inverse(tool="cancel_booking", window_seconds=3600, verified_by="this test"), target=lambda room: f"{room}@v1",
        )  # fmt: skip  # facts in lines
        async def book(room: str) -> str:
            leave("book", room)
            if room in timing_out:
                timing_out.clear()
                raise TimeoutError("no answer")
            return f"booked {room}"

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def cancel_booking(room: str) -> str:
            leave("cancel", room)
            return f"cancelled {room}"

        async with desk.task("A night") as task:
            booked = await task.call(book, room="12")
            doubtful = await task.call(book, room="14")
        sys.stdout.write(json.dumps({"booked": booked.invocation_id, "doubtful": doubtful.invocation_id}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(host(sys.argv[1], Path(sys.argv[2])))
