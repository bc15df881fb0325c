"""Recovery in a real browser against the real server: what changed, what is in doubt, hidden or erased, and who may say so."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

import toolwitness as tw
from tests.browser.stage import ROOT, keyboard, sideways
from tests.browser.test_console_live import Stand, card, state
from tests.unit.server.house import by_header, serve, until, until_state
from toolwitness.core.evidence import Kind
from toolwitness.policy.files import read_policy_file

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
ANN = tw.Actor(id="ann", roles=frozenset({"finance"}), name="Ann Arbor")
BOB = tw.Actor(id="bob", roles=frozenset({"finance"}))
POLICY = '[authority]\nadministrators = ["role:finance"]\nerasers = ["user:bob"]\n'
CARD, PASSPORT, TOKEN = "4111111111111111", "P-7788123", "sesam-9999-9999"
GUESTS = [{"name": "Ada", "passport": PASSPORT}]


@dataclass
class Hotel:
    """What the other side is and says; the test changes it."""

    price: str = "412.50"
    target: str = "12@v7"
    fails: str = ""
    says: Any = "unknown"
    ran: list[dict[str, Any]] = field(default_factory=list)
    """The inputs that each body was really given."""


@dataclass
class Desk:
    """A stand with the hotel behind it, and its one task."""

    stand: Stand
    hotel: Hotel
    task: Any
    tools: dict[str, Any]
    calls: list[tw.Call] = field(default_factory=list)

    async def proposed(self, tool: str, purpose: str, *, until: tw.State = tw.State.AWAITING_APPROVAL, **inputs: Any) -> str:
        """Make a call and give its id when it is in a state."""
        call = self.task.call(self.tools[tool], purpose=purpose, **inputs)
        self.calls.append(call)
        name = await call.invocation_id()
        await until_state(self.stand.desk, name, until)
        return name

    async def in_doubt(self, purpose: str, room: str) -> str:
        """Let a booking fail so that nobody knows whether it was made."""
        self.hotel.fails = "no answer"
        one = await self.proposed("book", purpose, room=room)
        await self.stand.desk.approve(one, by=ANN)
        await until_state(self.stand.desk, one, tw.State.FAILED)
        self.hotel.fails = ""
        return one

    async def booked(self, purpose: str, room: str) -> str:
        """Let a booking succeed."""
        one = await self.proposed("book", purpose, room=room)
        await self.stand.desk.approve(one, by=ANN)
        await until_state(self.stand.desk, one, tw.State.SUCCEEDED)
        return one

    async def page(self, *, person: str = "ann", width: int = 1000) -> Page:
        """Open the page of the task."""
        return await self.stand.tab(f"/tasks/{self.task.id}", person=person, width=width)


@pytest_asyncio.fixture(loop_scope="session")
async def desk(browser: Browser, bundle: Path, tmp_path: Path) -> AsyncIterator[Desk]:
    """Give a hotel's desk on a ledger file; the test fails when a page reported a fault."""
    hotel = Hotel()
    async with tw.open(str(tmp_path / "calls.db"), sweep_seconds=3600, policy=read_policy_file(POLICY)) as opened:
        app = opened.asgi(authenticate=by_header)
        stand = Stand(opened, app, browser)
        tools = _declare(opened, hotel, stand.go)
        async with serve(app, live=app.live) as stand.base, opened.task("A night in Oslo") as task:
            made = Desk(stand, hotel, task, tools)
            yield made
            stand.go.set()
            for context in stand.contexts:
                await context.close()
            for call in made.calls:
                record = await opened.record(await call.invocation_id())
                if record.state in {tw.State.AWAITING_APPROVAL, tw.State.PROPOSED}:
                    await opened.withdraw(record.id, by=ANN)
    assert stand.faults == [], "a page reported faults"


