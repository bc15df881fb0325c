"""Everybody can read it: narrow windows, long words, right-to-left text, both themes, forced colours, touch, a thousand cards, axe."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from tests.browser.stage import ROOT, Stage, card, fixture, show, sideways

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
DOCUMENTS = ("trip", "long", "rtl", "states")


async def _open_all(page: Page) -> None:
    for _ in range(2):
        await page.evaluate(
            """async () => {
              const all = (root) => [...root.querySelectorAll('*')].flatMap(e => e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e]);
              for (const e of all(document)) if (e.localName === 'details') e.open = true;
              await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
            }"""
        )


@pytest.mark.parametrize("width", [320, 360, 560, 1280])
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_nothing_runs_out_of_the_window_sideways(stage: Stage, name: str, width: int) -> None:
    page = await stage.console("task", fixture(name), width=width, direction="rtl" if name == "rtl" else "ltr")
    await _open_all(page)
    assert await sideways(page) == 0
    wide = await page.evaluate(
        """() => {
          const all = (root) => [...root.querySelectorAll('*')].flatMap(e => e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e]);
          const outside = (r) => r.width > 2 && (r.right > innerWidth + 1 || r.left < -1);
          return all(document).filter(e => outside(e.getBoundingClientRect()))
            .filter(e => !e.closest('.hidden-word, .skip, .none')).map(e => `${e.localName}.${e.className}`).slice(0, 5);
        }"""
    )
    assert wide == []


async def test_right_to_left_pages_mirror_and_foreign_text_keeps_its_direction(stage: Stage) -> None:
    page = await stage.console("task", fixture("rtl"), direction="rtl")
    chip = await page.locator("tool-call-card").first.locator("[part=chip]").bounding_box()
    title = await page.locator("tool-call-card").first.locator("[part=title]").bounding_box()
    assert chip and title
    assert chip["x"] < title["x"]
    tool = page.locator("tool-call-card").first.locator(".mono").first
    assert await tool.evaluate("e => getComputedStyle(e).direction") == "ltr"


async def test_arabic_on_a_left_to_right_page_is_read_from_the_right(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_rtl", "rtl"))
    title = element.locator("[part=title] span")
    assert await title.evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert await element.locator("header").evaluate("e => getComputedStyle(e).direction") == "ltr"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["tasks", "task", "inbox", "invocation"])
async def test_axe_finds_nothing(stage: Stage, view: str, scheme: Literal["light", "dark"]) -> None:
    sent: Any = {"tasks": fixture("tasks"), "task": fixture("trip"), "inbox": fixture("inbox"), "invocation": card("inv_charge")}[view]
    page = await stage.console(view, sent, scheme=scheme)
    await _open_all(page)
    await page.get_by_role("button", name="Deny").first.click() if view in {"task", "inbox"} else None
    await page.add_style_tag(content="tool-call-card { content-visibility: visible }")
    await page.evaluate(AXE.read_text(encoding="utf-8"))
    found = await page.evaluate(
        """async () => (await axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}))
          .violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`)"""
    )
    assert found == []


async def test_the_theme_of_an_element_can_be_set_on_the_element(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card", scheme="light")
    await show(page, "card", card("inv_book"))
    ground = "getComputedStyle(document.querySelector('tool-call-card').shadowRoot.querySelector('article')).backgroundColor"
    light = await page.evaluate(ground)
    await element.evaluate("e => e.dataset.theme = 'dark'")
    dark = await page.evaluate(ground)
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(28, 27, 24)")


async def test_a_token_set_by_the_page_reaches_the_card(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await show(page, "card", card("inv_book"))
    await page.add_style_tag(content=":root { --tw-accent: rgb(1, 2, 3) }")
    assert await element.locator("button.go").evaluate("b => getComputedStyle(b).backgroundColor") == "rgb(1, 2, 3)"


async def test_the_elements_carry_their_own_tokens_where_the_style_sheet_is_missing(stage: Stage) -> None:
    page, element = await stage.bare("tool-call-card")
    await page.evaluate("document.querySelector('link[rel=stylesheet]').remove()")
    await show(page, "card", card("inv_book"))
    assert await element.locator("article").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"


async def test_controls_are_36_pixels_and_44_under_a_finger(stage: Stage) -> None:
    for touch, expected in ((False, 36), (True, 44)):
        page, element = await stage.bare("tool-call-card", has_touch=touch, is_mobile=touch)
        await show(page, "card", card("inv_book"))
        box = await element.get_by_role("button", name="Deny").bounding_box()
        assert box
        assert round(box["height"]) == expected


async def test_in_forced_colours_every_state_still_has_an_edge(stage: Stage) -> None:
    page, element = await stage.bare("tool-task", forced_colors="active")
    await show(page, "task", fixture("states"))
    edges = await element.locator("tool-call-card [part=chip]").evaluate_all("all => all.map(c => getComputedStyle(c).borderTopColor)")
    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert all(edge != ground for edge in edges)


async def test_a_thousand_cards_are_laid_out_only_where_they_are_seen(stage: Stage) -> None:
    task = fixture("trip")
    original = task["cards"][0]
    task["cards"] = [{**original, "id": f"inv_{n}", "title": f"Reserve itinerary it-{n}", "depth": 0} for n in range(1000)]
    page = await stage.console("task", task)
    await expect(page.locator("tool-call-card").first).to_be_visible()
    skipped = await page.evaluate(
        """async () => {
          await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
          const task = document.querySelector('tool-console').shadowRoot.querySelector('tool-task');
          const seen = (c) => c.shadowRoot.querySelector('article').checkVisibility({contentVisibilityAuto: true});
          return [...task.shadowRoot.querySelectorAll('tool-call-card')].filter(c => !seen(c)).length;
        }"""
    )
    assert skipped > 950
    await page.evaluate("window.stream.open()")
    script = await page.evaluate(
        """async (card) => {
          const begun = performance.now();
          window.stream.say('card', card, 'c1');
          const consoleElement = document.querySelector('tool-console');
          await consoleElement.updateComplete;
          const task = consoleElement.shadowRoot.querySelector('tool-task');
          await task.updateComplete;
          const target = task.shadowRoot.querySelectorAll('tool-call-card')[500];
          await target.updateComplete;
          return { text: target.shadowRoot.querySelector('[part=chip]').textContent.trim(), milliseconds: performance.now() - begun };
        }""",
        {**original, "id": "inv_500", "version": 9, "label": "Queued", "state": "queued", "tone": "live", "glyph": "queued"},
    )
    assert script["text"] == "Queued"
