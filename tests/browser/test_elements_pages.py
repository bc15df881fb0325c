"""Tasks, the inbox and the console page: hierarchy, live messages, honest currency, and requests as the server gets them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.stage import Reply, Stage, events, fixture, keyboard, read, show

TRIP = fixture("trip")
APPROVE = "/api/invocations/inv_book/actions/approve"


def _moved(document: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**{k: v for k, v in document.items() if k != "depth"}, "version": document["version"] + 1, **more}


async def _say(page: Page, kind: str, document: Any, cursor: str = "c1") -> None:
    await page.evaluate("([kind, document, cursor]) => window.stream.say(kind, document, cursor)", [kind, document, cursor])


async def test_a_task_shows_its_parts_in_order_and_under_what_they_belong_to(stage: Stage) -> None:
    page, element = await stage.bare("tool-task")
    await show(page, "task", TRIP)
    titles = await element.locator("tool-call-card [part=title]").all_inner_texts()
    assert titles == [c["title"] for c in TRIP["cards"]]
    lefts = await element.locator("tool-call-card").evaluate_all("all => all.map(c => c.getBoundingClientRect().left)")
    assert lefts[1] - lefts[0] == 32
    assert "Part of Reserve itinerary it-7." in (await element.locator("tool-call-card").nth(1).locator("[part=meta]").text_content() or "")
    assert "2 of 5 required parts complete" in await element.get_by_role("status").first.inner_text()


async def test_headings_follow_the_level_that_the_host_gives(stage: Stage) -> None:
    page, element = await stage.bare("tool-task")
    await page.evaluate("window.element.headingLevel = 3")
    await show(page, "task", TRIP)
    assert await element.get_by_role("heading", level=3).count() == 1
    assert await element.get_by_role("heading", level=4).count() == len(TRIP["cards"])


async def test_a_lineage_reference_moves_the_keyboard_to_the_other_attempt(stage: Stage) -> None:
    page, element = await stage.bare("tool-task")
    await show(page, "task", TRIP)
    await element.get_by_role("button", name="retried as attempt 2").click()
    assert "attempt 2" in (await keyboard(page))["text"]
    assert [e["type"] for e in await events(page)] == []


async def test_a_reference_that_is_not_on_the_page_is_left_to_the_host(stage: Stage) -> None:
    page, element = await stage.bare("tool-task")
    task = fixture("trip")
    task["cards"] = [c for c in task["cards"] if c["id"] != "inv_hotel2"]
    await show(page, "task", task)
    await element.get_by_role("button", name="retried as attempt 2").click()
    assert [(e["type"], e["id"]) for e in await events(page)] == [("tool-goto", "inv_hotel2")]


async def test_only_the_card_that_changed_is_drawn_again(stage: Stage) -> None:
    page, _ = await stage.bare("tool-task")
    await show(page, "task", TRIP)
    task = fixture("trip")
    task["cards"][4] |= {"version": 45, "label": "Still streaming"}
    task["version"] += 1
    drawn = await page.evaluate(
        """async (task) => {
          const drawn = [];
          for (const card of window.element.renderRoot.querySelectorAll('tool-call-card')) {
            const old = card.performUpdate;
            card.performUpdate = function () { drawn.push(card.card.id); return old.call(this); };
          }
          window.element.task = task; await window.element.updateComplete; await Promise.resolve();
          return drawn;
        }""",
        task,
    )
    assert drawn == ["inv_rail"]


async def test_the_keyboard_stays_when_cards_change_places(stage: Stage) -> None:
    page, element = await stage.bare("tool-task")
    await show(page, "task", TRIP)
    await element.get_by_role("button", name="Reconcile").focus()
    task = fixture("trip")
    task["cards"].insert(0, task["cards"].pop(5))
    task["version"] += 1
    await show(page, "task", task)
    assert (await keyboard(page))["action"] == "reconcile"


async def test_an_empty_inbox_says_so(stage: Stage) -> None:
    page, element = await stage.bare("tool-inbox")
    await show(page, "inbox", {"title": "Inbox", "items": [], "empty": "Nothing waits for a decision."})
    assert "Nothing waits for a decision." in await read(element)


async def test_the_first_paint_comes_from_the_page_itself(stage: Stage) -> None:
    page = await stage.console("task", TRIP)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Book the trip you chose")
    assert stage.asked == [] or [r.url for r in stage.asked] == ["http://localhost/"]
    assert await page.evaluate("window.streams.map(s => s.url)") == ["/api/stream?cursor=c0&task=" + TRIP["id"]]
    assert await page.title() == "(1) Book the trip you chose · toolwitness"


async def test_the_navigation_names_the_page_and_counts_what_waits(stage: Stage) -> None:
    page = await stage.console("inbox", fixture("inbox"), waiting=3)
    nav = page.get_by_role("navigation")
    assert await nav.get_by_role("link", name="Inbox").get_attribute("aria-current") == "page"
    assert "3 waiting" in (await nav.text_content() or "")
    stage.replies["/api/approvals?view=card"] = Reply({**fixture("inbox"), "items": []})
    await page.evaluate("window.stream.open()")
    await _say(page, "inbox", {"waiting": 0})
    await expect(page.get_by_text("Nothing waits for a decision.")).to_be_visible()
    assert "waiting" not in (await nav.text_content() or "")


async def test_what_was_answered_stays_in_sight_and_keeps_moving(stage: Stage) -> None:
    inbox = fixture("inbox")
    page = await stage.console("inbox", inbox, waiting=3)
    await page.evaluate("window.stream.open()")
    stage.replies["/api/approvals?view=card"] = Reply({**inbox, "items": inbox["items"][1:]})
    await _say(
        page, "card", _moved(inbox["items"][0], state="queued", label="Queued", tone="live", glyph="queued", controls=[], deadline=None)
    )
    await _say(page, "inbox", {"waiting": 2})
    await expect(page.get_by_text("No longer waiting")).to_be_visible()
    last = page.locator("tool-call-card").last
    await expect(last.locator("[part=chip]")).to_have_text("Queued")
    await expect(last.get_by_role("heading")).to_have_text("Reserve itinerary it-7")


async def test_an_approval_goes_out_bound_and_the_card_waits_for_the_record(stage: Stage) -> None:
    page = await stage.console("task", TRIP)
    await page.evaluate("window.stream.open()")
    stage.hold.add(APPROVE)
    approve = page.get_by_role("button", name="Approve € 412.50")
    await approve.click()
    await expect(approve).to_have_attribute("aria-busy", "true")
    [sent] = [r for r in stage.asked if r.method == "POST"]
    body = json.loads(sent.post_data or "")
    binding = TRIP["cards"][0]["controls"][0]["binding"]
    assert body == {**binding, "requestId": body["requestId"]}
    assert (await sent.all_headers())["x-toolwitness-csrf"] == "token-1"
    await stage.held[0].fulfill(json={"accepted": True, "document": {}})
    await expect(approve).not_to_have_attribute("aria-busy", "true")
    card = page.locator("tool-call-card").first
    await expect(card.locator("[part=chip]")).to_have_text("Awaiting approval")
    await _say(page, "card", _moved(TRIP["cards"][0], state="queued", label="Queued", tone="live", glyph="queued", controls=[]))
    await expect(card.locator("[part=chip]")).to_have_text("Queued")


async def test_a_part_is_waived_at_its_own_card_with_a_reason(stage: Stage) -> None:
    page = await stage.console("task", TRIP)
    charge = page.locator("tool-call-card", has_text="Charge the deposit")
    await charge.get_by_role("button", name="Waive").click()
    await charge.get_by_label("Why the task is complete without it").fill("Nobody needs a deposit")
    address = "/api/invocations/inv_charge/actions/waive_child"
    stage.replies[address] = Reply({"accepted": True, "document": {}})
    stage.replies[f"/api/tasks/{TRIP['id']}?view=card"] = Reply(TRIP)
    await charge.locator("form").get_by_role("button", name="Waive").click()
    await expect(charge.locator("form")).to_have_count(0)
    [sent] = [r for r in stage.asked if r.method == "POST"]
    body = json.loads(sent.post_data or "")
    assert body == {"requestId": body["requestId"], "reason": "Nobody needs a deposit"}


async def test_a_refused_approval_says_who_was_first(stage: Stage) -> None:
    page = await stage.console("task", TRIP)
    stage.replies[APPROVE] = Reply(
        {"title": "Already answered", "detail": "Grace Hopper denied it at ⟦2027-01-11T12:01:37.000Z⟧.", "code": "once-key-taken"},
        code=409, content_type="application/problem+json",
    )  # fmt: skip  # as one answer
    await page.get_by_role("button", name="Approve € 412.50").click()
    await expect(page.get_by_role("alert").filter(has_text="Already answered")).to_contain_text("Grace Hopper denied it at 12:01:37.")


async def test_a_server_that_fails_leaves_it_open_whether_it_was_recorded(stage: Stage) -> None:
    page = await stage.console("task", TRIP)
    stage.replies[APPROVE] = Reply("<h1>Bad gateway</h1>", code=503, content_type="text/html")
    await page.get_by_role("button", name="Approve € 412.50").click()
    await expect(page.get_by_role("alert").filter(has_text="No answer")).to_contain_text(
        "Nobody knows yet whether the request was recorded"
    )


async def test_the_page_says_since_when_it_may_no_longer_be_true(stage: Stage) -> None:
    page = await stage.console("task", TRIP)
    currency = page.locator("[part=currency]")
    await page.evaluate("window.stream.open()")
    await expect(currency).to_have_text("Live")
    await page.clock.set_fixed_time("2027-01-11T12:03:00Z")
    await page.evaluate("window.stream.fail(0)")
    await expect(currency).to_have_text("Reconnecting; what you see was true at 12:01:38")
    await page.evaluate("window.stream.open()")
    await expect(currency).to_have_text("Live")


async def test_a_resync_reads_a_snapshot_and_keeps_what_is_newer(stage: Stage) -> None:
    page = await stage.console("task", TRIP)
    await page.evaluate("window.stream.open()")
    await _say(page, "card", _moved(TRIP["cards"][4], state="cancelled", label="Cancelled", tone="off", glyph="cancelled"))
    snapshot = fixture("trip")
    snapshot["cards"].append({**snapshot["cards"][6], "id": "inv_new", "title": "A part that came meanwhile"})
    snapshot["version"] += 1
    stage.replies[f"/api/tasks/{TRIP['id']}?view=card"] = Reply(snapshot)
    await _say(page, "resync", {})
    await expect(page.locator("tool-call-card")).to_have_count(len(TRIP["cards"]) + 1)
    await expect(page.locator("tool-call-card", has_text="Search trains").locator("[part=chip]").first).to_have_text("Cancelled")


async def test_an_address_with_an_invocation_in_it_opens_at_its_card(stage: Stage) -> None:
    page = await stage.console("task", TRIP, hash_="#inv_charge")
    await expect(page.locator("tool-call-card", has_text="Charge the deposit")).to_be_in_viewport()
    assert (await keyboard(page))["text"].startswith("Charge the deposit")


async def test_every_link_is_a_real_address_under_the_mount_point(stage: Stage) -> None:
    page = await stage.console("tasks", fixture("tasks"), base="/calls")
    hrefs = await page.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert hrefs == ["/calls/", "/calls/", "/calls/inbox", *(f"/calls/tasks/{t['id']}" for t in fixture("tasks")["tasks"])]


async def test_the_invocation_page_opens_its_evidence(stage: Stage) -> None:
    page = await stage.console("invocation", TRIP["cards"][5])
    await expect(page.get_by_role("heading", level=1)).to_have_text("Charge the deposit")
    await expect(page.locator(".line")).to_have_count(6)


async def test_a_closing_script_tag_in_the_page_data_is_only_text(stage: Stage) -> None:
    task = {**fixture("trip"), "title": "</script><script>window.bad=1</script>"}
    page = await stage.console("task", task)
    await expect(page.get_by_role("heading", level=1)).to_have_text("</script><script>window.bad=1</script>")
    assert await page.evaluate("window.bad") is None


class _Streaming(BaseHTTPRequestHandler):
    """Speaks two messages, hangs up, and resumes from where the browser says it was."""

    page: ClassVar[bytes] = b""
    resumed: ClassVar[list[str | None]] = []
    cards: ClassVar[list[dict[str, Any]]] = []

    def log_message(self, *_: object) -> None:
        """Keep the test's output quiet."""

    def do_GET(self) -> None:  # the name that http.server calls
        if self.path.startswith("/static/"):
            return self._answer((Path(__file__).parents[2] / "src/toolwitness/server" / self.path[1:]).read_bytes(),
                                "text/javascript" if self.path.endswith(".js") else "text/css")  # fmt: skip  # two arguments
        if self.path.startswith("/api/stream"):
            return self._stream()
        return self._answer(self.page, "text/html; charset=utf-8")

    def _answer(self, body: bytes, content_type: str) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self) -> None:
        last = self.headers.get("Last-Event-ID")
        self.resumed.append(last)
        start = int(last or 0)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        frames = [f"id: {n + 1}\nevent: card\ndata: {json.dumps(c)}\n\n" for n, c in enumerate(self.cards)]
        self.wfile.write(("retry: 50\n\n" + "".join(frames[start : start + 2])).encode())


@pytest.fixture
def hanging_up(bundle: Path) -> Iterator[str]:
    """Serve the task page from a real socket whose stream ends after every second message."""
    assert bundle.exists()
    rail = TRIP["cards"][4]
    _Streaming.resumed = []
    _Streaming.cards = [_moved(rail, version=100 + n, progress={"text": f"{n} read", "percent": n, "order": n}) for n in range(6)]
    boot = json.dumps({"view": "task", "data": TRIP, "cursor": None, "actor": None, "csrf": "x", "base": ""}).replace("<", "\\u003c")
    _Streaming.page = (
        '<!doctype html><html lang="en"><link rel="stylesheet" href="/static/toolwitness.css"><link rel="icon" href="data:,">'
        f'<script type="application/json" id="tw-boot">{boot}</script>'
        '<script type="module" src="/static/toolwitness.js"></script><tool-console></tool-console>'
    ).encode()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Streaming)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


async def test_a_stream_that_breaks_resumes_without_loss(browser: Browser, hanging_up: str) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(hanging_up)
    await expect(page.get_by_text("5 read")).to_be_visible()
    await context.close()
    assert _Streaming.resumed[:3] == [None, "2", "4"]
