"""Every route that reads gives what the actor may see, and nothing to anybody else."""

from __future__ import annotations

import httpx
import pytest

from tests.unit.server.house import a_booking, a_house

READING = ["/api/session", "/api/tasks", "/api/tasks/{task}", "/api/tasks/{task}?view=card", "/api/invocations/{waiting}",
           "/api/invocations/{waiting}?view=card", "/api/invocations/{waiting}/events", "/api/approvals", "/api/approvals?view=card",
           "/api/openapi.json", "/api/stream"]  # fmt: skip  # addresses
PAGES = ["/", "/inbox", "/tasks/{task}", "/invocations/{waiting}"]
WRITING = ["/api/invocations/{waiting}/actions/approve", "/api/decisions", "/api/events", "/api/receipts"]
ONE_TASK = ["/api/tasks/{task}", "/api/tasks/{task}?view=card", "/api/invocations/{waiting}", "/api/invocations/{waiting}?view=card",
            "/api/invocations/{waiting}/events"]  # fmt: skip  # addresses


def problem_of(answer: httpx.Response) -> dict[str, object]:
    """Read a problem document, and see that it is one."""
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == answer.status_code
    assert {"type", "title", "code"} <= set(found)
    return found


async def test_everything_that_is_recorded_can_be_read():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        ann = await house.of("ann")
        tasks = (await ann.get("/api/tasks")).json()["tasks"]
        assert [(row["id"], row["title"], row["waiting"]) for row in tasks] == [(booking.task, "Book the trip", 1)]
        task = (await ann.get(f"/api/tasks/{booking.task}")).json()
        assert {i["invocationId"] for i in task["invocations"]} == {booking.waiting, booking.ended}
        document = (await ann.get(f"/api/invocations/{booking.waiting}")).json()
        assert (document["contractVersion"], document["state"]) == ("tool-call-ui/1", "awaiting_approval")
        assert {"approve", "deny", "withdraw"} <= set(document["permittedActions"])
        card = (await ann.get(f"/api/invocations/{booking.waiting}?view=card")).json()
        assert (card["title"], card["state"]) == ("Reserve it-7", "awaiting_approval")
        whole = (await ann.get(f"/api/tasks/{booking.task}?view=card")).json()
        assert [c["id"] for c in whole["cards"]] == [booking.waiting, booking.ended]
        events = (await ann.get(f"/api/invocations/{booking.waiting}/events")).json()["events"]
        assert [e["type"] for e in events] == ["toolcall.invocation.proposed", "toolcall.approval.requested"]
        assert [d["identity"]["invocationId"] for d in (await ann.get("/api/approvals")).json()["approvals"]] == [booking.waiting]
        assert [c["id"] for c in (await ann.get("/api/approvals?view=card")).json()["items"]] == [booking.waiting]
        assert (await ann.get("/api/session")).json()["actor"] == {"id": "ann", "name": "Ann Arbor", "roles": ["finance"]}


async def test_what_is_permitted_depends_on_who_asks():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        eve = (await (await house.of("eve")).get(f"/api/invocations/{booking.waiting}")).json()
        assert "approve" not in eve["permittedActions"]


@pytest.mark.parametrize("address", [*READING, *PAGES])
async def test_nothing_is_readable_without_an_actor(address: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        answer = await house.bare().get(address.format(task=booking.task, waiting=booking.waiting))
        assert answer.status_code == 401
        assert booking.waiting not in answer.text and "Reserve" not in answer.text
        if address in READING:
            assert problem_of(answer)["code"] == "no-actor"


@pytest.mark.parametrize("address", WRITING)
async def test_nothing_is_recorded_without_an_actor(address: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        before = await house.desk.ledger.head()
        answer = await house.bare().post(address.format(waiting=booking.waiting), json={})
        assert (answer.status_code, problem_of(answer)["code"]) == (401, "no-actor")
        assert await house.desk.ledger.head() == before


async def test_without_authenticate_nothing_is_readable():
    async with a_house(authenticate=None) as house:
        answer = await house.bare(**{"X-Person": "ann"}).get("/api/tasks")
        assert (answer.status_code, problem_of(answer)["code"]) == (401, "no-actor")


async def test_the_elements_are_public():
    async with a_house() as house:
        for name, kind in (("toolwitness.js", "text/javascript"), ("toolwitness.css", "text/css")):
            answer = await house.bare().get(f"/static/{name}")
            assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)
            again = await house.bare().get(f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("name", ["..%2Fapp.py", "app.py", "toolwitness.js.map", "..", "%2e%2e/%2e%2e/app.py", "x.js"])
async def test_only_the_elements_are_public(name: str):
    async with a_house() as house:
        answer = await house.bare().get(f"/static/{name}")
        assert answer.status_code in {401, 404}
        assert "def " not in answer.text


# ── tenants ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("address", ONE_TASK)
async def test_what_belongs_to_another_tenant_is_not_there(address: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        olga = await house.of("olga")
        answer = await olga.get(address.format(task=booking.task, waiting=booking.waiting))
        missing = await olga.get(address.format(task="task_none", waiting="inv_none"))
        assert (answer.status_code, problem_of(answer)["code"]) == (404, "unknown-id")
        assert missing.json() | {"detail": ""} == answer.json() | {"detail": ""}, "what is hidden and what is missing look alike"


async def test_lists_hold_nothing_of_another_tenant():
    async with a_house() as house:
        await a_booking(house.desk)
        olga = await house.of("olga")
        assert (await olga.get("/api/tasks")).json() == {"tasks": []}
        assert (await olga.get("/api/approvals")).json() == {"approvals": []}
        assert (await olga.get("/api/approvals?view=card")).json()["items"] == []
        assert '"waiting":0' in (await olga.get("/")).text


async def test_nothing_can_be_done_to_what_belongs_to_another_tenant():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        before = await house.desk.ledger.head()
        for action in ("approve", "deny", "withdraw", "dismiss", "request_cancellation", "waive_child", "submit", "reconcile"):
            answer = await house.act("olga", booking.waiting, action, reason="mine now", fields={"conclusion": "x"})
            assert (answer.status_code, problem_of(answer)["code"]) == (404, "unknown-id"), action
        assert await house.desk.ledger.head() == before


# ── problems ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("method", "address", "status", "code"),
    [
        ("GET", "/api/tasks/none", 404, "unknown-id"),
        ("GET", "/api/invocations/none", 404, "unknown-id"),
        ("GET", "/api/invocations/none/events", 404, "unknown-id"),
        ("GET", "/api/tasks?view=card&x=1", 200, ""),
        ("GET", "/api/approvals?view=picture", 422, "invalid-input"),
        ("GET", f"/api/tasks/{'x' * 201}", 422, "invalid-input"),
        ("GET", "/api/nothing", 404, "http"),
        ("DELETE", "/api/tasks", 405, "http"),
        ("POST", "/api/stream", 405, "http"),
        ("POST", "/api/invocations/none/actions/approve", 404, "unknown-id"),
    ],
)  # fmt: skip  # a table
async def test_every_error_is_a_problem_document(method: str, address: str, status: int, code: str):
    async with a_house() as house:
        answer = await (await house.of("ann")).request(method, address)
        assert answer.status_code == status
        if code:
            found = problem_of(answer)
            assert found["code"] == code
            assert code != "invalid-input" or found["field"]
