"""A page whose server is the test: it serves the bundle, answers what the test says, and keeps what was asked."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, BrowserContext, Locator, Page, Request, Route

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "toolwitness" / "server" / "static"
FIXTURES = ROOT / "web" / "fixtures"
NOW = "2027-01-11T12:01:38Z"
ORIGIN = "http://localhost"

FAKE_STREAM = """
window.streams = [];
window.EventSource = class extends EventTarget {
  constructor(url) { super(); this.url = url; this.readyState = 0; window.streams.push(this); }
  close() { this.readyState = 2; }
};
window.stream = {
  open() { const s = window.streams.at(-1); s.readyState = 1; s.dispatchEvent(new Event('open')); },
  fail(state) { const s = window.streams.at(-1); s.readyState = state; s.dispatchEvent(new Event('error')); },
  say(type, data, id) {
    const event = Object.assign(new Event(type), { data: JSON.stringify(data), lastEventId: id ?? '' });
    window.streams.at(-1).dispatchEvent(event);
  },
};
"""


def fixture(name: str) -> Any:
    """Read a fixture; each call gives a new copy that the test may change."""
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


def card(name: str, document: str = "trip") -> dict[str, Any]:
    """Give one card of a fixture by its id."""
    cards = fixture(document)["cards"]
    return next(copy.deepcopy(c) for c in cards if c["id"] == name)


@dataclass
class Reply:
    """What the test's server says to one address."""

    body: Any = None
    code: int = 200
    content_type: str = "application/json"


@dataclass
class Stage:
    """One page; ``replies`` are what its server says, ``asked`` what it was asked."""

    browser: Browser
    bundle: Path
    replies: dict[str, Reply] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    held: list[Route] = field(default_factory=list)
    hold: set[str] = field(default_factory=set)
    """Addresses whose answer the test gives later, by hand."""
    contexts: list[BrowserContext] = field(default_factory=list)

    async def open(self, *, width: int = 1000, height: int = 900, scheme: Literal["light", "dark"] = "light", **options: Any) -> Page:
        """Open a context of its own with the server in place; nothing is loaded yet."""
        context = await self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, timezone_id="UTC", locale="en-GB", **options
        )
        self.contexts.append(context)
        page = await context.new_page()
        await page.clock.set_fixed_time(NOW)
        await page.route("**/*", self._serve)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on(
            "console",
            lambda message: (
                self.faults.append(message.text)
                if message.type == "error" and "409" not in message.text and "503" not in message.text
                else None
            ),
        )
        return page

    async def bare(self, element: str, **options: Any) -> tuple[Page, Locator]:
        """Open the harness with one element on it and nothing in it."""
        page = await self.open(**options)
        await page.goto(f"{ORIGIN}/")
        await page.evaluate(
            """async (name) => {
              await customElements.whenDefined(name);
              const element = document.createElement(name);
              window.element = element; window.events = [];
              for (const type of ['tool-action', 'tool-goto'])
                document.addEventListener(type, (e) => window.events.push({ type, ...e.detail }));
              document.getElementById('stage').append(element);
            }""",
            element,
        )
        return page, page.locator(element)

    async def console(
        self, view: str, sent: Any, *, waiting: int = 1, base: str = "", direction: str = "ltr", hash_: str = "", **options: Any
    ) -> Page:
        """Open the console page as the server would send it, with a stream that the test speaks on."""
        page = await self.open(**options)
        boot = {"view": view, "data": sent, "cursor": "c0", "actor": {"id": "ada", "name": "Ada Lovelace", "roles": []},
                "csrf": "token-1", "base": base, "waiting": waiting}  # fmt: skip  # as one document
        text = json.dumps(boot, ensure_ascii=False).replace("<", "\\u003c")
        self.replies["/"] = Reply(
            f'<!doctype html><html lang="en" dir="{direction}"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            '<title>toolwitness</title><link rel="stylesheet" href="/static/toolwitness.css">'
            f'<script type="application/json" id="tw-boot">{text}</script>'
            '<script type="module" src="/static/toolwitness.js"></script><tool-console></tool-console>',
            content_type="text/html; charset=utf-8",
        )
        await page.add_init_script(FAKE_STREAM)
        await page.goto(f"{ORIGIN}/{hash_}")
        await page.locator("tool-console main").wait_for()
        return page

    async def close(self) -> None:
        for context in self.contexts:
            await context.close()

    async def _serve(self, route: Route) -> None:
        request = route.request
        path = request.url.removeprefix(ORIGIN)
        if path.startswith("/static/"):
            await route.fulfill(path=self.bundle / path.removeprefix("/static/"))
        elif path == "/" and "/" not in self.replies:
            await route.fulfill(path=Path(__file__).parent / "pages" / "harness.html")
        elif path == "/favicon.ico":
            await route.fulfill(status=204)
        elif path in self.hold:
            self.asked.append(request)
            self.held.append(route)
        elif path in self.replies:
            self.asked.append(request)
            reply = self.replies[path]
            body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            await route.fulfill(status=reply.code, content_type=reply.content_type, body=body)
        else:
            self.faults.append(f"unexpected request: {request.method} {request.url}")
            await route.abort()


async def show(page: Page, prop: str, document: Any) -> None:
    """Give the element on the bare page its document, and wait until it and its cards are drawn."""
    await page.evaluate(
        """async ([prop, document]) => {
          window.element[prop] = document;
          await window.element.updateComplete;
          for (const card of window.element.renderRoot.querySelectorAll('tool-call-card')) await card.updateComplete;
        }""",
        [prop, document],
    )


async def read(element: Locator) -> str:
    """Give the text that a person sees in an element that draws into a shadow root."""
    text: str = await element.evaluate("e => [...e.shadowRoot.children].map(c => c.innerText ?? '').join('\\n')")
    return text


async def events(page: Page) -> list[dict[str, Any]]:
    """Give what the element has sent to its host."""
    sent: list[dict[str, Any]] = await page.evaluate("window.events")
    return sent


async def sideways(page: Page) -> int:
    """Give how many pixels the page is wider than its window."""
    pixels: int = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return pixels


async def keyboard(page: Page) -> dict[str, str]:
    """Say which element really has the keyboard, through however many shadow roots."""
    found: dict[str, str] = await page.evaluate(
        """() => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
          const name = e.getAttribute('name') ?? '', action = e.dataset?.action ?? '';
          return { tag: e.localName, text: e.textContent.trim().slice(0, 300), name, action }; }"""
    )
    return found