def _declare(opened: tw.Desk, hotel: Hotel, go: asyncio.Event) -> dict[str, Any]:
    """Declare the tools of a hotel."""

    @opened.tool(
        consequences=[tw.EXTERNALLY_VISIBLE, tw.FINANCIAL], approvers=["role:finance"], target=lambda room: hotel.target,
        quote=lambda room: {"amount": hotel.price, "currency": "EUR", "board": "breakfast"}, reconcile=lambda _attempt: hotel.says,
        inverse=tw.Inverse(tool="cancel_booking", window_seconds=3600, verified_by="a test", leaves="the fee"),
    )  # fmt: skip  # facts in lines
    async def book(room: str) -> str:
        hotel.ran.append({"room": room})
        if hotel.fails:
            raise TimeoutError(hotel.fails)
        return f"booked {room}"

    @opened.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
    async def cancel_booking(room: str) -> str:
        return f"cancelled {room}"

    @opened.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"], approvals_needed=2, scope=["amount", "currency"])
    async def pay(amount: str, currency: str) -> str:
        hotel.ran.append({"amount": amount})
        return "paid"

    @opened.tool(consequences=[tw.READ_ONLY], redact=["/guests/*/passport"])
    async def check_in(room: str, card_number: str, guests: list[dict[str, str]]) -> dict[str, str]:
        hotel.ran.append({"room": room, "card_number": card_number, "guests": guests})
        return {"door": "12", "token": TOKEN}

    @opened.tool(consequences=[tw.READ_ONLY])
    async def wait(what: str) -> str:
        await go.wait()
        return what

    @opened.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["user:bob"])
    async def post(text: str) -> str:
        return text

    return {"book": book, "pay": pay, "check_in": check_in, "wait": wait, "post": post}


async def seen(place: Locator) -> str:
    """Give all that a card says, whatever is folded away or out of the window."""
    said: str = await place.evaluate("e => e.shadowRoot.textContent")
    return said


async def opened(place: Locator, name: str) -> Locator:
    """Open a disclosure of a card and give it."""
    found = place.locator(f"[data-disclosure={name}]")
    await found.locator("summary").click()
    return found


# ── an answer in the tool's place ───────────────────────────────────────────────────────────────────────────────────


async def test_a_person_answers_in_the_tools_place_and_the_tool_does_not_run(desk: Desk) -> None:
    one = await desk.proposed("book", "Book room 12", room="12")
    page = await desk.page()
    booking = card(page, "Book room 12")
    await booking.get_by_role("button", name="Answer in the tool's place").click()
    form = booking.locator("form")
    await form.get_by_role("button", name="Answer in the tool's place").click()
    await expect(form.get_by_role("alert").first).to_contain_text("is needed")
    assert (await desk.stand.desk.record(one)).state is tw.State.AWAITING_APPROVAL, "an answer that is empty is none"
    await form.get_by_label(re.compile("^Your answer")).fill('I booked "12" by phone; ask for Åsa.')
    await form.get_by_label(re.compile("^Reason")).fill("their page is down")
    await form.get_by_role("button", name="Answer in the tool's place").click()
    await expect(state(booking)).to_have_text("Cancelled")
    await expect(booking.locator("[part=meta]")).to_contain_text("answered by a person in the tool's place")
    answer = await opened(booking, "answer")
    await expect(answer).to_contain_text("Answer in the tool's place, by you")
    await expect(answer.locator("pre")).to_have_text('I booked "12" by phone; ask for Åsa.')
    record = await desk.stand.desk.record(one)
    assert (desk.hotel.ran, record.starts, record.closure.kind if record.closure else "") == ([], [], "answered-by-human")


async def test_who_may_not_deny_may_not_answer_and_the_page_says_why(desk: Desk) -> None:
    await desk.proposed("book", "Book room 12", room="12")
    page = await desk.page(person="eve")
    booking = card(page, "Book room 12")
    before = await desk.stand.desk.ledger.head()
    button = booking.get_by_role("button", name="Answer in the tool's place")
    await expect(button).to_have_attribute("aria-disabled", "true")
    why = await button.get_attribute("aria-describedby")
    await expect(booking.locator(f"[id='{why}']")).to_contain_text("finance")
    await button.click(force=True)
    await expect(booking.locator("form")).to_have_count(0)
    assert await desk.stand.desk.ledger.head() == before


