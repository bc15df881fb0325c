"""Takes the documentation's pictures from the running demo, as a person would see it, in light and dark."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Locator, Page, async_playwright

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "img"
TOOLWITNESS = Path(sys.executable).parent / "toolwitness"
# A browser that starts anywhere and talks to nobody by itself.
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip  # one purpose
PURPOSE = "Book the trip the user chose"


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
async def demo() -> AsyncIterator[str]:
    """Run the demo and give its address."""
    process = await asyncio.create_subprocess_exec(
        str(TOOLWITNESS), "demo", "--no-open", "--port", "0", "--name", "ada", stdout=PIPE, stderr=PIPE, env={**os.environ, "TZ": "UTC"}
    )
    try:
        yield await address(process)
    finally:
        process.terminate()
        await process.wait()


async def address(process: Process) -> str:
    """Read the address that the demo prints."""
    while line := await process.stderr.readline() if process.stderr else b"":
        if found := re.search(r"http://\S+", line.decode()):
            return found[0]
    sys.exit("The demo ended before it printed its address.")


async def take(page: Page, name: str, what: Locator | None = None) -> None:
    """Take one picture in light and dark: of an element, or of the window."""
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        path = PICTURES / f"{name}-{scheme}.png"
        await (what.screenshot(path=path) if what else page.screenshot(path=path))
        print(path.relative_to(ROOT))


def card(page: Page, title: str) -> Locator:
    """Find the card with a title."""
    return page.locator("tool-call-card").filter(has_text=title).first


async def tour(page: Page) -> None:
    """Go through the demo and take every picture at the moment that shows it."""
    await page.get_by_text(PURPOSE).first.click()
    await card(page, "Reserve itinerary").get_by_text("Awaiting approval", exact=True).first.wait_for()
    await card(page, "Search hotels").get_by_text("Failed", exact=True).first.wait_for()
    await take(page, "task")
    await take(page, "approval", card(page, "Reserve itinerary"))
    await take(page, "failed", card(page, "Search hotels"))
    rail = card(page, "Search trains")
    await rail.get_by_role("button", name="Request cancellation").click()
    await rail.get_by_text("Cancelled", exact=True).first.wait_for()
    await take(page, "cancelled", rail)
    await page.get_by_role("link", name="Inbox").click()
    await page.locator("tool-inbox tool-call-card").first.wait_for()
    await take(page, "inbox")


async def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    async with demo() as url, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=QUIET)
        page = await browser.new_page(viewport={"width": 940, "height": 1240}, device_scale_factor=1.5, timezone_id="UTC", locale="en-GB")
        page.set_default_timeout(20_000)
        await page.goto(url)
        await tour(page)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
