"""Who may come in, and which requests prove that they are the actor's own."""

from __future__ import annotations

import logging
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

import toolwitness as tw
from tests.unit.server.house import House, a_booking, a_house
from tests.unit.server.test_reading import problem_of
from toolwitness.cli.serve import serving
from toolwitness.core.errors import Unavailable
from toolwitness.core.verdicts import Actor
from toolwitness.server.app import create_app

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))
POSTS = ["/api/invocations/{waiting}/actions/approve", "/api/decisions", "/api/events", "/api/receipts"]


def by_cookie(request: Request) -> Actor | None:
    """Know a session of the user's own app by its cookie."""
    return ANN if request.cookies.get("session") == "s-1" else None


# ── authenticate= ───────────────────────────────────────────────────────────────────────────────────────────────────


def _sync(request: Request) -> Actor:
    return ANN


async def _async(request: Request) -> Actor:
    return ANN


@pytest.mark.parametrize("authenticate", [_sync, _async])
async def test_authenticate_may_be_sync_or_async(authenticate: Any):
    async with a_house(authenticate=authenticate) as house:
        assert (await house.bare().get("/api/session")).json()["actor"]["id"] == "ann"


def _nobody(request: Request) -> None:
    return None


def _nameless(request: Request) -> Actor:
    return tw.Actor(id="")


def _denies(request: Request) -> Actor:
    raise HTTPException(401, "Sign in first.", headers={"WWW-Authenticate": "Bearer"})


@pytest.mark.parametrize("authenticate", [_nobody, _nameless, _denies])
@pytest.mark.parametrize("address", ["/api/tasks", "/api/stream"])
async def test_who_is_not_recognised_is_turned_away(authenticate: Any, address: str):
    async with a_house(authenticate=authenticate) as house:
        answer = await house.bare().get(address)
        assert answer.status_code == 401
        problem_of(answer)
        assert authenticate is not _denies or answer.headers["www-authenticate"] == "Bearer"


def _breaks(request: Request) -> Actor:
    raise RuntimeError("password=hunter2 in the session store")


def _mistaken(request: Request) -> Any:
    return {"id": "ann"}


def _letters(request: Request) -> Actor:
    return tw.Actor(id="ann", roles="finance")  # type: ignore[arg-type]  # a mistake that is easily made: five letters are no roles


@pytest.mark.parametrize("authenticate", [_breaks, _mistaken, _letters])
@pytest.mark.parametrize("address", ["/api/tasks", "/api/stream", "/"])
async def test_an_authenticate_that_breaks_lets_nobody_in_and_tells_nothing(
    authenticate: Any, address: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.ERROR, "toolwitness.server"):
        async with a_house(authenticate=authenticate) as house:
            answer = await house.bare().get(address)
    assert (answer.status_code, problem_of(answer)["code"]) == (500, "unforeseen")
    assert "hunter2" not in answer.text and "Traceback" not in answer.text
    assert len(caplog.records) == 1, "whoever runs the server is told once"


async def test_roles_in_any_collection_will_do():
    async with a_house(authenticate=lambda _: tw.Actor(id="ann", roles=["finance"])) as house:  # type: ignore[arg-type]  # a list is near enough
        assert (await house.bare().get("/api/session")).json()["actor"]["roles"] == ["finance"]


async def test_a_ledger_that_cannot_be_reached_is_said_so():
    async with a_house() as house:

        async def locked(*_: object, **__: object) -> None:
            raise Unavailable("The file is locked by another process.", remedy="Try again.")

        house.desk.ledger.tasks = locked  # type: ignore[method-assign]  # the fault that is tested
        answer = await (await house.of("ann")).get("/api/tasks")
        assert (answer.status_code, problem_of(answer)["code"]) == (503, "unavailable")


# ── cross-site ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _post(house: House, address: str, **headers: str) -> httpx.Response:
    content = headers.pop("content", "{}")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    kept = {n: v.encode("latin-1") for n, v in ({"Content-Type": "application/json", "Cookie": "session=s-1"} | named).items()}
    return await house.bare().post(address, content=content, headers=kept)  # type: ignore[arg-type]  # bytes, so that any character can be sent


async def _token(house: House) -> str:
    answer = await house.bare().get("/api/session", headers={"Cookie": "session=s-1"})
    token: str = answer.json()["csrf"]
    return token


