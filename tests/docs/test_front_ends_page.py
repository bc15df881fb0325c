"""The lines on the page about front ends are run as they stand."""

import re
import textwrap
from pathlib import Path
from typing import Any

import httpx
from ag_ui.core import RunAgentInput
from mcp.server.mcpserver import MCPServer
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from starlette.applications import Starlette
from starlette.routing import Route

import toolwitness as tw
from front_ends.agent import World, agent
from toolwitness.wire.framing import SseDecoder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "front-ends.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
ANN = tw.Actor(id="ann")
CHAT = {
    "id": "c",
    "trigger": "submit-message",
    "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "the deposit"}]}],
}
RUN = {
    "threadId": "c", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {},
    "messages": [{"id": "u", "role": "user", "content": "the deposit"}],
}  # fmt: skip  # one request


def lines(block: str) -> int:
    return sum(bool(line.strip()) for line in block.splitlines())


async def served(block: str, name: str, body: Any) -> list[str]:
    """Serve the function that a block of the page defines, ask it once, and give what it sent."""
    async with tw.open("memory:", sweep_seconds=0.05) as desk:
        world = World(seconds=0.01)
        made, recorder = agent(desk, world)
        scope: dict[str, Any] = {
            "desk": desk, "agent": made, "recorder": recorder, "who": lambda request: ANN, "RunAgentInput": RunAgentInput,
            "AGUIAdapter": AGUIAdapter, "VercelAIAdapter": VercelAIAdapter,
        }  # fmt: skip  # what a reader of the page has
        exec(compile(block, str(PAGE), "exec"), scope)  # noqa: S102 -- the page's own lines are what is tested
        app = Starlette(routes=[Route("/", scope[name], methods=["POST"])])
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://page") as client:
            answer = await client.post("/", json=body, headers={"accept": "text/event-stream"})
        assert world.paid == ["120.00"]
    assert answer.status_code == 200
    return [frame.data for frame in SseDecoder().feed(answer.content)]


async def test_the_ai_sdk_lines_put_our_part_into_the_frameworks_stream() -> None:
    sent = await served(BLOCKS[0], "chat", CHAT)

    assert lines(BLOCKS[0]) <= 10
    assert sent[-1] == "[DONE]"
    assert any('"data-tool-call"' in one and '"succeeded"' in one for one in sent)
    assert any('"tool-output-available"' in one for one in sent)


async def test_the_ag_ui_lines_put_our_event_into_the_frameworks_stream() -> None:
    sent = await served(BLOCKS[1], "run", RUN)

    assert lines(BLOCKS[1]) <= 10
    assert any('"toolwitness.tool-call"' in one and '"succeeded"' in one for one in sent)
    assert '"RUN_FINISHED"' in sent[-1]
    assert '"tool-call-ui/1"' in sent[-1]


async def test_the_mcp_lines_stand_at_a_real_server() -> None:
    class Server(MCPServer[Any]):
        ran = 0

        async def run_stdio_async(self) -> None:
            self.ran += 1

    server = Server("travel")
    async with tw.open("memory:") as desk:
        scope: dict[str, Any] = {"desk": desk, "client": ANN, "server": server}
        exec(compile("async def page():\n" + textwrap.indent(BLOCKS[2], "    "), str(PAGE), "exec"), scope)  # noqa: S102 -- as above
        await scope["page"]()

    assert lines(BLOCKS[2]) <= 10
    assert server.ran == 1
