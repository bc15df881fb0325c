"""The description of the API is valid, names every action, and fits what the API really answers."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from tests.unit.server.house import House, a_booking, a_house
from toolwitness.core.states import State
from toolwitness.server.actions import COMMANDS


async def _description(house: House) -> dict[str, Any]:
    found: dict[str, Any] = (await (await house.of("ann")).get("/api/openapi.json")).json()
    return found


def _references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*(_references(value) for value in node.values()))
    return set().union(*(_references(item) for item in node)) if isinstance(node, list) else set()


async def test_every_route_is_described_with_what_it_gives():
    async with a_house() as house:
        described = await _description(house)
        assert described["openapi"].startswith("3.1")
        routes = {
            (method, route.path)
            for route in house.app.api.routes
            for method in getattr(route, "methods", ())
            if route.path.startswith("/api/") and route.path != "/api/openapi.json" and method != "HEAD"
        }  # fmt: skip  # one comprehension
        actual = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
        assert actual == routes | {("GET", "/api/stream")}
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                assert {"summary", "operationId"} <= set(operation)
                assert operation["responses"]["200"]["content"], (method, path)
                assert "401" in operation["responses"]


async def test_every_reference_leads_somewhere_and_every_shape_is_a_schema():
    async with a_house() as house:
        described = await _description(house)
        shapes = described["components"]["schemas"]
        assert {ref.removeprefix("#/components/schemas/") for ref in _references(described)} <= set(shapes)
        for name, shape in shapes.items():
            jsonschema.Draft202012Validator.check_schema(shape)
            assert name
        assert shapes["State"]["enum"] == [str(state) for state in State]


async def test_every_action_is_named():
    async with a_house() as house:
        operation = (await _description(house))["paths"]["/api/invocations/{invocation_id}/actions/{action}"]["post"]
        [action] = [p for p in operation["parameters"] if p["name"] == "action"]
        assert action["schema"]["enum"] == list(COMMANDS)
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        assert body == {"$ref": "#/components/schemas/ActionBody"}


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/api/session", "/api/session"),
        ("/api/tasks", "/api/tasks"),
        ("/api/tasks/{task_id}", "/api/tasks/{task}"),
        ("/api/tasks/{task_id}", "/api/tasks/{task}?view=card"),
        ("/api/invocations/{invocation_id}", "/api/invocations/{waiting}"),
        ("/api/invocations/{invocation_id}", "/api/invocations/{ended}"),
        ("/api/invocations/{invocation_id}", "/api/invocations/{ended}?view=card"),
        ("/api/invocations/{invocation_id}/events", "/api/invocations/{ended}/events"),
        ("/api/approvals", "/api/approvals"),
        ("/api/approvals", "/api/approvals?view=card"),
    ],
)
async def test_what_is_answered_fits_its_description(path: str, address: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        described = await _description(house)
        schema = described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        answer = await (await house.of("ann")).get(address.format(task=booking.task, waiting=booking.waiting, ended=booking.ended))
        validator = jsonschema.Draft202012Validator({**schema, "components": described["components"]})
        assert [error.message for error in validator.iter_errors(answer.json())] == []


async def test_what_an_action_answers_fits_its_description():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        described = await _description(house)
        operation = described["paths"]["/api/invocations/{invocation_id}/actions/{action}"]["post"]
        for person, status, kind in (("eve", "409", "application/problem+json"), ("ann", "200", "application/json")):
            answer = await house.act(person, booking.waiting, "approve")
            assert str(answer.status_code) == status
            schema = operation["responses"][status]["content"][kind]["schema"]
            validator = jsonschema.Draft202012Validator({**schema, "components": described["components"]})
            assert [error.message for error in validator.iter_errors(answer.json())] == []