async def test_what_runs_already_offers_nobody_to_answer_for_it(desk: Desk) -> None:
    await desk.proposed("wait", "Search", until=tw.State.RUNNING, what="x")
    page = await desk.page()
    await expect(card(page, "Search").get_by_role("button", name="Request cancellation")).to_be_visible()
    await expect(card(page, "Search").get_by_role("button", name="Answer in the tool's place")).to_have_count(0)


async def test_the_keyboard_alone_answers(desk: Desk) -> None:
    await desk.proposed("book", "Book room 12", room="12")
    page = await desk.page()
    for _ in range(40):
        await page.keyboard.press("Tab")
        if (await keyboard(page))["action"] == "respond":
            break
    assert (await keyboard(page))["action"] == "respond", "it is reached with the Tab key"
    await page.keyboard.press("Enter")
    for _ in range(8):
        await page.keyboard.press("Tab")
        if (await keyboard(page))["name"] == "answer":
            break
    await page.keyboard.type("by phone")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(state(card(page, "Book room 12"))).to_have_text("Cancelled")


# ── what really happened ────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_tool_is_asked_from_the_page_until_it_knows(desk: Desk) -> None:
    one = await desk.in_doubt("Book room 14", "14")
    page = await desk.page()
    booking = card(page, "Book room 14")
    facts = booking.locator("[part=facts]")
    await expect(facts).to_contain_text("Nobody knows what it did.")
    ask = booking.get_by_role("button", name="Ask book what happened")
    await ask.click()
    await expect(facts).to_contain_text("by you; it does not know")
    await expect(facts).to_contain_text("Nobody knows what it did.")
    desk.hotel.says = ("happened", "NW-8812")
    await ask.click()
    await expect(facts).to_contain_text("It happened; reference NW-8812")
    await expect(facts).to_contain_text("the reconcile function of book")
    await expect(facts).not_to_contain_text("Nobody knows")
    await expect(ask).to_have_count(0)
    await expect(booking.get_by_role("button", name="Reconcile")).to_have_count(0)
    await expect(state(booking)).to_have_text("Failed")
    told = [r for r in await desk.stand.desk.ledger.read(invocation_id=one) if r.event.kind == Kind.RECONCILED]
    assert [(r.event.data["asked_by"], str(r.verdict)) for r in told] == [("ann", "refused"), ("ann", "noted")]


async def test_a_process_that_cannot_ask_the_tool_offers_the_form_alone(desk: Desk, tmp_path: Path) -> None:
    await desk.in_doubt("Book room 14", "14")
    async with tw.open(str(tmp_path / "calls.db"), sweep_seconds=3600) as other:
        app = other.asgi(authenticate=by_header)
        async with serve(app, live=app.live) as base:
            elsewhere = Stand(other, app, desk.stand.browser, base=base)
            page = await elsewhere.tab(f"/tasks/{desk.task.id}")
            booking = card(page, "Book room 14")
            await expect(booking.get_by_role("button", name="Reconcile")).to_be_visible()
            await expect(booking.get_by_role("button", name=re.compile("^Ask "))).to_have_count(0)
            for context in elsewhere.contexts:
                await context.close()


