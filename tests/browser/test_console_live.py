"""The console in a real browser against the real server: what a person clicks is asked for, recorded, and shown as it becomes true."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, Page, Route, expect

import toolwitness as tw
from examples.tripdesk.trip import PURPOSE, begin
from examples.tripdesk.world import World
from tests.browser.stage import keyboard, sideways
from tests.unit.server.house import by_header, serve, until, until_state
from toolwitness.cli.serve import serving
from toolwitness.core.evidence import Kind

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}), name="Ann Arbor")
SECRET = "a secret of the tests"
WATCH = "window.broken = []; document.addEventListener('securitypolicyviolation', (event) => window.broken.push(event.violatedDirective));"


@dataclass
class Stand:
    """A desk with tools that wait for the test, its app, and the browser that looks at it."""

    desk: tw.Desk
    app: Any
    browser: Browser
    base: str = ""
    go: asyncio.Event = field(default_factory=asyncio.Event)
    """Lets every tool go on."""
    down: bool = True
    """Whether the hotel service fails."""
    faults: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)
    tools: dict[str, Any] = field(default_factory=dict)

    async def tab(self, address: str, *, width: int = 1000, stream: str = "open", person: str = "ann") -> Page:
        """Open a tab of one's own on the real page; every fault of the page is kept."""
        context = await self.browser.new_context(
            viewport={"width": width, "height": 900}, extra_http_headers={"X-Person": person}, timezone_id="UTC", locale="en-GB"
        )
        context.set_default_timeout(15_000)
        self.contexts.append(context)
        await context.add_init_script(WATCH)
        page = await context.new_page()
        self.listen(page)
        if stream == "blocked":
            await page.route("**/api/stream*", _abort)
        await page.goto(f"{self.base}{address}")
        await page.locator("tool-console main").wait_for()
        return page

    def listen(self, page: Page) -> None:
        """Keep what the page reports against itself: errors, and what its own rules forbid."""
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self._note(message.type, message.text))

    def _note(self, kind: str, text: str) -> None:
        # The browser itself reports every answer of 400 and above, and every connection that ends; the page says those in words.
        expected = re.search(r"status of 4\d\d|ERR_FAILED|ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE", text)
        if kind in {"error", "warning"} and not expected:
            self.faults.append(text)


async def _abort(route: Route) -> None:
    await route.abort()


@pytest_asyncio.fixture(loop_scope="session")
async def stand(browser: Browser, bundle: Path, tmp_path: Path) -> AsyncIterator[Stand]:
    """Give a stand on a ledger file; the test fails when a page reported a fault."""
    async with tw.open(str(tmp_path / "calls.db"), sweep_seconds=3600) as desk:
        app = desk.asgi(authenticate=by_header, secret=SECRET)
        found = Stand(desk, app, browser)
        _declare(found)
        async with serve(app, live=app.live) as found.base:
            yield found
            found.go.set()
            for context in found.contexts:
                await context.close()
    assert found.faults == [], "a page reported faults"


def _declare(stand: Stand) -> None:
    """Declare tools that do their work when the test says so."""
    desk = stand.desk

    @desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"], approval_seconds=3600, scope=["total", "currency"])
    async def book(total: str, currency: str) -> dict[str, str]:
        await stand.go.wait()
        tw.effect_observed("payment", reference="P-1", amount=total, currency=currency, recipient="NW", provider_reference="P-1")
        return {"reference": "NWP-8800"}

    @desk.tool(consequences=[tw.READ_ONLY], retry_attempts=3, retry_categories=["down"])
    async def search_hotels(city: str) -> str:
        if stand.down:
            raise tw.ToolFailure("down", "The hotel service did not answer.", retryable="yes")
        return f"hotels in {city}"

    @desk.tool(consequences=[tw.READ_ONLY])
    async def search_trains(to: str) -> str:
        await stand.go.wait()
        return to

    @desk.tool(consequences=[tw.READ_ONLY])
    async def choose_seat(flight: str, seat: str) -> str:
        return f"{seat} on {flight} is free"

    stand.tools = {"book": book, "hotels": search_hotels, "trains": search_trains, "seat": choose_seat}