@pytest.mark.parametrize("address", POSTS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X_Toolwitness_CSRF": ""},
        {"X_Toolwitness_CSRF": "0" * 64},
        {"X_Toolwitness_CSRF": "\xe9\xe9"},
        {"X_Toolwitness_CSRF": "right", "Sec_Fetch_Site": "cross-site"},
        {"X_Toolwitness_CSRF": "right", "Sec_Fetch_Site": "same-site"},
        {"X_Toolwitness_CSRF": "right", "Origin": "https://evil.example"},
        {"X_Toolwitness_CSRF": "right", "Origin": "null"},
        {"Authorization": "Basic YW5uOng="},
        {"Authorization": "Negotiate abc"},
    ],
)
async def test_a_change_that_another_site_may_have_sent_is_refused(address: str, headers: dict[str, str]):
    async with a_house(authenticate=by_cookie) as house:
        booking = await a_booking(house.desk)
        before = await house.desk.ledger.head()
        if headers.get("X_Toolwitness_CSRF") == "right":
            headers = headers | {"X_Toolwitness_CSRF": await _token(house)}
        answer = await _post(house, address.format(waiting=booking.waiting), **headers)
        assert (answer.status_code, problem_of(answer)["code"]) == (403, "cross-site")
        assert await house.desk.ledger.head() == before


@pytest.mark.parametrize("address", POSTS)
@pytest.mark.parametrize(
    "kind", ["text/plain", "text/plain;charset=application/json", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
async def test_what_a_form_of_another_site_can_send_is_no_json(address: str, kind: str):
    async with a_house(authenticate=by_cookie) as house:
        booking = await a_booking(house.desk)
        before = await house.desk.ledger.head()
        answer = await _post(house, address.format(waiting=booking.waiting), Content_Type=kind, X_Toolwitness_CSRF=await _token(house))
        assert (answer.status_code, problem_of(answer)["code"]) == (415, "not-json")
        assert await house.desk.ledger.head() == before


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Toolwitness_CSRF": "right"},
        {"X_Toolwitness_CSRF": "right", "Sec_Fetch_Site": "same-origin"},
        {"X_Toolwitness_CSRF": "right", "Origin": "own"},
        {"X_Toolwitness_CSRF": "right", "Sec_Fetch_Site": "same-origin", "Origin": "https://name-in-front-of-the-proxy.example"},
        {"Authorization": "Bearer abc"},
        {"Authorization": "bearer abc", "Origin": "https://app.example", "Sec_Fetch_Site": "cross-site"},
    ],
)
async def test_a_change_that_is_the_actors_own_is_taken(headers: dict[str, str]):
    async with a_house(authenticate=by_cookie) as house:
        booking = await a_booking(house.desk)
        replaced = {"right": await _token(house), "own": house.base}
        sent = {name: replaced.get(value, value) for name, value in headers.items()}
        answer = await _post(house, f"/api/invocations/{booking.waiting}/actions/approve", **sent)
        assert answer.status_code == 200, answer.text


async def test_a_click_needs_no_body():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        answer = await (await house.of("ann")).post(f"/api/invocations/{booking.waiting}/actions/deny")
        assert answer.status_code == 200


async def test_the_token_of_one_is_not_the_token_of_another():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        token = (await house.of("bob")).headers["X-Toolwitness-CSRF"]
        client = house.bare(**{"X-Person": "ann", "X-Toolwitness-CSRF": token})
        assert (await client.post(f"/api/invocations/{booking.waiting}/actions/approve")).status_code == 403


async def test_processes_with_the_same_secret_know_each_others_tokens():
    async with tw.open("memory:", sweep_seconds=3600) as desk:
        tokens = []
        for secret in ("s" * 32, "s" * 32, "t" * 32):
            app = desk.asgi(authenticate=_sync, secret=secret)
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                tokens.append((await client.get("/api/session")).json()["csrf"])
        assert tokens[0] == tokens[1] != tokens[2]