@pytest.mark.parametrize(
    ("choice", "word", "said"),
    [("It did not happen", "no-effect", "It did not happen"), ("It happened", "happened", "It happened"),
     ("Part of it happened", "partial-effect", "Part of it happened")],
)  # fmt: skip  # cases in lines
async def test_a_person_says_what_the_other_side_shows(desk: Desk, choice: str, word: str, said: str) -> None:
    one = await desk.in_doubt("Book room 15", "15")
    page = await desk.page()
    booking = card(page, "Book room 15")
    await booking.get_by_role("button", name="Reconcile").click()
    form = booking.locator("form")
    await form.get_by_role("button", name="Reconcile").click()
    await expect(form.get_by_role("alert").first).to_contain_text("is needed")
    offered = await form.get_by_label("What really happened").locator("option").all_inner_texts()
    assert choice in offered
    assert "It happened as reported" not in offered, "nothing was reported to have happened"
    await form.get_by_label("What really happened").select_option(label=choice)
    await form.get_by_label("Reference at the other side").fill("search 9")
    await form.get_by_label("How that is known").fill("looked it up")
    await form.get_by_role("button", name="Reconcile").click()
    await expect(booking.locator("[part=facts]")).to_contain_text(f"{said}: looked it up; reference search 9; recorded")
    await expect(booking.locator("[part=facts]")).to_contain_text("by you")
    [settled] = (await desk.stand.desk.record(one)).reconciliations
    assert (settled.data["conclusion"], settled.data["by"]) == (word, "ann")


async def test_an_undoing_that_is_not_settled_says_so_until_somebody_says_what_is_undone(desk: Desk) -> None:
    one = await desk.booked("Book room 16", "16")
    page = await desk.page()
    booking = card(page, "Book room 16")
    await booking.get_by_role("button", name="Undo with cancel_booking").click()
    await expect(page.locator("tool-call-card")).to_have_count(2)
    finding = booking.locator("[data-code=reversal-unsettled]")
    await expect(finding).to_contain_text("how much is undone is not settled")
    await expect(booking.locator("[part=lineage]")).to_contain_text("Undo requested")
    undoing = page.locator("tool-call-card").nth(1)
    await expect(undoing.locator("[part=lineage]")).to_contain_text("Is to undo Book room 16")
    await undoing.get_by_role("button", name="Approve").click()
    await expect(state(undoing)).to_have_text("Succeeded")
    await expect(finding).to_be_visible()  # the fee stays
    await booking.get_by_role("button", name="Reconcile").click()
    await booking.get_by_label("What really happened").select_option(label="It happened and was undone")
    await booking.get_by_label("How that is known").fill("the fee was paid back too")
    await booking.locator("form").get_by_role("button", name="Reconcile").click()
    await expect(finding).to_have_count(0)
    await expect(booking.locator("[part=facts]")).to_contain_text("It happened and was undone: the fee was paid back too")
    assert (await desk.stand.desk.record(one)).state is tw.State.SUCCEEDED


# ── what changed since it was asked ─────────────────────────────────────────────────────────────────────────────────


async def test_a_price_that_changed_stands_old_beside_new_next_to_the_button_that_asks_again(desk: Desk) -> None:
    await desk.proposed("book", "Book room 17", room="17")
    page = await desk.page()
    booking = card(page, "Book room 17")
    await expect(booking.get_by_role("button", name="Approve € 412.50")).to_be_visible()
    desk.hotel.price = "450.00"
    await booking.get_by_role("button", name="Approve € 412.50").click()
    last = booking.locator("[part=facts] .row").last
    await expect(last).to_contain_text("Changed since it was last asked")
    await expect(last).to_contain_text("amount: 412.50 → 450.00")
    approve = booking.get_by_role("button", name="Approve € 450.00")
    below, above = await approve.bounding_box(), await last.bounding_box()
    assert below and above
    assert 0 < below["y"] - (above["y"] + above["height"]) < 60, "nothing stands between what changed and the button"
    assert desk.hotel.ran == [], "the old answer started nothing"
    await approve.click()
    await expect(state(booking)).to_have_text("Succeeded")
    assert desk.hotel.ran == [{"room": "17"}]


async def test_inputs_that_were_edited_meanwhile_stand_old_beside_new(desk: Desk) -> None:
    one = await desk.proposed("book", "Book room 18", room="18")
    page = await desk.page()
    await desk.stand.desk.edit_inputs(one, {"room": "19"}, by=BOB)
    booking = card(page, "Book room 18")
    await expect(booking.locator("[part=facts] .row").last).to_contain_text("room: 18 → 19")