@dataclass
class Trip:
    """The calls of one task on the stand, by name."""

    task: str
    ids: dict[str, str]


async def _trip(stand: Stand, *names: str) -> Trip:
    """Make calls on the stand."""
    inputs = {
        "book": {"total": "412.50", "currency": "EUR"},
        "hotels": {"city": "Oslo"},
        "trains": {"to": "Oslo"},
        "seat": {"flight": "NW 701"},
    }
    purposes = {"book": "Reserve itinerary", "hotels": "Search hotels", "trains": "Search trains", "seat": "Choose a seat"}
    states = {"book": tw.State.AWAITING_APPROVAL, "hotels": tw.State.FAILED, "trains": tw.State.RUNNING, "seat": tw.State.AWAITING_INPUT}
    async with stand.desk.task("Book the trip") as task:
        calls = {name: task.call(stand.tools[name], purpose=purposes[name], **inputs[name]) for name in names}
        ids = {name: await call.invocation_id() for name, call in calls.items()}
    for name, call in ids.items():
        await until_state(stand.desk, call, states[name])
    return Trip(task.id, ids)


def card(page: Page, title: str) -> Locator:
    """Find the card with a title."""
    return page.locator("tool-call-card").filter(has=page.locator("[part=title]", has_text=title)).first


def currency(page: Page) -> Locator:
    """Find the line that says whether the page is current."""
    return page.get_by_role("complementary", name="Whether this page is current")


def state(place: Locator) -> Locator:
    """Find the word for the state of a card."""
    return place.locator("[part=chip]").first


# ── first paint ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_first_paint_needs_no_answer_from_the_stream(stand: Stand) -> None:
    trip = await _trip(stand, "book", "hotels")
    page = await stand.tab(f"/tasks/{trip.task}", stream="blocked")
    await expect(state(card(page, "Reserve itinerary"))).to_have_text("Awaiting approval")
    await expect(state(card(page, "Search hotels"))).to_have_text("Failed")
    await expect(currency(page)).to_contain_text("what you see was true when the page was made")


async def test_what_is_recorded_between_the_snapshot_and_the_stream_is_shown(stand: Stand) -> None:
    trip = await _trip(stand, "book")
    held = asyncio.Event()

    async def later(route: Route) -> None:
        await held.wait()
        await route.continue_()

    page = await stand.tab("/")
    await page.route("**/api/stream*", later)
    await page.goto(f"{stand.base}/tasks/{trip.task}")
    await expect(state(card(page, "Reserve itinerary"))).to_have_text("Awaiting approval")
    await stand.desk.deny(trip.ids["book"], by=ANN, reason="no")
    held.set()
    await expect(state(card(page, "Reserve itinerary"))).to_have_text("Cancelled")


# ── decisions ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_approval_is_a_request_until_it_is_recorded_and_every_tab_sees_it_move(stand: Stand) -> None:
    trip = await _trip(stand, "book")
    first, second = await stand.tab(f"/tasks/{trip.task}"), await stand.tab("/inbox")
    held = asyncio.Event()

    async def later(route: Route) -> None:
        await held.wait()
        await route.continue_()

    await first.route("**/actions/approve", later)
    booking = card(first, "Reserve itinerary")
    await booking.get_by_role("button", name="Approve €\u202f412.50").or_(booking.get_by_role("button", name="Approve")).first.click()
    await expect(booking).to_contain_text("requested, not yet recorded")
    await expect(state(booking)).to_have_text("Awaiting approval")
    held.set()
    for page in (first, second):
        await expect(state(card(page, "Reserve itinerary"))).to_have_text("Running")
    stand.go.set()
    for page in (first, second):
        await expect(state(card(page, "Reserve itinerary"))).to_have_text("Succeeded")
    await expect(booking).not_to_contain_text("requested, not yet recorded")
    await expect(second.get_by_role("heading", level=1)).not_to_contain_text("1 call waits")


