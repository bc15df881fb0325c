"""Who has agreed so far, of several people who must, stands in the document; what we do not know of them survives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.unit.service.attacks import ANN, BOB, a_stage
from toolwitness.contract.parse import parse_invocation
from toolwitness.contract.schemas import schema
from toolwitness.core.errors import InvalidInput
from toolwitness.service import views

SAMPLE = json.loads((Path(__file__).parents[3] / "spec" / "samples" / "invocation.json").read_text(encoding="utf-8"))
VALIDATOR: Any = jsonschema.Draft202012Validator(schema("contract"))


async def test_the_document_names_who_has_agreed_and_how_many_must():
    async with a_stage("memory:", approvals_needed=2) as stage:
        call, one = await stage.asked()
        before = (await views.document(stage.desk.place, one, BOB))["authorization"]
        assert (before["approvalsNeeded"], before["agreed"], before["decidedBy"]) == (2, [], None)
        await stage.desk.approve(one, by=ANN)
        document = await views.document(stage.desk.place, one, BOB)
        VALIDATOR.validate(document)
        [agreed] = document["authorization"]["agreed"]
        assert (agreed["by"], document["authorization"]["state"]) == (ANN.id, "pending")
        assert agreed["evidenceRef"] in document["evidenceRefs"]
        await stage.desk.approve(one, by=BOB)
        await call
        done = (await views.document(stage.desk.place, one, BOB))["authorization"]
        assert ([row["by"] for row in done["agreed"]], done["decidedBy"]) == ([ANN.id], BOB.id)


def test_unknown_fields_of_who_agreed_survive():
    agreed = [{"by": "ann", "at": None, "evidenceRef": "ev_1", "mood": "glad"}]
    document = {**SAMPLE, "authorization": {**SAMPLE["authorization"], "approvalsNeeded": 2, "agreed": agreed}}
    VALIDATOR.validate(document)
    assert parse_invocation(json.dumps(document)).as_dict() == document


@pytest.mark.parametrize("wrong", [{"approvalsNeeded": 0}, {"approvalsNeeded": "2"}, {"agreed": [{"at": None}]}, {"agreed": ["ann"]}])
def test_a_document_that_says_it_otherwise_is_refused(wrong: dict[str, Any]):
    document = {**SAMPLE, "authorization": {**SAMPLE["authorization"], **wrong}}
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(InvalidInput):
        parse_invocation(json.dumps(document))
