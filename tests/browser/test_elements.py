"""The card says what its document says, and nothing more: states, requests, findings, facts, controls, values and evidence."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.stage import Reply, Stage, card, events, fixture, keyboard, read, show

STATES = (
    "proposed", "awaiting_input", "awaiting_approval", "queued", "running", "streaming",
    "partially_complete", "succeeded", "failed", "cancelled", "expired",
)  # fmt: skip  # the lifecycle, in its order


async def test_a_card_reads_in_the_order_purpose_state_what_is_wrong_what_one_can_do_until_when(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_charge"))
    article = element.get_by_role("article", name="Charge the deposit")
    text = await article.inner_text()
    order = [
        "Charge the deposit",
        "Cancelled",
        "stopped 12:00:12 by you",
        "€ 50.00 was charged",
        "must be reconciled",
        "Reconcile",
        "Evidence (4 facts",
    ]
    places = [text.find(part) for part in order]
    assert -1 not in places, dict(zip(order, places, strict=True))
    assert places == sorted(places)


async def test_every_state_has_a_word_and_a_glyph_of_its_own(stage: Stage) -> None:
    page, element = await stage.bare("tool-task")
    await show(page, "task", fixture("states"))
    chips = await element.locator("tool-call-card [part=chip]").evaluate_all(
        """chips => chips.map(c => [c.textContent.trim(), c.querySelector('svg')])
          .map(([word, svg]) => ({word, glyph: svg.dataset.glyph, drawing: svg.innerHTML.replace(/<!--.*?-->/g, '')}))"""
    )
    assert [c["glyph"] for c in chips] == list(STATES)
    assert len({c["drawing"] for c in chips}) == len(STATES)
    assert len({c["word"] for c in chips}) == len(STATES)


async def test_a_state_that_is_not_known_is_shown_by_its_word_with_a_question_mark(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", {**card("inv_rail"), "state": "hovering", "label": "Hovering", "glyph": "constructor"})
    glyph = element.locator("[part=chip] svg")
    assert await glyph.get_attribute("data-glyph") == "unknown"
    assert "Hovering" in await element.locator("[part=chip]").inner_text()


async def test_what_is_decided_is_set_large_and_the_button_repeats_it(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    amount = element.get_by_text("€ 412.50", exact=True)
    size = float((await amount.evaluate("e => getComputedStyle(e).fontSize")).removesuffix("px"))
    assert 19 <= size <= 22
    assert await element.get_by_role("button", name="Approve € 412.50").is_enabled()
    assert "by the server’s clock" in await element.locator("[part=deadline]").inner_text()


async def test_times_are_local_and_hold_the_exact_time(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    time = element.locator("[part=deadline] time")
    assert await time.inner_text() == "12:06:20"
    assert await time.get_attribute("title") == "2027-01-11T12:06:20.000Z"


async def test_a_pressed_control_reads_as_requested_until_the_host_answers(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    approve = element.get_by_role("button", name="Approve € 412.50")
    await approve.click()
    [sent] = await events(page)
    assert {k: sent[k] for k in ("id", "subject", "action", "reason", "fields", "approvalId")} == {
        "id": "inv_book", "subject": "invocation", "action": "approve", "reason": None, "fields": {},
        "approvalId": "apr_01jh8v5b2k3m4n5p6q7r8s9t0v",
    }  # fmt: skip  # as the host sees it
    assert await approve.get_attribute("aria-busy") == "true"
    assert "requested, not yet recorded" in await read(element)
    await approve.click(force=True)
    assert len(await events(page)) == 1
    assert "Awaiting approval" in await element.locator("[part=chip]").inner_text()
    await page.evaluate("id => window.element.answer({requestId: id, outcome: 'recorded'})", sent["requestId"])
    await page.evaluate("window.element.updateComplete")
    assert await approve.get_attribute("aria-busy") is None
    assert "not yet recorded" not in await read(element)
    assert "Awaiting approval" in await element.locator("[part=chip]").inner_text()


async def test_a_refusal_is_said_in_place_and_keeps_what_was_typed(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    await element.get_by_role("button", name="Deny").click()
    await element.get_by_label("Reason").fill("Too dear")
    await element.locator("form").get_by_role("button", name="Deny").click()
    [sent] = await events(page)
    assert (sent["action"], sent["reason"], sent["fields"]) == ("deny", "Too dear", {})
    await page.evaluate(
        """id => window.element.answer({requestId: id, outcome: 'refused',
          problem: {title: 'Finance approved first', detail: 'At ⟦2027-01-11T12:01:37.900Z⟧ by Grace.', code: 'already-decided'}})""",
        sent["requestId"],
    )
    alert = element.get_by_role("alert").filter(has_text="Finance approved first")
    assert "Deny: Finance approved first. At 12:01:37 by Grace." in await alert.inner_text()
    assert await element.get_by_label("Reason").input_value() == "Too dear"
    await alert.get_by_role("button", name="Hide this notice").click()
    assert await alert.count() == 0


async def test_a_request_without_an_answer_keeps_its_id_when_it_is_pressed_again(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    approve = element.get_by_role("button", name="Approve € 412.50")
    await approve.click()
    first = (await events(page))[0]["requestId"]
    await page.evaluate("id => window.element.answer({requestId: id, outcome: 'unanswered'})", first)
    assert (
        "Nobody knows yet whether the request was recorded" in await element.get_by_role("alert").filter(has_text="No answer").inner_text()
    )
    await approve.click()
    assert [e["requestId"] for e in await events(page)] == [first, first]


async def test_a_form_says_what_is_missing_beside_the_field_and_moves_there(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_charge"))
    await element.get_by_role("button", name="Reconcile").click()
    form = element.locator("form")
    await form.get_by_label("Where you looked").fill("")
    await form.get_by_label("Provider’s receipt (JSON), if you have it").fill("{oops")
    await form.get_by_role("button", name="Reconcile").click()
    assert await events(page) == []
    faults = [await f.inner_text() for f in await form.get_by_role("alert").all() if await f.is_visible()]
    assert faults[:2] == ["What happened to the money is needed.", "Where you looked is needed."]
    assert faults[2].startswith("This is not JSON:")
    assert (await keyboard(page))["name"] == "conclusion"


async def test_answers_are_sent_as_typed_and_json_digit_for_digit(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_charge"))
    await element.get_by_role("button", name="Reconcile").click()
    form = element.locator("form")
    await form.get_by_label("What happened to the money").select_option("charged")
    await form.get_by_label("Provider’s receipt (JSON), if you have it").fill('{"serial": 9223372036854775807}')
    await form.get_by_role("button", name="Reconcile").click()
    [sent] = await events(page)
    assert sent["fields"] == {"conclusion": "charged", "reference": "ch_81", "receipt": '{"serial": 9223372036854775807}'}
    assert '"fields":{"conclusion":"charged","reference":"ch_81","receipt":{"serial": 9223372036854775807}}}' in sent["body"]


async def test_a_control_that_is_off_can_be_reached_says_why_and_sends_nothing(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_hotel1"))
    button = element.get_by_role("button", name="Try again")
    assert await button.get_attribute("aria-disabled") == "true"
    described = await button.evaluate("b => b.getRootNode().getElementById(b.getAttribute('aria-describedby')).innerText")
    assert "Attempt 2 is queued already." in described
    assert await element.get_by_text("Attempt 2 is queued already.").is_visible()
    await button.focus()
    await page.keyboard.press("Enter")
    assert await events(page) == []


async def test_the_keyboard_alone_opens_fills_and_leaves_a_form(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    await element.get_by_role("button", name="Deny").focus()
    await page.keyboard.press("Enter")
    assert await element.get_by_role("button", name="Deny").first.get_attribute("aria-expanded") == "true"
    await element.get_by_label("Reason").focus()
    await page.keyboard.type("No")
    await page.keyboard.press("Escape")
    assert await element.locator("form").count() == 0
    assert (await keyboard(page))["action"] == "deny"
    await page.keyboard.press("Enter")
    assert await element.get_by_label("Reason").input_value() == "No"
    await element.get_by_label("Reason").focus()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    assert [e["reason"] for e in await events(page)] == ["No"]


async def test_numbers_of_nineteen_digits_are_shown_and_copied_digit_for_digit(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card", permissions=["clipboard-read", "clipboard-write"])
    await show(page, "card", card("inv_flight"))
    await element.get_by_text("Result (2 itineraries").click()
    shown = await element.locator("pre").inner_text()
    assert '"booking_class_serial": 9223372036854775807,' in shown
    await element.get_by_role("button", name="Copy").click()
    await element.get_by_text("Copied").wait_for()
    expected = card("inv_flight")["disclosures"][0]["text"]
    assert await page.evaluate("navigator.clipboard.readText()") == expected


async def test_the_exact_text_goes_before_a_parsed_value(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    disclosure: dict[str, Any] = {
        "id": "r",
        "title": "Result",
        "kind": "json",
        "text": "[12345678901234567890]",
        "value": [1],
        "complete": True,
    }
    await show(page, "card", {**card("inv_flight"), "disclosures": [disclosure]})
    await element.get_by_text("Result", exact=True).click()
    assert "12345678901234567890" in await element.locator("pre").inner_text()


@pytest.mark.parametrize("where", ["title", "fact", "finding", "disclosure", "evidence", "control"])
async def test_markup_in_a_value_is_text(stage: Stage, where: str) -> None:
    page, element = await stage.bare("tool-call-card")
    bad = "<img src=x onerror=window.bad=1><b>bold</b></script>"
    document = card("inv_charge")
    document["disclosures"] = [
        {"id": "d", "title": "Value", "kind": "text", "text": bad if where == "disclosure" else "-", "complete": True}
    ]
    match where:
        case "title":
            document["title"] = bad
        case "fact":
            document["facts"][0]["text"] = bad
        case "finding":
            document["findings"][0]["detail"] = bad
        case "evidence":
            document["timeline"]["rows"][0]["text"] = bad
        case "control":
            document["controls"][0]["label"] = bad
        case _:
            pass
    await show(page, "card", document)
    await element.locator("summary", has_text="Value").click()
    await element.locator("summary", has_text="Evidence (").click()
    await expect(element.locator("pre")).to_be_visible()
    await expect(element.locator(".line").first).to_be_visible()
    assert bad in await read(element)
    assert await element.locator("img, b >> text=bold").count() == 0
    assert await page.evaluate("window.bad") is None


async def test_a_cut_text_says_so_and_shows_all_on_request(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_long", "long"))
    await element.locator("details[data-disclosure=text] > summary").click()
    await expect(element.get_by_text("Showing 20\u202f000 of 60\u202f000 characters.")).to_be_visible()
    await element.get_by_role("button", name="Show all").click()
    length = await element.locator("pre").evaluate("p => p.textContent.length")
    assert length == 60_000
    await element.locator("details[data-disclosure=json] > summary").click()
    await expect(element.get_by_text("This is a part of the value")).to_be_visible()


async def test_a_value_that_is_not_whole_says_what_is_missing(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    note = "The first 65536 of 90000 bytes. The whole is kept in the record as value val_1."
    document = card("inv_flight")
    document["disclosures"][0] |= {"complete": False, "note": note}
    await show(page, "card", document)
    await element.get_by_text("Result (2 itineraries").click()
    await expect(element.locator("[part=incomplete]")).to_have_text(note)


async def test_the_rail_marks_facts_gaps_requests_and_violations_in_shape_and_in_words(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_rail"))
    await element.locator("summary", has_text="Evidence (").click()
    marks = await element.locator(".line .dot svg").evaluate_all("all => all.map(s => s.dataset.glyph)")
    assert marks == ["fact", "gap", "fact", "fact", "request"]
    lines = await element.locator(".line").all_inner_texts()
    assert "Gap:" in lines[1] and "No acceptance recorded" in lines[1]
    assert "12:00:58.102" in lines[0] and "runtime" in lines[0]


async def test_a_claim_leads_to_the_evidence_it_rests_on(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    await element.get_by_role("button", name="Show evidence 2, 3").click()
    cited = element.locator(".line[data-cited]")
    assert await cited.count() == 2
    assert "Inputs accepted" in await cited.first.inner_text()
    assert (await keyboard(page))["text"].startswith("2")


async def test_a_clock_runs_only_while_the_call_does(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_rail"))
    assert await element.locator(".elapsed").inner_text() == "39 s"
    await show(
        page, "card", {**card("inv_rail"), "version": 99, "state": "cancelled", "label": "Cancelled", "tone": "off", "glyph": "cancelled"}
    )
    assert await element.locator(".elapsed").count() == 0


async def test_a_change_of_state_is_said_politely_and_once(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    document = card("inv_rail")
    await show(page, "card", document)
    spoken = element.locator("article > [role=status]")
    assert await spoken.inner_text() == ""
    await show(page, "card", {**document, "version": 45})
    assert await spoken.inner_text() == ""
    await show(page, "card", {**document, "version": 46, "state": "cancelled", "label": "Cancelled", "tone": "off", "glyph": "cancelled"})
    assert await spoken.inner_text() == "Search trains: Cancelled"


async def test_an_update_keeps_the_keyboard_the_form_and_what_is_open(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    document = card("inv_book")
    await show(page, "card", document)
    await element.locator("summary", has_text="Evidence (").click()
    await element.get_by_role("button", name="Deny").click()
    await element.get_by_label("Reason").fill("Half a rea")
    row = {"mark": "fact", "at": "2027-01-11T12:01:40.000Z", "text": "Rate checked", "owner": "policy", "ref": "ev_x", "detail": []}
    document["timeline"]["rows"].append(row)
    document["version"] += 1
    await show(page, "card", document)
    assert (await keyboard(page))["name"] == "reason"
    assert await element.get_by_label("Reason").input_value() == "Half a rea"
    await expect(element.get_by_text("Rate checked")).to_be_visible()


async def test_when_the_pressed_control_is_gone_the_keyboard_is_on_its_card(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    document = card("inv_book")
    await show(page, "card", document)
    await element.get_by_role("button", name="Approve € 412.50").focus()
    await show(
        page,
        "card",
        {
            **document,
            "version": 9,
            "controls": [],
            "deadline": None,
            "state": "queued",
            "label": "Queued",
            "tone": "live",
            "glyph": "queued",
        },
    )
    assert (await keyboard(page))["tag"] == "article"


async def test_the_same_document_again_draws_nothing(stage: Stage) -> None:
    page, _ = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    draws = await page.evaluate(
        """async (again) => {
          let draws = 0;
          const old = window.element.performUpdate;
          window.element.performUpdate = function () { draws += 1; return old.call(this); };
          window.element.card = again; await window.element.updateComplete;
          return draws;
        }""",
        card("inv_book"),
    )
    assert draws == 0


async def test_without_a_source_there_is_no_network_and_with_one_the_card_is_read(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    assert stage.asked == []
    stage.replies["/cards/1"] = Reply(card("inv_rail"))
    await page.evaluate("window.element.src = '/cards/1'")
    await element.get_by_text("Search trains").wait_for()
    assert [r.url.rsplit("/", 1)[1] for r in stage.asked] == ["1"]


async def test_a_source_that_cannot_be_read_is_said(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    stage.replies["/cards/1"] = Reply({"title": "Gone"}, code=503)
    await page.evaluate("window.element.src = '/cards/1'")
    await element.get_by_role("alert").wait_for()
    assert "/cards/1 could not be read: HTTP 503" in await read(element)