async def test_a_refusal_is_shown_where_it_was_asked_with_who_was_first(stand: Stand) -> None:
    trip = await _trip(stand, "book")
    late = await stand.tab(f"/invocations/{trip.ids['book']}", stream="blocked", person="bob")
    await stand.desk.approve(trip.ids["book"], by=ANN)
    booking = card(late, "Reserve itinerary")
    await booking.get_by_role("button", name=re.compile("^Approve")).click()
    refusal = booking.get_by_role("alert").filter(has_text="already granted")
    await expect(refusal).to_contain_text("by ann")
    await expect(state(booking)).to_have_text("Awaiting approval")
    acts = [r for r in await stand.desk.ledger.read(invocation_id=trip.ids["book"]) if r.event.kind == Kind.GRANTED]
    assert [(r.event.data["actor"], str(r.verdict)) for r in acts] == [("ann", "noted"), ("bob", "refused")]


async def test_a_button_that_policy_does_not_offer_says_why_and_sends_nothing(stand: Stand) -> None:
    trip = await _trip(stand, "book")
    page = await stand.tab(f"/tasks/{trip.task}", person="eve")
    booking = card(page, "Reserve itinerary")
    before = await stand.desk.ledger.head()
    await booking.get_by_role("button", name=re.compile("^Approve")).click(force=True)
    await expect(booking.locator("[part=why]").first).to_contain_text("finance")
    assert await stand.desk.ledger.head() == before


async def test_what_was_asked_for_is_filled_in_and_supplied(stand: Stand) -> None:
    trip = await _trip(stand, "seat")
    page = await stand.tab(f"/tasks/{trip.task}")
    seat = card(page, "Choose a seat")
    await seat.get_by_role("button", name="Supply input").click()
    form = seat.locator("form")
    await form.get_by_role("button", name="Supply input").click()
    await expect(form.get_by_role("alert").first).to_contain_text("is needed")
    await form.get_by_role("textbox").first.fill("14C")
    await form.get_by_role("button", name="Supply input").click()
    await expect(state(seat)).to_have_text("Succeeded")
    await seat.get_by_text("Result", exact=True).click()
    await expect(seat).to_contain_text("14C on NW 701 is free")


async def test_a_cancellation_is_asked_for_and_then_acknowledged(stand: Stand) -> None:
    trip = await _trip(stand, "trains", "book")
    page = await stand.tab(f"/tasks/{trip.task}")
    trains = card(page, "Search trains")
    await trains.get_by_role("button", name="Request cancellation").click()
    await expect(state(trains)).to_have_text("Cancelled")
    await expect(state(card(page, "Reserve itinerary"))).to_have_text("Awaiting approval")


async def test_a_retry_makes_an_attempt_beside_the_failed_one_and_a_waiver_needs_a_reason(stand: Stand) -> None:
    trip = await _trip(stand, "hotels")
    page = await stand.tab(f"/tasks/{trip.task}")
    stand.down = False
    await card(page, "Search hotels").get_by_role("button", name="Retry as attempt 2").click()
    await expect(page.locator("tool-call-card")).to_have_count(2)
    await expect(state(page.locator("tool-call-card").nth(0))).to_have_text("Failed")
    await expect(state(page.locator("tool-call-card").nth(1))).to_have_text("Succeeded")
    await expect(page.get_by_role("status").filter(has_text="1 of 1 required part complete")).to_be_visible()


