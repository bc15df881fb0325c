"""The desk's side of a run that goes on for long: what one more call costs does not grow with what came before it."""

from typing import Any

import pytest

from tests.unit.bootstrap.desks import a_desk
from toolwitness.ledger import folded
from toolwitness.recording.desk_side import DeskSide, Rule


async def test_a_further_proposal_and_finding_it_copy_no_earlier_record(monkeypatch: pytest.MonkeyPatch):
    copied: list[str] = []
    copy = folded.copy_record

    def counting(record: Any) -> Any:
        copied.append(record.id)
        return copy(record)

    monkeypatch.setattr(folded, "copy_record", counting)
    async with a_desk() as desk, desk.task("Look") as task:
        made = [
            await DeskSide(desk, "f").propose(task.id, f"call_{n % 20}", "look", b"{}", run_id="r", rule=Rule.OBSERVED) for n in range(40)
        ]
        copied.clear()
        one = await DeskSide(desk, "f").propose(task.id, "call_7", "look", b"{}", run_id="r", rule=Rule.OBSERVED)
        assert not set(copied) & set(made)
        found = await DeskSide(desk, "f").find(task.id, "call_7")
        assert (found is not None and found.id, set(copied) & set(made)) == (one, set())
        assert found is not None
        assert found.proposal["correlation"][0]["occurrence"] == 3
