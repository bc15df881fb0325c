"""The server of both pages: the framework's own stream goes out unchanged, with our record beside it."""

from collections.abc import Callable
from pathlib import Path

from ag_ui.core import RunAgentInput
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter

import toolwitness as tw
from front_ends.agent import World, agent
from toolwitness.adapters.ag_ui import emitter as ag_ui
from toolwitness.adapters.ai_sdk import emitter as ai_sdk

BUILT = Path(__file__).parent / "web" / "dist"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title}</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/toolcalls/static/toolwitness.css"><link rel="stylesheet" href="/built/page.css">
<script type="module" src="/toolcalls/static/toolwitness.js"></script><script type="module" src="/built/{name}.js"></script>
</head><body><div id="root"></div></body></html>"""


def create_app(desk: tw.Desk, world: World, *, who: Callable[[Request], tw.Actor | None]) -> FastAPI:
    """Make the app; ``who`` knows the person of a request, as in your own app."""
    app = FastAPI()
    made, recorder = agent(desk, world)

    def reader(request: Request) -> tw.Actor:
        return who(request) or tw.Actor(id="nobody")

    @app.get("/{name}", response_class=HTMLResponse)
    async def page(name: str) -> HTMLResponse:
        titles = {"ai-sdk": "AI SDK, with cards", "ag-ui": "AG-UI, with cards"}
        if name not in titles:
            return HTMLResponse("There are two pages: /ai-sdk and /ag-ui.", 404)
        return HTMLResponse(PAGE.format(name=name, title=titles[name]))

    @app.post("/api/chat")
    async def chat(request: Request) -> StreamingResponse:
        adapter = await VercelAIAdapter.from_request(request, agent=made, sdk_version=7)
        task = recorder.task_id(adapter.conversation_id or "")
        ours = ai_sdk.Emitter(desk, task, actor=reader(request))
        return StreamingResponse(ours.beside(adapter.encode_stream(adapter.run_stream())), headers=dict(ai_sdk.HEADERS))

    @app.get("/api/chat/{conversation}/stream")
    async def come_back(request: Request, conversation: str) -> StreamingResponse:
        ours = ai_sdk.Emitter(desk, recorder.task_id(conversation), actor=reader(request))
        return StreamingResponse(ours.watch(), headers=dict(ai_sdk.HEADERS))

    @app.post("/api/run")
    async def run(request: Request) -> StreamingResponse:
        asked = RunAgentInput.model_validate_json(await request.body())
        ours = ag_ui.Emitter(desk, recorder.task_id(asked.thread_id), actor=reader(request))
        if (asked.forwarded_props or {}).get("watch"):
            return StreamingResponse(ours.watch(thread_id=asked.thread_id, run_id=asked.run_id), headers=dict(ag_ui.HEADERS))
        adapter = AGUIAdapter(agent=made, run_input=asked)
        return StreamingResponse(ours.beside(adapter.encode_stream(adapter.run_stream())), headers=dict(ag_ui.HEADERS))

    app.mount("/toolcalls", desk.asgi(authenticate=who))
    app.mount("/built", StaticFiles(directory=BUILT, check_dir=False))
    return app
