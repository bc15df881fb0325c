"""``python -m front_ends``: both pages on this machine, with you as the one who may approve."""

import asyncio
import sys

import uvicorn

import toolwitness as tw
from front_ends.agent import World
from front_ends.app import BUILT, create_app

YOU = tw.Actor(id="you", roles=frozenset({"finance"}))
PORT = 8766


async def main() -> None:
    """Serve until Ctrl-C."""
    if not (BUILT / "ai-sdk.js").is_file():
        sys.exit("The pages are not built yet: run `make front-ends` from the repository.")
    async with tw.open("memory:") as desk:
        server = uvicorn.Server(
            uvicorn.Config(create_app(desk, World(seconds=20), who=lambda request: YOU), port=PORT, log_level="warning")
        )
        print(f"http://127.0.0.1:{PORT}/ai-sdk\nhttp://127.0.0.1:{PORT}/ag-ui")
        await server.serve()


asyncio.run(main())
