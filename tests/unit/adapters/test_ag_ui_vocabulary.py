"""No event type of AG-UI is overlooked: each is mapped, or left aside with a reason that the table gives."""

import json
from pathlib import Path
from typing import get_args

from ag_ui.core import EventType, ResumeEntry, RunFinishedInterruptOutcome, RunFinishedOutcome, RunFinishedSuccessOutcome
from ag_ui.core.events import RunFinishedCancelledOutcome
from pydantic import BaseModel

from toolwitness.adapters.ag_ui.mapping import TABLE

WORDS = json.loads((Path(__file__).parents[2] / "node" / "vocabulary.json").read_text(encoding="utf-8"))
MAPPED = {word.word.split(" ")[0] for word in TABLE}


def test_every_event_type_of_the_python_package_is_in_the_table() -> None:
    assert [event.value for event in EventType if event.value not in MAPPED] == []


def test_every_event_type_of_the_npm_package_is_in_the_table() -> None:
    assert len(WORDS["agui"]["events"]) == len(EventType)
    assert [event for event in WORDS["agui"]["events"] if event not in MAPPED] == []


def test_the_retired_words_of_older_streams_are_in_the_table() -> None:
    retired = {
        "THINKING_START",
        "THINKING_END",
        "THINKING_TEXT_MESSAGE_START",
        "THINKING_TEXT_MESSAGE_CONTENT",
        "THINKING_TEXT_MESSAGE_END",
    }

    assert retired <= MAPPED


def test_a_word_that_says_nothing_says_why() -> None:
    assert [word.word for word in TABLE if not word.says and not word.by] == []


def literals(model: type[BaseModel], field: str) -> set[str]:
    return set(get_args(model.model_fields[field].annotation))


def test_every_outcome_of_a_run_and_every_answer_to_an_interrupt_is_known() -> None:
    outcomes = {
        one
        for model in (RunFinishedSuccessOutcome, RunFinishedInterruptOutcome, RunFinishedCancelledOutcome)
        for one in literals(model, "type")
    }

    assert outcomes == {"success", "interrupt", "cancelled"}
    assert set(get_args(get_args(RunFinishedOutcome)[0])) == {
        RunFinishedSuccessOutcome, RunFinishedInterruptOutcome, RunFinishedCancelledOutcome,
    }  # fmt: skip  # three outcomes
    assert literals(ResumeEntry, "status") == {"resolved", "cancelled"}
