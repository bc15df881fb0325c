"""The story does not depend on how fast a machine is, and a script that waits in vain says so."""

from pathlib import Path

import pytest

from tests.unit.cli.terminals import a_process, document, toolwitness
from tripdesk.person import GaveUp, Person
from tripdesk.world import World, hotels, itineraries


@pytest.mark.parametrize("pace", ["0.02", "0.11"])
def test_the_story_ends_the_same_way_at_any_pace(tmp_path: Path, pace: str) -> None:
    told = document(a_process("demo", "--autopilot", "--json", "--port", "0", "--pace", pace, folder=tmp_path))
    assert {task["task"]["state"] for task in told["tasks"]} == {"succeeded"}


def test_the_story_is_told_in_memory_too(tmp_path: Path) -> None:
    finished = a_process("demo", "--autopilot", "--port", "0", "--pace", "0.02", "--db", "memory:", folder=tmp_path)
    assert (finished.returncode, finished.stdout) == (0, "The story is over: every call has ended, and the trip is complete.\n")
    assert list(tmp_path.iterdir()) == []


def test_the_record_of_the_story_is_kept_where_it_was_asked_for_and_verifies(tmp_path: Path) -> None:
    finished = a_process("demo", "--autopilot", "--port", "0", "--pace", "0.02", "--db", "trip.db", folder=tmp_path)
    assert finished.returncode == 0
    assert toolwitness("verify", "--db", "trip.db", folder=tmp_path).returncode == 0
    assert [row["state"] for row in document(toolwitness("show", "--json", "--db", "trip.db", folder=tmp_path))["tasks"]] == [
        "succeeded"
    ] * 2


def test_a_story_that_stops_ends_with_1_and_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def impatient(_person: Person, *_: object) -> None:
        raise GaveUp("waited 60 s for the trip to be complete")

    monkeypatch.setattr("toolwitness.cli.demo.click_through", impatient)
    stopped = toolwitness("demo", "--autopilot", "--json", "--port", "0", "--pace", "0.02", "--db", "memory:", folder=tmp_path)
    assert stopped.returncode == 1
    assert document(stopped)["error"]["code"] == "story-stopped"
    assert stopped.stderr.splitlines()[0] == "toolwitness: The story stopped: waited 60 s for the trip to be complete"


class Deaf(Person):
    """Somebody whose every request is answered with the same document."""

    def __init__(self, **answer: object) -> None:
        super().__init__("http://localhost", "key", say=lambda _: None)
        self.answer = answer

    def _send(self, method: str, path: str, body: object) -> dict[str, object]:
        return self.answer


async def test_a_person_does_not_wait_for_what_cannot_come_any_more() -> None:
    with pytest.raises(GaveUp, match="'Search hotels' was to be running, and is failed for good"):
        await Deaf(state="failed", purpose="Search hotels").until("inv_1", "running")


async def test_a_click_that_is_refused_and_one_that_should_have_been_stop_the_story() -> None:
    with pytest.raises(GaveUp, match="approve of inv_1 was refused: too late"):
        await Deaf(refused=True, detail="too late").click("inv_1", "approve")
    with pytest.raises(GaveUp, match="approve of inv_1 was accepted, and must not be"):
        await Deaf(accepted=True).click_in_vain("inv_1", "approve")


def test_the_hotel_service_is_down_the_first_time_only() -> None:
    world = World()
    assert [world.hotels_are_up() for _ in range(3)] == [False, True, True]


def test_the_cash_desk_keeps_what_it_took_and_numbers_it() -> None:
    world = World(pace=0)
    world.charge("412.50", "EUR", "Nordwind Travel")
    world.charge_slowly("50.00", "EUR", "Nordwind Travel", asked_to_stop=lambda: False)
    assert [(charge["reference"], charge["amount"]) for charge in world.charges] == [("NWP-8800", "412.50"), ("NWP-8801", "50.00")]


def test_the_answers_of_the_providers_are_as_awkward_as_real_ones() -> None:
    found = itineraries()
    assert sum(len(option["legs"]) for option in found["options"]) == 14
    assert len(found["fare_rules"]) > 2_000
    assert any(leg["warnings"] for option in found["options"] for leg in option["legs"])
    assert all(int(float(option["booking_reference"])) != option["booking_reference"] for option in found["options"]), "no double holds it"
    assert {hotel["name"] for hotel in hotels()["hotels"]} == {"Grand Hôtel d’Oslo", "فندق الشمال"}
