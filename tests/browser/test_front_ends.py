"""The example's pages in a real browser: the AI SDK's and AG-UI's own clients, and our card beside what their parts say."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, Page, expect
from starlette.requests import Request

import toolwitness as tw
from front_ends.agent import World
from front_ends.app import BUILT, create_app
from tests.unit.server.house import serve, until

WEB = BUILT.parent
ANN = tw.Actor(id="ann", roles=frozenset({"finance"}), name="Ann Arbor")
PAGES = ("ai-sdk", "ag-ui")


expect.set_options(timeout=15_000)


def ann(request: Request) -> tw.Actor:
    return ANN


@pytest.fixture(scope="session")
def pages() -> Path:
    """Build both pages where a source is younger than what is built."""
    newest = max(path.stat().st_mtime for path in [*WEB.glob("src/*"), WEB / "build.mjs", WEB / "package.json"])
    built = BUILT / "ai-sdk.js"
    if not built.exists() or built.stat().st_mtime < newest:
        npm = shutil.which("npm")
        assert npm, "npm builds the example's pages"
        if not (WEB / "node_modules").exists():
            subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=WEB, check=True, capture_output=True)
        subprocess.run([npm, "run", "build"], cwd=WEB, check=True, capture_output=True)
    return BUILT


@dataclass
class Stand:
    """The example's server, its world, and a browser that looks at it."""

    desk: tw.Desk
    world: World
    base: str
    browser: Browser
    faults: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)

    async def open(self, name: str, *, width: int = 1280, scheme: str = "light", chat: str = "c-1") -> Page:
        context = await self.browser.new_context(
            viewport={"width": width, "height": 1000}, color_scheme="dark" if scheme == "dark" else "light", locale="en-GB"
        )
        context.set_default_timeout(15_000)
        self.contexts.append(context)
        page = await context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" and not _expected(said.text) else None)
        await page.goto(f"{self.base}/{name}?chat={chat}")
        return page


def _expected(text: str) -> bool:
    """Tell a fault from what the browser prints of every connection that a test ends on purpose."""
    return bool(re.search(r"ERR_ABORTED|ERR_INCOMPLETE_CHUNKED|AbortError|signal is aborted|BodyStreamBuffer", text))


@pytest_asyncio.fixture(loop_scope="session")
async def stand(browser: Browser, bundle: Path, pages: Path, tmp_path: Path) -> AsyncIterator[Stand]:
    world = World()
    async with tw.open(str(tmp_path / "calls.db"), sweep_seconds=0.05) as desk:
        app = create_app(desk, world, who=ann)
        async with serve(app) as base:
            opened = Stand(desk, world, base, browser)
            yield opened
            world.let_pay.set()
            world.rail_found.set()
            for context in opened.contexts:
                await context.close()
    assert opened.faults == []


def call(page: Page, tool: str) -> Locator:
    return page.locator(f'.call[data-tool="{tool}"]')


def card(page: Page, tool: str) -> Locator:
    return call(page, tool).locator("tool-call-card")


async def says(page: Page, tool: str, label: str) -> None:
    """Wait until the card of a call says this state."""
    await expect(card(page, tool).locator("[part~=chip]")).to_have_text(label)


async def press(page: Page, tool: str, name: str) -> None:
    """Press a control of a card, and send its form where it has one."""
    await card(page, tool).get_by_role("button", name=re.compile(f"^{name}")).first.click()
    form = card(page, tool).locator("form")
    if await form.count():
        await form.get_by_role("button", name=re.compile(f"^{name}")).click()