async def test_authority_that_is_taken_back_turns_the_open_question_off_on_the_page(desk: Desk) -> None:
    await desk.proposed("post", "Post it", text="hello")
    page = await desk.page(person="bob")
    posting = card(page, "Post it")
    await expect(posting.get_by_role("button", name="Approve")).not_to_have_attribute("aria-disabled", "true")
    await desk.stand.desk.revoke_authority("bob", by=ANN, reason="left the team")
    await expect(posting.get_by_role("button", name="Approve")).to_have_attribute("aria-disabled", "true")
    finding = posting.locator("[data-code=approval-invalidated]")
    await expect(finding).to_contain_text("The approval that was asked for no longer counts.")
    await expect(finding).not_to_contain_text("What was asked has changed")


# ── several people ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_each_of_several_people_sees_who_has_agreed_and_that_theirs_is_one(desk: Desk) -> None:
    await desk.proposed("pay", "Pay the night", amount="412.50", currency="EUR")
    anns, bobs = await desk.page(), await desk.page(person="bob")
    mine, theirs = card(anns, "Pay the night"), card(bobs, "Pay the night")
    await expect(mine.locator("[part=why]").first).to_contain_text("one of 2 people who must agree; 2 are still missing")
    await theirs.get_by_role("button", name=re.compile("^Approve")).click()
    await expect(mine.locator("[part=meta]")).to_contain_text("by bob")
    await expect(mine.locator("[part=why]").first).to_contain_text("one of 2 people who must agree; 1 is still missing")
    described = await mine.get_by_role("button", name=re.compile("^Approve")).get_attribute("aria-describedby")
    await expect(mine.locator(f"[id='{described}']")).to_contain_text("1 is still missing")
    await expect(theirs.get_by_role("button", name=re.compile("^Approve"))).to_have_attribute("aria-disabled", "true")
    await expect(theirs.locator("[part=meta]")).to_contain_text("by you")
    assert desk.hotel.ran == []
    await mine.get_by_role("button", name=re.compile("^Approve")).click()
    await expect(state(mine)).to_have_text("Succeeded")
    assert desk.hotel.ran == [{"amount": "412.50"}]


# ── sealed and erased ───────────────────────────────────────────────────────────────────────────────────────────────


async def _draft(desk: Desk) -> tuple[str, Page, Locator]:
    """Propose a check-in that waits for another call, and look at it."""
    waits = desk.task.call(desk.tools["wait"], purpose="Search", what="x")
    call = desk.task.call(desk.tools["check_in"], purpose="Check in", depends_on=[waits], room="12", card_number=CARD, guests=GUESTS)
    desk.calls += [waits, call]
    one = await call.invocation_id()
    await until_state(desk.stand.desk, await waits.invocation_id(), tw.State.RUNNING)
    page = await desk.page()
    return one, page, card(page, "Check in")


async def test_a_redacted_part_that_is_left_alone_keeps_its_value_and_what_is_typed_replaces_it(desk: Desk) -> None:
    one, page, checking = await _draft(desk)
    await checking.get_by_role("button", name="Edit inputs").click()
    form = checking.locator("form")
    hidden = form.get_by_label(re.compile("card_number"))
    await expect(form.get_by_text("card_number (redacted: what is left as it is, is kept)")).to_be_visible()
    assert "toolwitness.redacted" in await hidden.input_value()
    await form.get_by_label("room").fill('"14"')
    await form.get_by_role("button", name="Edit inputs").click()
    await expect(checking.locator("[part=facts]")).to_contain_text("14")
    await expect(form).to_have_count(0)
    assert CARD not in await page.content() + await seen(checking)
    await checking.get_by_role("button", name="Edit inputs").click()
    await form.get_by_label(re.compile("card_number")).fill('"5555000011112222"')
    await form.get_by_role("button", name="Edit inputs").click()
    await expect(form).to_have_count(0)
    desk.stand.go.set()
    await until_state(desk.stand.desk, one, tw.State.SUCCEEDED)
    assert desk.hotel.ran == [{"room": "14", "card_number": "5555000011112222", "guests": GUESTS}]