# ── bodies ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("address", POSTS)
@pytest.mark.parametrize("how", ["with its length", "in chunks"])
async def test_a_body_larger_than_four_mebibytes_is_refused(address: str, how: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        before = await house.desk.ledger.head()
        body = b"[" + b" " * (4 * 1024 * 1024) + b"]"

        async def chunks() -> Any:
            for start in range(0, len(body), 65536):
                yield body[start : start + 65536]

        client = await house.of("ann")
        content = body if how == "with its length" else chunks()
        answer = await client.post(address.format(waiting=booking.waiting), content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, problem_of(answer)["code"]) == (413, "too-large")
        assert await house.desk.ledger.head() == before


# ── the server on its own machine ───────────────────────────────────────────────────────────────────────────────────


async def test_the_printed_address_opens_one_session_once():
    async with tw.open("memory:", sweep_seconds=3600) as desk, serving(desk, ANN) as at, httpx.AsyncClient() as client:
        first = await client.get(at.url)
        assert (first.status_code, first.headers["location"]) == (303, "/")
        cookie = next(iter(SimpleCookie(first.headers["set-cookie"]).values()))
        assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["secure"]) == (True, "lax", "/", "")
        assert cookie.key == f"toolwitness_session_{at.base.rpartition(':')[2]}", "two servers on one machine do not sign each other out"
        assert (await client.get(at.base)).status_code == 200
        async with httpx.AsyncClient() as other:
            again = await other.get(at.url)
            assert again.status_code == 401
            assert "set-cookie" not in again.headers
            assert (await other.get(at.base)).status_code == 401
        assert (await client.get(at.url)).status_code == 303, "whoever has the session may use the address again"


@pytest.mark.parametrize("token", ["", "x", "é", "%00", "ﾃ" * 40])
async def test_another_token_opens_nothing(token: str):
    async with tw.open("memory:", sweep_seconds=3600) as desk, serving(desk, ANN) as at, httpx.AsyncClient() as client:
        answer = await client.get(f"{at.base}/", params={"token": token})
        assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
        assert (await client.get(at.url)).status_code == 303, "a wrong token does not spend the right one"


async def test_programs_come_in_with_the_key():
    async with tw.open("memory:", sweep_seconds=3600) as desk, serving(desk, ANN) as at, httpx.AsyncClient(base_url=at.base) as client:
        for given, expected in ((f"Bearer {at.key}", 200), ("Bearer x", 401), (f"Basic {at.key}", 401), ("Bearer é".encode(), 401)):
            actual = (await client.get("/api/tasks", headers={"Authorization": given})).status_code  # type: ignore[dict-item]  # bytes too
            assert actual == expected, given


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::1", "10.0.0.1"])
async def test_a_name_that_resolves_to_this_machine_is_not_us(host: str):
    async with tw.open("memory:", sweep_seconds=3600) as desk, serving(desk, ANN) as at, httpx.AsyncClient(base_url=at.base) as client:
        headers = {"Authorization": f"Bearer {at.key}", "Host": host}
        for address in ("/api/tasks", "/", "/api/stream", "/static/toolwitness.js"):
            answer = await client.get(address, headers=headers)
            assert answer.status_code in {400, 421}, "refused by the server itself, or by us"
            assert answer.status_code == 400 or problem_of(answer)["code"] == "wrong-host"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"])
async def test_our_own_names_are_us(name: str):
    async with tw.open("memory:", sweep_seconds=3600) as desk, serving(desk, ANN) as at, httpx.AsyncClient(base_url=at.base) as client:
        port = at.base.rpartition(":")[2]
        headers = {"Authorization": f"Bearer {at.key}", "Host": f"{name}:{port}"}
        assert (await client.get("/api/tasks", headers=headers)).status_code == 200


async def test_the_page_says_what_to_do_when_nobody_is_signed_in():
    async with tw.open("memory:", sweep_seconds=3600) as desk, serving(desk, ANN) as at, httpx.AsyncClient(base_url=at.base) as client:
        answer = await client.get("/")
        assert (answer.status_code, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
        assert "<h1>Nobody is signed in here</h1>" in answer.text
        assert "script" not in answer.text


async def test_a_desk_that_cannot_start_says_so_and_nothing_else_is_spoken():
    desk = tw.open("memory:", sweep_seconds=3600)

    async def start() -> None:
        raise Unavailable("The file is locked by another process.")

    app: Any = create_app(desk.place, desk.register, authenticate=_sync, start=start)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        for address in ("/api/tasks", "/", "/api/stream"):
            answer = await client.get(address)
            assert (answer.status_code, problem_of(answer)["code"]) == (503, "unavailable"), answer.text
    told: list[Any] = []

    async def send(message: Any) -> None:
        told.append(message)

    await app({"type": "websocket", "path": "/"}, None, send)
    assert told == [{"type": "websocket.close", "code": 1003}]