async def test_a_part_is_waived_with_a_reason_that_stays_on_the_page(stand: Stand) -> None:
    trip = await _trip(stand, "hotels")
    page = await stand.tab(f"/tasks/{trip.task}")
    await page.get_by_role("button", name=re.compile("^(Waive|Go on without)")).first.click()
    await page.locator("form textarea").first.fill("we sleep at friends’")
    await page.locator("form").get_by_role("button").first.click()
    await expect(page.locator("tool-task")).to_contain_text("we sleep at friends’")
    await expect(page.locator("tool-task [part=chip]").first).to_have_text("Succeeded")


async def test_the_keyboard_alone_approves(stand: Stand) -> None:
    trip = await _trip(stand, "book")
    stand.go.set()
    page = await stand.tab("/inbox")
    for _ in range(30):
        await page.keyboard.press("Tab")
        if (await keyboard(page))["action"] == "approve":
            break
    assert (await keyboard(page))["action"] == "approve", "it is reached with the Tab key"
    await page.keyboard.press("Enter")
    await expect(state(card(page, "Reserve itinerary"))).to_have_text("Succeeded")
    assert (await stand.desk.record(trip.ids["book"])).state is tw.State.SUCCEEDED


# ── connections ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_page_outlives_its_server_and_loses_nothing(browser: Browser, bundle: Path, tmp_path: Path) -> None:
    async with tw.open(str(tmp_path / "calls.db"), sweep_seconds=3600) as desk:
        stand = Stand(desk, None, browser)
        _declare(stand)
        first = desk.asgi(authenticate=by_header)
        async with serve(first, live=first.live) as stand.base:
            trip = await _trip(stand, "book", "trains")
            page = await stand.tab(f"/tasks/{trip.task}")
            await expect(currency(page)).to_contain_text("Live")
        await expect(currency(page)).to_contain_text("Reconnecting; what you see was true at")
        await desk.request_cancellation(trip.ids["trains"], by=ANN)
        await until_state(desk, trip.ids["trains"], tw.State.CANCELLED)
        second = desk.asgi(authenticate=by_header)
        async with serve(second, port=int(stand.base.rpartition(":")[2]), live=second.live):
            await expect(state(card(page, "Search trains"))).to_have_text("Cancelled")
            await expect(currency(page)).to_contain_text("Live")
            stand.go.set()
            await card(page, "Reserve itinerary").get_by_role("button", name=re.compile("^Approve")).click()
            await expect(state(card(page, "Reserve itinerary"))).to_have_text("Succeeded")
            for context in stand.contexts:
                await context.close()
    assert stand.faults == []


async def test_a_click_whose_answer_is_lost_is_one_click(stand: Stand) -> None:
    trip = await _trip(stand, "book")
    page = await stand.tab(f"/invocations/{trip.ids['book']}", stream="blocked")
    lost: list[str] = []

    async def lose(route: Route) -> None:
        if not lost:
            lost.append(route.request.url)
            await route.fetch()
            await route.abort()
        else:
            await route.continue_()

    await page.route("**/actions/approve", lose)
    approve = card(page, "Reserve itinerary").get_by_role("button", name=re.compile("^Approve"))
    await approve.click()
    await expect(card(page, "Reserve itinerary")).to_contain_text("No answer from the server.")
    await approve.click()
    await until(lambda: _has(stand, trip.ids["book"], tw.State.RUNNING))
    await expect(card(page, "Reserve itinerary")).not_to_contain_text("Refused")
    acts = [r for r in await stand.desk.ledger.read(invocation_id=trip.ids["book"]) if r.event.kind == Kind.GRANTED]
    assert [str(r.verdict) for r in acts] == ["noted"]


async def _has(stand: Stand, name: str, expected: tw.State) -> bool:
    return (await stand.desk.record(name)).state is expected