async def test_nothing_hidden_reaches_the_page_and_a_part_left_alone_is_the_one_that_runs(desk: Desk) -> None:
    one, page, checking = await _draft(desk)
    await checking.get_by_role("button", name="Edit inputs").click()
    await checking.locator("form").get_by_label("room").fill('"15"')
    await checking.locator("form").get_by_role("button", name="Edit inputs").click()
    await expect(checking.locator("form")).to_have_count(0)
    desk.stand.go.set()
    await expect(state(checking)).to_have_text("Succeeded")
    assert desk.hotel.ran == [{"room": "15", "card_number": CARD, "guests": GUESTS}]
    result = await opened(checking, "result")
    await expect(result).to_contain_text("Sealed; not shown: /token")
    await opened(checking, "inputs")
    client = await page.request.get(f"{desk.stand.base}/api/invocations/{one}?view=card", headers={"X-Person": "ann"})
    everything = await page.content() + await seen(checking) + await client.text()
    assert "(redacted: named card_number)" in everything
    assert [secret for secret in (CARD, PASSPORT, TOKEN) if secret in everything] == []


async def test_an_erased_value_leaves_the_open_page_and_says_by_whom_when_and_why(desk: Desk) -> None:
    one = await desk.proposed("check_in", "Check in", until=tw.State.SUCCEEDED, room="the blue one", card_number=CARD, guests=GUESTS)
    page = await desk.page()
    checking = card(page, "Check in")
    inputs = await opened(checking, "inputs")
    await expect(inputs).to_contain_text("the blue one")
    await desk.stand.desk.erase(one, by=BOB, reason="the guest asked us to")
    await expect(inputs).to_contain_text(re.compile(r"Erased .*\d\d:\d\d.* by bob: the guest asked us to\."))
    await expect(inputs.locator("summary")).to_contain_text("erased")
    await expect(inputs.get_by_role("button", name="Copy")).to_have_count(0)
    assert await inputs.locator("time").count() == 1, "when it was is a time like any other"
    assert "the blue one" not in await seen(checking)
    result = await opened(checking, "result")
    await expect(result).to_contain_text("by bob: the guest asked us to.")
    await expect(state(checking)).to_have_text("Succeeded")


# ── for everybody ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
async def test_every_card_of_recovery_fits_its_window_and_axe_finds_nothing(
    desk: Desk, width: int, scheme: Literal["light", "dark"]
) -> None:
    await desk.in_doubt("حجز غرفة في فندق البحر الأبيض المتوسط " * 3, "20")
    changed = await desk.proposed("book", "x" * 190, room="21")
    desk.hotel.price = "123456789012345678.90"
    await desk.stand.desk.approve(changed, by=ANN)

    async def anew() -> bool:
        return len((await desk.stand.desk.record(changed)).approvals) == 2

    await until(anew)
    gone = await desk.proposed("check_in", "Check in", until=tw.State.SUCCEEDED, room="12", card_number=CARD, guests=GUESTS)
    await desk.stand.desk.erase(gone, by=BOB, reason="r" * 300)
    await desk.proposed("pay", "Pay the night", amount="412.50", currency="EUR")
    answered = await desk.proposed("post", "Post it", text="hello")
    await desk.stand.desk.respond(answered, {"said": "y" * 400}, by=BOB)
    page = await desk.page(width=width)
    await page.emulate_media(color_scheme=scheme)
    for name in ("Reconcile", "Answer in the tool's place"):
        await page.get_by_role("button", name=name).first.click()
    for summary in await page.locator("tool-call-card summary").all():
        await summary.click()
    await page.locator("tool-call-card").evaluate_all("all => all.forEach(card => { card.style.contentVisibility = 'visible'; })")
    assert await sideways(page) == 0
    await page.evaluate(AXE.read_text(encoding="utf-8"))
    found = await page.evaluate(
        """async () => (await axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}))
          .violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`)"""
    )
    assert found == []