@pytest.mark.parametrize("name", PAGES)
async def test_an_approval_on_the_card_runs_the_tool_once_and_both_sides_say_so(stand: Stand, name: str) -> None:
    page = await stand.open(name)
    await page.get_by_role("button", name="Plan a trip").click()
    await says(page, "search_flights", "Succeeded")
    await says(page, "book", "Awaiting approval")
    await says(page, "find_rail", "Streaming")
    assert stand.world.paid == []

    await press(page, "book", "Approve")
    await says(page, "book", "Succeeded")
    stand.world.rail_found.set()
    await says(page, "find_rail", "Succeeded")

    await expect(page.locator(".status")).to_contain_text("ready")
    assert stand.world.paid == ["412.50"]
    native = {"ai-sdk": "output-available", "ag-ui": "result: booked IT-7 for 412.50"}[name]
    await expect(call(page, "book")).to_have_attribute("data-native", native)


@pytest.mark.parametrize("name", PAGES)
async def test_a_denial_is_a_denial_on_the_card_and_nothing_runs(stand: Stand, name: str) -> None:
    stand.world.rail_found.set()
    page = await stand.open(name)
    await page.get_by_role("button", name="Plan a trip").click()
    await says(page, "book", "Awaiting approval")
    await press(page, "book", "Deny")
    await says(page, "book", "Cancelled")

    await expect(card(page, "book")).to_contain_text("denied")
    await expect(page.locator(".status")).to_contain_text("ready")
    assert stand.world.paid == []


@pytest.mark.parametrize("name", PAGES)
async def test_one_call_is_cancelled_alone_and_its_siblings_go_on(stand: Stand, name: str) -> None:
    page = await stand.open(name)
    await page.get_by_role("button", name="Plan a trip").click()
    await says(page, "find_rail", "Streaming")
    await press(page, "find_rail", "Request cancellation")
    await says(page, "find_rail", "Cancelled")
    await says(page, "book", "Awaiting approval")
    await press(page, "book", "Approve")

    await says(page, "book", "Succeeded")
    await says(page, "search_flights", "Succeeded")
    assert stand.world.paid == ["412.50"]


@pytest.mark.parametrize("name", PAGES)
async def test_after_stop_the_part_says_nothing_more_and_the_card_says_that_the_payment_landed(stand: Stand, name: str) -> None:
    page = await stand.open(name)
    await page.get_by_role("button", name="Pay the deposit").click()
    await says(page, "pay_deposit", "Running")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".status")).not_to_contain_text("streaming")
    await page.get_by_role("button", name="Reconnect").click()
    await expect(card(page, "pay_deposit")).to_contain_text("Nobody waits for it any more")
    stand.world.let_pay.set()

    await says(page, "pay_deposit", "Succeeded")
    assert stand.world.paid == ["120.00"]
    native = {"ai-sdk": "input-available", "ag-ui": "no result"}[name]
    await expect(call(page, "pay_deposit")).to_have_attribute("data-native", native)


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_that_was_loaded_again_gets_the_record_back_and_can_still_decide(stand: Stand, name: str) -> None:
    first = await stand.open(name)
    await first.get_by_role("button", name="Pay the deposit").click()
    await says(first, "pay_deposit", "Running")
    await first.close()
    again = await stand.open(name)
    await again.get_by_role("button", name="Reconnect").click()
    found = again.locator("tool-call-card")
    await expect(found.locator("[part~=chip]")).to_have_text("Running")
    stand.world.let_pay.set()

    await expect(found.locator("[part~=chip]")).to_have_text("Succeeded")
    await until(lambda: stand.world.paid == ["120.00"])


async def test_what_arrives_is_what_the_desk_holds(stand: Stand) -> None:
    stand.world.rail_found.set()
    page = await stand.open("ai-sdk")
    await page.get_by_role("button", name="Plan a trip").click()
    await says(page, "book", "Awaiting approval")
    shown = await card(page, "book").evaluate("card => card.card")
    held = await page.evaluate(
        "async (id) => (await fetch(`/toolcalls/api/invocations/${id}?view=card`)).json()", shown["id"]
    )  # fmt: skip  # one request
    assert shown == held
    await press(page, "book", "Deny")
    await asyncio.wait_for(says(page, "book", "Cancelled"), 15)