async def test_a_page_whose_session_is_over_says_so(browser: Browser, bundle: Path, tmp_path: Path) -> None:
    async with tw.open(str(tmp_path / "calls.db"), sweep_seconds=3600) as desk:
        stand = Stand(desk, None, browser)
        context = await browser.new_context()
        page = await context.new_page()
        stand.listen(page)
        async with serving(desk, ANN) as at:
            await page.goto(at.url)
            await expect(currency(page)).to_contain_text("Live")
        async with serving(desk, ANN, port=int(at.base.rpartition(":")[2])) as again:
            await expect(currency(page)).to_contain_text("Nobody is signed in here any more; what you see was true at", timeout=15_000)
            other = await context.new_page()
            await other.goto(again.url)
            await expect(currency(page)).to_contain_text("Live", timeout=15_000)
        await context.close()
    assert stand.faults == []


# ── the page's own rules ────────────────────────────────────────────────────────────────────────────────────────────


async def test_nothing_on_the_page_breaks_its_own_rules(stand: Stand) -> None:
    trip = await _trip(stand, "book", "hotels", "trains", "seat")
    for address in ("/", "/inbox", f"/tasks/{trip.task}", f"/invocations/{trip.ids['hotels']}"):
        page = await stand.tab(address)
        await expect(currency(page)).to_contain_text("Live")
        for disclosure in await page.locator("tool-call-card summary, tool-call-card [aria-expanded=false]").all():
            if await disclosure.is_visible():
                await disclosure.click()
        assert await page.evaluate("window.broken") == []
        asked: list[str] = await page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
        assert [name for name in asked if not name.startswith((stand.base, "data:"))] == [], "nobody else is asked for anything"


async def test_every_page_fits_a_small_window(stand: Stand) -> None:
    trip = await _trip(stand, "book", "hotels", "trains", "seat")
    for address in ("/", "/inbox", f"/tasks/{trip.task}", f"/invocations/{trip.ids['hotels']}"):
        page = await stand.tab(address, width=360)
        assert await sideways(page) == 0, address


async def test_a_stranger_is_told_what_to_do(stand: Stand) -> None:
    context = await stand.browser.new_context()
    stand.contexts.append(context)
    page = await context.new_page()
    answer = await page.goto(f"{stand.base}/")
    assert answer is not None and answer.status == 401
    await expect(page.get_by_role("heading", level=1)).to_have_text("Nobody is signed in here")


# ── the demo ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_demo_is_clicked_through_by_a_person(browser: Browser, bundle: Path, tmp_path: Path) -> None:
    async with tw.open(str(tmp_path / "demo.db"), sweep_seconds=0.05) as desk, serving(desk, ANN) as at:
        stand = Stand(desk, None, browser, base=at.base)
        context = await browser.new_context(viewport={"width": 1000, "height": 900}, timezone_id="UTC", locale="en-GB")
        context.set_default_timeout(20_000)
        page = await context.new_page()
        stand.listen(page)
        await page.goto(at.url)
        assert "token" not in page.url, "the token does not stay in the address"
        _, agent = await begin(desk, World(pace=0.1))
        await page.get_by_role("link", name=PURPOSE).click()
        trains, hotels = card(page, "Search trains"), card(page, "Search hotels")
        await expect(state(trains)).to_have_text("Streaming")
        await trains.get_by_role("button", name="Request cancellation").click()
        await expect(state(trains)).to_have_text("Cancelled")
        await expect(state(hotels)).to_have_text("Failed")
        await hotels.get_by_role("button", name="Retry as attempt 2").click()
        booking = card(page, "Reserve itinerary")
        await booking.get_by_role("button", name=re.compile("^Approve")).click()
        await expect(state(booking)).to_have_text("Succeeded")
        await expect(booking).to_contain_text("NWP-88")
        await page.get_by_role("button", name=re.compile("(Waive|without).*trains", re.IGNORECASE)).first.click()
        await page.locator("form textarea").first.fill("the flight is good enough")
        await page.locator("form").get_by_role("button").first.click()
        await expect(page.locator("tool-task [part=chip]").first).to_have_text("Succeeded")
        await context.close()
        agent.cancel()
        assert stand.faults == []
