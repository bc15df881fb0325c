"""Several real processes on one file, driven by a test, and a desk that only looks and decides."""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import toolwitness as tw
from tests.contracts import process_child
from tests.unit.bootstrap.desks import until
from toolwitness.core.verdicts import Verdict
from toolwitness.service.propose import open_task

AHEAD_SECONDS = 0.05
"""How far ahead the moment lies at which several processes act."""


class Child:
    """One process."""

    def __init__(self, path: Path, name: str, *, tool: str = "no", step: str = "never") -> None:
        command = [sys.executable, process_child.__file__, str(path / "calls.db"), str(path / "lines"), name, tool, step]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    async def answer(self) -> Any:
        """Wait for its next answer; ``None`` when it has died."""
        line = await asyncio.get_running_loop().run_in_executor(None, self._process.stdout.readline)
        return json.loads(line) if line else None

    def tell(self, do: str, **wanted: Any) -> None:
        """Tell it to do something."""
        self._process.stdin.write(json.dumps({"do": do, **wanted}) + "\n")
        self._process.stdin.flush()

    async def do(self, do: str, **wanted: Any) -> Any:
        """Let it do something and give its answer."""
        self.tell(do, **wanted)
        return await self.answer()

    async def end(self) -> int:
        """Let it go, and give how it went."""
        if not self._process.stdin.closed:
            self._process.stdin.close()
        code = await asyncio.get_running_loop().run_in_executor(None, self._process.wait)
        self._process.stdout.close()
        return code


class Field:
    """The common file, a desk that only looks and decides, and the processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.desk = tw.open(str(path / "calls.db"), sweep_seconds=3600)
        self.task = ""
        self._stack = AsyncExitStack()

    async def child(self, name: str, *, tool: str = "no", step: str = "never") -> Child:
        """Start a process."""
        return (await self.children((name, tool, step)))[0]

    async def children(self, *wanted: tuple[str, str, str]) -> list[Child]:
        """Start processes, and wait until all are there."""
        made = [Child(self.path, name, tool=tool, step=step) for name, tool, step in wanted]
        for one in made:
            self._stack.push_async_callback(one.end)
        for one in made:
            assert await one.answer() == "ready"
        return made

    async def at_once(self, *wanted: tuple[Child, dict[str, Any]]) -> list[Any]:
        """Let every process do its part at the same moment."""
        moment = time.monotonic() + AHEAD_SECONDS
        for child, what in wanted:
            child.tell(**what, at=moment)
        return list(await asyncio.gather(*(child.answer() for child, _ in wanted)))

    def ran(self) -> Counter[str]:
        """Count the bodies that really ran, by key."""
        lines = self.path / "lines"
        return Counter(line.split()[0] for line in lines.read_text().splitlines()) if lines.exists() else Counter()

    async def count(self, one: str, kind: str, verdict: Verdict | None = None) -> int:
        """Count the events of a kind about a call."""
        events = await self.desk.ledger.read(invocation_id=one)
        return sum(e.event.kind == kind and verdict in {None, e.verdict} for e in events)

    async def until(self, one: str, *states: tw.State) -> None:
        """Wait until a call is in one of these states."""

        async def there() -> bool:
            await asyncio.sleep(0.005)
            return (await self.desk.record(one)).state in states

        await until(there, patience_seconds=30)


@asynccontextmanager
async def a_field(path: Path) -> AsyncIterator[Field]:
    field = Field(path)
    field.task = await open_task(field.desk.place, "See who is first")
    try:
        yield field
        await field._stack.aclose()
        assert await field.desk.verify() == []
    finally:
        await field._stack.aclose()
        await field.desk.close()
