"""A task says what its parts add up to, never more, and an inbox says whose turn it is."""

from typing import Any

from tests.unit.presentation.scenarios import trip
from tests.unit.presentation.scene import NOON, Scene, TaskScene, at
from toolwitness.core.verdicts import Control
from toolwitness.presentation.cards import display_order, inbox, labels, task_card, task_row
from toolwitness.presentation.terminal import draw_inbox, draw_rows, draw_task
from toolwitness.presentation.terminal_text import Ink, Screen

APPROVE = Control(action="approve", enabled=True, rule="eligible")


def drawn(task: TaskScene, **more: Any) -> dict[str, Any]:
    return task_card(task.task, task.records, events=task.events, values=task.values, now=NOON, **more)


def test_a_task_counts_its_required_parts_and_says_what_waits_for_whom() -> None:
    card = drawn(trip(), controls={"inv_book": [APPROVE]})
    assert (card["state"], card["label"], card["tone"]) == ("partially_complete", "Partially complete", "live")
    assert card["summary"] == "1 of 5 required parts complete · 1 waits for you · 1 asked to stop"
    assert card["subtitle"] == "Opened ⟦2026-11-30T12:00:00.000Z⟧ · task_1"


def test_who_may_not_answer_is_not_told_that_it_waits_for_them() -> None:
    assert "1 waits for a person" in drawn(trip())["summary"]


def test_attempts_stand_together_and_parts_under_what_they_are_part_of() -> None:
    card = drawn(trip())
    assert [(c["id"], c["depth"]) for c in card["cards"]] == [
        ("inv_flight", 0), ("inv_hotel", 0), ("inv_hotel_2", 0), ("inv_rail", 0), ("inv_part", 1), ("inv_book", 0), ("inv_summary", 0),
    ]  # fmt: skip  # one list


def test_a_blocked_call_names_the_latest_attempt_that_it_waits_for() -> None:
    card = next(c for c in drawn(trip())["cards"] if c["id"] == "inv_summary")
    assert [b["text"] for b in card["blocked"]] == ["Waits for Search hotels (attempt 2)", "Waits for Search trains"]


def test_invocations_are_named_by_purpose_and_by_attempt_where_there_are_several() -> None:
    named = labels(trip().records)
    assert named["inv_hotel"] == "Search hotels (attempt 1)"
    assert named["inv_flight"] == "Search flights"


def test_a_waiver_is_told_with_who_and_why_and_completes_nothing_silently() -> None:
    task = trip()
    ref = task.says("child.waived", 20, actor="ann", child="inv_rail", reason="we fly")
    finding = drawn(task, viewer="ann")["findings"][0]
    assert finding["headline"] == "Search trains is not needed any more."
    assert finding["detail"] == "Waived ⟦2026-11-30T12:00:20.000Z⟧ by you: we fly"
    assert finding["evidence"] == [ref]


def test_a_violation_of_a_part_stands_at_the_task_too() -> None:
    task = TaskScene()
    call = task.call("inv_1")
    call.proposed(1)
    call.started(2)
    call.says("execution.started", 3, attempt=1, executor="again")
    assert [f["headline"] for f in drawn(task)["findings"]] == ["Reserve itinerary it-7: The same attempt started twice."]


def test_a_task_without_parts_says_so() -> None:
    assert drawn(TaskScene())["summary"] == "No part is recorded yet"


def test_a_task_offers_what_policy_offers_at_it() -> None:
    waive = Control(action="waive_child", enabled=True, rule="child-ended", binding={"invocationId": "inv_rail"})
    assert drawn(trip(), task_controls=[waive])["controls"][0]["label"] == "Waive Search trains"


def test_what_policy_redacts_and_how_it_is_undone_goes_by_the_call_and_not_by_the_tool() -> None:
    task = TaskScene()
    for name in ("inv_a", "inv_b"):
        task.call(name).proposed(1, inputs='{"pin":"1234"}')
    undo = Control(action="reverse", enabled=True, rule="may-reverse")
    both = {"inv_a": [undo], "inv_b": [undo]}
    first, second = drawn(task, redact={"inv_a": ["/pin"]}, inverses={"inv_b": "refund"}, controls=both)["cards"]
    assert ("1234" in str(first), "1234" in str(second)) == (False, True)
    assert (first["controls"][0]["label"], second["controls"][0]["label"]) == ("Undo", "Undo with refund")


def test_a_row_says_when_it_was_last_touched_and_how_much_waits() -> None:
    task = trip()
    row = task_row(task.task, task.records)
    assert (row["at"], row["waiting"], row["state"]) == ("2026-11-30T12:00:11.000Z", 1, "partially_complete")
    assert task_row(TaskScene("").task, {})["at"] is None


def test_an_order_exists_even_for_parts_that_name_each_other() -> None:
    task = TaskScene()
    for name, parent in (("inv_a", "inv_b"), ("inv_b", "inv_a"), ("inv_c", "inv_c")):
        task.call(name).proposed(1, parent=parent)
    assert {record.id for record, _ in display_order(task.records)} == {"inv_a", "inv_b", "inv_c"}


def waiting(name: str, *, expires: float, enabled: str = "yes") -> dict[str, Any]:
    scene = Scene(name)
    scene.proposed(1)
    scene.asked(2, expires_at=at(expires))
    return scene.card(controls=[Control(action="approve", enabled=enabled == "yes", rule="eligible", reason="no")])


def test_an_inbox_has_what_is_mine_first_and_then_what_lapses_first() -> None:
    running = Scene("inv_running")
    running.proposed(1)
    running.started(2)
    cards = [waiting("a", expires=90, enabled="no"), waiting("b", expires=99), waiting("c", expires=50), running.card()]
    box = inbox(cards)
    assert [card["id"] for card in box["items"]] == ["c", "b", "a"]
    assert box["title"] == "3 calls wait for a decision, 2 for yours"


def test_an_inbox_with_one_call_counts_one() -> None:
    assert inbox([waiting("a", expires=9, enabled="no")])["title"] == "1 call waits for a decision, 0 for yours"


def test_an_empty_inbox_says_that_nothing_waits() -> None:
    box = inbox([])
    assert (box["title"], box["items"], box["empty"]) == ("Inbox", [], "Nothing waits for a decision.")
    assert draw_inbox(box, Screen()) == "Nothing waits for a decision.\n"


def test_a_terminal_draws_a_task_with_its_parts_set_in() -> None:
    text = draw_task(drawn(trip()), Screen(now=NOON))
    assert "◐ Partially complete  Book the trip you chose\n  Opened 12:00:00 · task_1\n  1 of 5 required parts complete" in text
    assert "\n  ○ Proposed  Read page 2\n    search_page" in text
    assert text.endswith("Times are in UTC.\n")


def test_a_terminal_draws_an_inbox() -> None:
    text = draw_inbox(inbox([waiting("a", expires=90)]), Screen(now=NOON, ink=Ink.ANSI))
    assert text.startswith("\x1b[1m1 call waits for a decision, 1 for yours\x1b[0m\n")
    assert "[Approve]" in text


def test_a_terminal_draws_a_list_of_tasks_or_says_that_there_is_none() -> None:
    row = task_row(trip().task, trip().records)
    text = draw_rows([row, {**row, "at": None}], Screen(now=NOON))
    assert "1 of 5 required parts complete · 1 waits for a person · 1 asked to stop ·\n  12:00:11 · task_1\n" in text
    assert draw_rows([], Screen()) == "No task is recorded yet.\n"
