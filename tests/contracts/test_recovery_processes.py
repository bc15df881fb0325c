"""Recovery from other processes: a person at a terminal undoes, reconciles and tries again; the process that hosts the tool runs it."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.terminals import a_process, document, roles_for_me, surroundings

CHILD = Path(__file__).with_name("hotel_child.py")
PATIENCE_SECONDS = 30.0


@pytest.fixture
def hotel(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Run a process that hosts the hotel's tools on ``calls.db``, and give the ids of its two calls."""
    roles_for_me(tmp_path, "finance")
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(tmp_path / "calls.db"), str(tmp_path / "lines")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env=surroundings(PYTHONPATH=str(CHILD.parents[2])),
    ) as process:  # fmt: skip  # facts in lines
        assert process.stdout is not None
        assert process.stdin is not None
        yield {**json.loads(process.stdout.readline()), "folder": tmp_path}
        process.stdin.close()
        assert process.wait(timeout=PATIENCE_SECONDS) == 0


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that another process brings about."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end, "it did not come to hold"


def lines(hotel: dict[str, Any]) -> list[list[str]]:
    return [line.split() for line in (hotel["folder"] / "lines").read_text(encoding="utf-8").splitlines()]


def state(hotel: dict[str, Any], invocation_id: str) -> str:
    return str(document(a_process("show", invocation_id, "--json", folder=hotel["folder"]))["state"])


def test_a_call_is_undone_from_a_terminal_in_the_process_that_hosts_the_inverse(hotel: dict[str, Any]) -> None:
    folder = hotel["folder"]
    asked = a_process("reverse", hotel["booked"], "--reason", "the trip is off", folder=folder)
    assert asked.returncode == 0, asked.stderr
    assert "It runs in the process that hosts cancel_booking, and not here, once it is approved:  toolwitness approve inv_" in asked.stdout
    other = asked.stdout.rsplit(maxsplit=1)[-1]
    assert [line[:2] for line in lines(hotel)] == [["book", "12"], ["book", "14"]], "nothing was undone by asking"
    assert a_process("approve", other, folder=folder).returncode == 0
    until(lambda: state(hotel, other) == "succeeded")
    assert ["cancel", "12"] in [line[:2] for line in lines(hotel)]

    def settled() -> bool:
        return bool(
            document(a_process("show", hotel["booked"], "--json", folder=folder))["sideEffects"]["reconciliationState"] == "reconciled"
        )

    until(settled)
    again = a_process("reverse", hotel["booked"], "--json", folder=folder)
    assert (again.returncode, document(again)["error"]["rule"]) == (1, "already-reversed")
    assert a_process("verify", folder=folder).returncode == 0


def test_what_nobody_knows_is_reconciled_from_a_terminal_and_then_tried_again_with_the_same_key(hotel: dict[str, Any]) -> None:
    folder, one = hotel["folder"], hotel["doubtful"]
    refused = a_process("retry", one, "--json", folder=folder)
    assert (refused.returncode, document(refused)["error"]["rule"]) == (1, "outcome-unknown")
    cannot = a_process("reconcile", one, "--json", folder=folder)
    assert (cannot.returncode, document(cannot)["error"]["rule"]) == (1, "cannot-ask")
    assert "did-not-happen" in document(cannot)["error"]["remedy"]
    said = a_process(
        "reconcile", one, "--did-not-happen", "--reference", "search 9", "--reason", "no such booking", "--json", folder=folder
    )
    assert said.returncode == 0, said.stderr
    [recorded] = document(said)["recorded"]
    assert recorded["data"]["conclusion"] == "no-effect"
    again = document(a_process("retry", one, "--json", folder=folder))
    other = again["document"]["identity"]["invocationId"]
    until(lambda: state(hotel, other) == "succeeded")
    keys = [key for word, room, key in lines(hotel) if (word, room) == ("book", "14")]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert state(hotel, one) == "failed", "the attempt is not rewritten"
