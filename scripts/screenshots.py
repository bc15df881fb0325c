"""Takes the documentation's pictures from the real page: the example's trip, served and clicked, at a fixed time and with fixed ids."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import uvicorn
from playwright.async_api import BrowserContext, Locator, Page, async_playwright

import toolwitness as tw
from front_ends.agent import World as FrontEndWorld
from front_ends.app import create_app
from scripts.pictures import save
from toolwitness.cli.serve import serving
from toolwitness.testing.ids import CountedIds
from tripdesk.trip import ERRANDS, PURPOSE, begin
from tripdesk.world import World

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURES: Final = ROOT / "docs" / "img"
START: Final = datetime(2027, 1, 11, 9, 30, tzinfo=UTC)
"""When the story begins, whenever the pictures are taken."""
# A browser that starts anywhere and talks to nobody by itself.
QUIET: Final = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip  # one purpose


class StoryClock:
    """A clock that starts with the story and goes on as fast as any other."""

    def __init__(self) -> None:
        """Start now."""
        self._begun = time.monotonic()

    def now(self) -> datetime:
        """Give the time of the story."""
        return START + timedelta(seconds=time.monotonic() - self._begun)


def chromium() -> str:
    """Find the browser.

    Raises:
        SystemExit: there is none.
    """
    for name in (os.environ.get("TOOLWITNESS_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"):
        if name and (path := shutil.which(name)):
            return path
    sys.exit("No Chromium was found. On Debian: apt-get install chromium fonts-noto-core")


@asynccontextmanager
async def story(clock: StoryClock) -> AsyncIterator[str]:
    """Serve the trip and give the address of its page."""
    ada = tw.Actor(id="os:ada", roles=frozenset({"finance"}), name="Ada", channel="http")
    desk = tw.open("memory:", clock=clock, ids=CountedIds(), sweep_seconds=0.2)
    desk.host = "office-1"  # the name of this machine and the number of this process would be others each time
    async with desk, serving(desk, ada) as at:
        _, agent = await begin(desk, World(pace=1))
        try:
            yield at.url
        finally:
            agent.cancel()


@asynccontextmanager
async def chat(clock: StoryClock) -> AsyncIterator[str]:
    """Serve the example's chat page on the AI SDK and give its address."""
    ada = tw.Actor(id="ada", roles=frozenset({"finance"}), name="Ada")
    desk = tw.open("memory:", clock=clock, ids=CountedIds(), sweep_seconds=0.2)
    desk.host = "office-1"
    world = FrontEndWorld()
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(desk, world, who=lambda request: ada), log_level="warning", lifespan="off"))
    async with desk:
        serving_it = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/ai-sdk?chat=trip"
        finally:
            world.rail_found.set()
            server.should_exit = server.force_exit = True  # the page still holds its stream
            await serving_it


async def sit_beside(camera: Camera, url: str) -> None:
    """Take the picture of our cards beside the parts of another front end."""
    page = camera.page
    await page.goto(url)
    await page.get_by_role("button", name="Plan a trip").click()
    await chip(page.locator('.call[data-tool="book"]'), "Awaiting approval").wait_for()
    await chip(page.locator('.call[data-tool="find_rail"]'), "Streaming").wait_for()
    await chip(page.locator('.call[data-tool="search_flights"]'), "Succeeded").wait_for()
    await camera.take("front-end")


class Camera:
    """Takes pictures of a page, in light and dark."""

    def __init__(self, page: Page, reducer: Page) -> None:
        """Look at ``page``; ``reducer`` is a blank page that makes the files small."""
        self.page = page
        self._reducer = reducer

    async def take(self, name: str, what: Locator | None = None) -> None:
        """Take one picture in light and dark: of an element, or of the window."""
        for scheme in ("light", "dark"):
            await self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            await self.page.mouse.move(0, 0)
            png = await (what.screenshot(animations="disabled") if what else self.page.screenshot(animations="disabled"))
            path = PICTURES / f"{name}-{scheme}.png"
            await save(self._reducer, png, path)
            print(f"{path.relative_to(ROOT)}  {path.stat().st_size // 1024} KiB")

    def card(self, title: str) -> Locator:
        """Find the card with a title."""
        return self.page.locator("tool-call-card").filter(has=self.page.locator("[part=title]", has_text=title)).first


def chip(place: Locator, word: str) -> Locator:
    """Find the word for a state on a card."""
    return place.locator("[part=chip]", has_text=word).first


async def tour(camera: Camera) -> None:
    """Go through the story and take every picture at the moment that shows it."""
    page = camera.page
    await page.get_by_role("link", name=PURPOSE).first.click()
    booking, hotels, trains = camera.card("Reserve itinerary"), camera.card("Search hotels"), camera.card("Search trains")
    await chip(booking, "Awaiting approval").wait_for()
    await chip(hotels, "Failed").wait_for()
    await chip(trains, "Streaming").wait_for()
    await camera.take("task")
    await camera.take("approval", booking)
    await camera.take("failed", hotels)
    await trains.get_by_role("button", name="Request cancellation").click()
    await chip(trains, "Cancelled").wait_for()
    await camera.take("cancelled", trains)
    await page.get_by_role("link", name="Inbox").click()
    await page.locator("tool-inbox tool-call-card").first.wait_for()
    await camera.take("inbox")


async def look(context: BrowserContext, url: str, folder: Path) -> None:
    """Take pictures of whole pages in a narrow window and from right to left, for whoever wants to see that nothing breaks."""
    folder.mkdir(parents=True, exist_ok=True)
    page = await context.new_page()
    for name, width, direction in (("narrow", 360, "ltr"), ("mirrored", 860, "rtl")):
        await page.set_viewport_size({"width": width, "height": 1400})
        for place, purpose in (("trip", PURPOSE), ("errands", ERRANDS)):
            await page.goto(url.partition("?")[0])
            await page.get_by_role("link", name=purpose).first.click()
            await page.locator("tool-call-card").first.wait_for()
            await page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
            await page.screenshot(path=folder / f"{place}-{name}.png", full_page=True)


async def main() -> None:
    """Take all pictures; with a folder as argument, also look at narrow and mirrored pages there."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    clock = StoryClock()
    async with story(clock) as url, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=QUIET)
        context = await browser.new_context(
            viewport={"width": 860, "height": 1120}, device_scale_factor=1.5, timezone_id="UTC", locale="en-GB"
        )
        page, reducer = await context.new_page(), await browser.new_page()
        page.set_default_timeout(20_000)
        await page.clock.install(time=clock.now())
        await page.goto(url)
        await tour(Camera(page, reducer))
        async with chat(clock) as beside:
            await sit_beside(Camera(page, reducer), beside)
        if len(sys.argv) > 1:
            await look(context, url, Path(sys.argv[1]))
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
