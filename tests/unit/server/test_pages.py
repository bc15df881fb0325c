"""The page: first paint from the server's data, nothing recorded can act in it, and it works wherever it is mounted."""

from __future__ import annotations

import html
import json
import re
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount

import toolwitness as tw
from tests.unit.server.house import a_booking, a_house, by_header, serve, until
from toolwitness.server.access import LoopbackLogin
from toolwitness.server.app import create_app

NASTY = "</script><script>alert(1)</script><!--\u2028\u2029\"'&<img src=x onerror=alert(1)>"


def boot_of(text: str) -> dict[str, Any]:
    """Read the data of the first paint as a browser would."""
    found = re.search(r'<script type="application/json" id="tw-boot">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    boot: dict[str, Any] = json.loads(found[1])
    return boot


@pytest.mark.parametrize(
    ("address", "view"), [("/", "tasks"), ("/inbox", "inbox"), ("/tasks/{task}", "task"), ("/invocations/{waiting}", "invocation")]
)
async def test_every_page_brings_the_data_of_its_first_paint(address: str, view: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        ann = await house.of("ann")
        boot = boot_of((await ann.get(address.format(task=booking.task, waiting=booking.waiting))).text)
        assert (boot["view"], boot["base"], boot["waiting"]) == (view, "", 1)
        assert boot["actor"] == {"id": "ann", "name": "Ann Arbor", "roles": ["finance"]}
        assert boot["csrf"] == ann.headers["X-Toolwitness-CSRF"]
        assert "Reserve it-7" in json.dumps(boot["data"]) or view == "tasks"
        again = {"tasks": "/api/tasks", "inbox": "/api/approvals?view=card", "task": f"/api/tasks/{booking.task}?view=card",
                 "invocation": f"/api/invocations/{booking.waiting}?view=card"}[view]  # fmt: skip  # a table
        assert boot["data"] == (await ann.get(again)).json(), "the page and the API draw the same"


async def test_what_is_recorded_while_a_page_is_read_is_not_lost():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        original = house.desk.ledger.task
        slipped: list[int] = []

        async def slow(task_id: str) -> Any:
            view = await original(task_id)
            if not slipped:
                slipped.append(1)
                await house.desk.deny(booking.waiting, by=tw.Actor(id="bob", roles=frozenset({"finance"})))
            return view

        ann = await house.of("ann")
        before = await house.desk.ledger.head()
        house.desk.ledger.task = slow  # type: ignore[method-assign]  # somebody who decides at the worst moment
        boot = boot_of((await ann.get(f"/tasks/{booking.task}")).text)
        assert boot["cursor"].startswith(f"p{before}."), "the stream resumes from before the data was read"


@pytest.mark.parametrize("address", ["/", "/inbox", "/tasks/{task}", "/invocations/{waiting}"])
async def test_recorded_text_is_harmless_in_the_page(address: str):
    async with a_house() as house:

        @house.desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"])
        async def pay(to: str) -> str:
            return to

        async with house.desk.task(NASTY) as task:
            call = task.call(pay, to=NASTY, purpose=NASTY)
            waiting = await call.invocation_id()
            answer = await (await house.of("ann")).get(address.format(task=task.id, waiting=waiting))
        assert answer.status_code == 200
        scripts = re.findall(r"<script[^>]*>", answer.text)
        assert scripts == ['<script type="application/json" id="tw-boot">', '<script type="module" src="/static/toolwitness.js">']
        assert "<img" not in answer.text
        assert "\u2028" not in answer.text and "\u2029" not in answer.text
        title = re.search(r"<title>(.*?)</title>", answer.text, re.DOTALL)
        assert title is not None and "<" not in title[1]
        assert "alert(1)" in json.dumps(boot_of(answer.text)) or address == "/inbox"


@pytest.mark.parametrize("address", ["/", "/tasks/nothing", "/none"])
async def test_pages_let_no_other_code_in(address: str):
    async with a_house() as house:
        answer = await (await house.of("ann")).get(address)
        if answer.headers["content-type"].startswith("text/html"):
            rules = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
            assert rules["default-src"] == "'none'"
            assert rules["script-src"] == rules["connect-src"] == "'self'"
            assert rules["frame-ancestors"] == rules["form-action"] == "'self'"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert answer.headers["cache-control"] == "no-store"
            inline = re.findall(r"<script(?![^>]*(?:src=|application/json))|\son\w+=|javascript:", answer.text)
            assert inline == []


async def test_a_page_about_nothing_says_so():
    async with a_house() as house:
        answer = await (await house.of("ann")).get("/tasks/task_<b>x</b>")
        assert answer.status_code == 404
        assert html.unescape(answer.text).count("task_<b>x</b>") == 0 or "<b>" not in answer.text


# ── mounted ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _in_fastapi(app: Any) -> Any:
    outer = FastAPI()
    outer.mount("/deep/toolcalls", app)
    return outer


def _in_starlette(app: Any) -> Any:
    return Starlette(routes=[Mount("/deep", routes=[Mount("/toolcalls", app)])])


@pytest.mark.parametrize("mount", [_in_fastapi, _in_starlette])
async def test_it_works_wherever_it_is_mounted(mount: Any):
    async with tw.open("memory:", sweep_seconds=3600) as desk:
        booking = await a_booking(desk)
        app = desk.asgi(authenticate=by_header)
        async with serve(mount(app)) as base, httpx.AsyncClient(base_url=base, headers={"X-Person": "ann"}) as client:
            page = await client.get(f"/deep/toolcalls/tasks/{booking.task}")
            assert boot_of(page.text)["base"] == "/deep/toolcalls"
            for address in re.findall(r'(?:src|href)="(/[^"]+)"', page.text):
                assert address.startswith("/deep/toolcalls/")
                assert (await client.get(address)).status_code == 200, address
            async with client.stream("GET", "/deep/toolcalls/api/stream") as stream:
                assert stream.status_code == 200
                assert (await anext(stream.aiter_lines())).startswith("retry:")
            token = boot_of(page.text)["csrf"]
            address = f"/deep/toolcalls/api/invocations/{booking.waiting}/actions/deny"
            answer = await client.post(address, json={}, headers={"X-Toolwitness-CSRF": token})
            assert answer.status_code == 200
            described = (await client.get("/deep/toolcalls/api/openapi.json")).json()
            assert described["servers"] == [{"url": "/deep/toolcalls"}]
            assert (await client.get("/deep/toolcalls", follow_redirects=True)).status_code == 200
        await app.live.close()


async def test_a_session_that_was_opened_under_a_prefix_stays_there():
    async with tw.open("memory:", sweep_seconds=3600) as desk:
        login = LoopbackLogin(tw.Actor(id="ann"))
        app = create_app(desk.place, desk.register, login=login)
        async with serve(_in_starlette(app)) as base, httpx.AsyncClient(base_url=base) as client:
            answer = await client.get("/deep/toolcalls/inbox", params={"token": login.token})
            assert (answer.status_code, answer.headers["location"]) == (303, "/deep/toolcalls/inbox")
            cookie = next(iter(SimpleCookie(answer.headers["set-cookie"]).values()))
            assert cookie["path"] == "/deep/toolcalls"


async def test_a_mounted_desk_starts_before_its_first_answer_and_runs_what_is_approved():
    desk = tw.open("memory:", sweep_seconds=3600)
    app = desk.asgi(authenticate=by_header)
    outer = FastAPI()
    outer.mount("/toolcalls", app)
    async with serve(outer) as base, httpx.AsyncClient(base_url=base, headers={"X-Person": "ann"}) as client:
        assert (await client.get("/toolcalls/api/tasks")).json() == {"tasks": []}
        assert desk.runtime is not None
        await app.live.close()
    await desk.close()


async def test_the_stream_passes_through_what_a_host_puts_in_between():
    async with tw.open("memory:", sweep_seconds=3600) as desk:
        app = desk.asgi(authenticate=by_header)
        outer = FastAPI()
        outer.mount("/toolcalls", app)
        seen: list[str] = []

        @outer.middleware("http")
        async def noting(request: Request, call_next: Any) -> Any:
            seen.append(request.url.path)
            return await call_next(request)

        outer.add_middleware(GZipMiddleware)
        outer.add_middleware(CORSMiddleware, allow_origins=["https://app.example"])
        async with serve(outer, live=app.live) as base, httpx.AsyncClient(base_url=base, headers={"X-Person": "ann"}, timeout=20) as client:
            async with client.stream("GET", "/toolcalls/api/stream") as stream:
                lines = stream.aiter_lines()
                assert (await anext(lines)).startswith("retry:")
                booking = await a_booking(desk)
                told = [line async for line in _until(lines, "awaiting_approval")]
                assert any(booking.waiting in line for line in told)
            await until(lambda: app.live.subscribers == 0)
        assert seen == ["/toolcalls/api/stream"]


async def _until(lines: AsyncIterator[str], word: str) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if word in line:
            return
