"""The rail shows what was seen, what was asked, what was refused, and what is missing, each where it belongs."""

from tests.unit.presentation.scene import NOON, Scene, at
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.presentation.cards import invocation_card


def rail(scene: Scene) -> list[tuple[str, str]]:
    return [(row["mark"], row["text"]) for row in scene.card()["timeline"]["rows"]]


def test_a_gap_stands_before_the_event_that_shows_it() -> None:
    scene = Scene()
    scene.proposed(0, policy_version="")
    scene.says("execution.started", 1, attempt=1, executor="w")
    assert [mark for mark, _ in rail(scene)] == ["fact", "gap", "fact"]
    row = scene.card()["timeline"]["rows"][1]
    assert row["text"].startswith("No acceptance recorded")
    assert row["detail"] == [{"term": "shown by", "text": scene.recorded[1].event.ref}]
    assert (row["at"], row["ref"], row["owner"]) == (None, None, "")


def test_gaps_whose_evidence_is_not_here_stand_first() -> None:
    scene = Scene()
    scene.says("execution.started", 1, attempt=1, executor="w")
    card = invocation_card(scene.record, events=[], now=NOON)
    assert [row["mark"] for row in card["timeline"]["rows"]] == ["gap", "gap"]
    assert card["timeline"]["title"] == "Evidence (2 gaps)"


def test_the_title_counts_events_and_says_what_it_counts() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    for order in range(1, 11):
        scene.says("output.emitted", 2, order=order, output="x")
    scene.says("cancellation.requested", 3, actor="ann", scope="s")
    assert scene.card()["timeline"]["title"] == "Evidence (15 facts, 1 request)"


def test_long_runs_are_one_row_that_keeps_every_reference() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    refs = [scene.says("progress.reported", 2 + order, order=order, text=f"step {order}") for order in range(1, 6)]
    beats = [scene.says("execution.heartbeat", 9, attempt=1, lease="8c1") for _ in range(4)]
    *_, progress, beat = scene.card()["timeline"]["rows"]
    assert progress["text"] == "Progress 1 to 5 (5 reports); the last: Progress 5: step 5"
    assert (progress["refs"], progress["ref"]) == (refs, refs[-1])
    assert progress["detail"][0] == {"term": "first", "text": f"⟦2026-11-30T12:00:03.000Z⟧ {refs[0]}"}
    assert beat["text"] == "Still held under lease 8c1 (4 reports)"
    assert beat["refs"] == beats


def test_short_runs_stand_as_they_are() -> None:
    scene = Scene()
    scene.proposed(0)
    for order in range(1, 4):
        scene.says("output.emitted", 2, order=order, output="x", channel="stderr")
    assert [text for _, text in rail(scene)][-3:] == ["Output 1 on stderr", "Output 2 on stderr", "Output 3 on stderr"]


def test_what_is_refused_says_why() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.claimed", 1, permit="p", attempt=1, _refusal="duplicate: taken at 2026-11-30T12:00:00Z")
    mark, text = rail(scene)[-1]
    assert (mark, text) == ("refused", "The permit to start was taken. Refused: duplicate: taken at ⟦2026-11-30T12:00:00.000Z⟧")


def test_what_is_not_whole_says_what_it_lacks() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("execution.succeeded", 1, summary="nice")
    assert rail(scene)[-1] == ("fact", "Succeeded: nice. It lacks completed_at, result|result_ref and moves nothing")


def test_a_report_that_was_held_and_let_go_is_a_fact_that_remembers_it() -> None:
    scene = Scene()
    scene.proposed(0, policy_version="")
    scene.says("output.emitted", 2, order=2, output="b", _sequence=2)
    assert rail(scene)[-2:] == [("gap", "Number 1 of test has not arrived; what follows it waits"), ("held", "Output 2")]
    scene.says("output.emitted", 1, order=1, output="a", _sequence=1)
    assert [mark for mark, _ in rail(scene) if mark != "gap"] == ["fact", "fact", "fact"]
    held = next(row for row in scene.card()["timeline"]["rows"] if row["text"] == "Output 2")
    assert {"term": "verdict", "text": "held: sequence: number 1 of test has not arrived"} in held["detail"]


def test_held_reports_that_are_not_here_leave_their_gap() -> None:
    scene = Scene()
    scene.says("output.emitted", 2, order=2, output="b", _sequence=2)
    card = invocation_card(scene.record, events=[], now=NOON)
    assert [row["mark"] for row in card["timeline"]["rows"]] == ["gap"]


def test_where_an_event_came_from_is_one_step_away() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("effect.observed", None, effect="x", _sequence=1, _adapter="pydantic-ai@1#tool_end", _source="urn:x")
    detail = {row["term"]: row["text"] for row in scene.card()["timeline"]["rows"][-1]["detail"]}
    assert detail["source's time"] == "none given"
    assert (detail["adapter"], detail["source"], detail["source's number"]) == ("pydantic-ai@1#tool_end", "urn:x", "1")


def test_an_unknown_end_is_a_gap_at_the_end_while_the_attempt_is_open() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("execution.lost", 2, reason="gone")
    assert rail(scene)[-1] == ("gap", "No end recorded: how it ended is not known")
    scene.says("execution.failed", 3, category="c", detail="d", evidence_ref="e")
    assert rail(scene)[-1][0] == "fact"


def test_who_said_it_is_a_person_by_name_and_otherwise_a_layer() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("cancellation.requested", 1, actor="ann", scope="s")
    scene.says("card.rendered", 2, document_version="3")
    owners = [row["owner"] for row in scene.card(viewer="ann")["timeline"]["rows"]]
    assert owners == ["runtime", "you", "presentation"]


def test_a_bare_acknowledgement_is_only_reported() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1, cancel_support="thread")
    scene.says("cancellation.acknowledged", 2, termination="unwound", initiator="ann", scope="s", reason="r", at=at(2))
    scene.says("cancellation.acknowledged", 3, termination="somehow", initiator="ann", scope="s", reason="r", at=at(2))
    assert rail(scene)[-1] == ("fact", "Reported as stopped, termination somehow, at the request of ann")


def test_a_record_that_is_open_without_events_has_an_empty_rail() -> None:
    card = invocation_card(InvocationRecord("inv_1", state=State.QUEUED, state_refs=("x",)), events=[], now=NOON)
    assert card["timeline"]["rows"] == []
