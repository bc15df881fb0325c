"""Every word that the installed A2A types can say, in both versions, is in the table: mapped, or left out for a reason."""

import inspect
import subprocess
import sys
from typing import get_args

from a2a.compat.v0_3 import types as v0_3
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict
from pydantic import BaseModel

from toolwitness.adapters.a2a import TABLE, Reader
from toolwitness.adapters.a2a.mapping import METHODS
from toolwitness.adapters.a2a.shapes import state_of

WORDS = {word.word for word in TABLE}


def test_every_task_state_of_both_versions_has_a_row() -> None:
    said = [str(state.value) for state in v0_3.TaskState] + list(a2a_pb2.TaskState.keys())

    missing = {state for state in said if f"state {state_of({'state': state})[0]}" not in WORDS}

    assert len(said) >= 17
    assert missing == set()


def test_every_request_of_both_versions_has_a_row() -> None:
    old = {
        str(get_args(model.model_fields["method"].annotation)[0])
        for model in vars(v0_3).values()
        if inspect.isclass(model) and issubclass(model, BaseModel) and "method" in model.model_fields
        and get_args(model.model_fields["method"].annotation)
    }  # fmt: skip  # one condition
    new = {method.name for service in a2a_pb2.DESCRIPTOR.services_by_name.values() for method in service.methods}

    missing = {method for method in old | new if METHODS.get(method, method) not in WORDS}

    assert len(old) >= 10
    assert len(new) >= 11
    assert missing == set()


def test_everything_that_a_stream_can_carry_is_known_by_its_shape() -> None:
    kinds = {field.name for field in a2a_pb2.StreamResponse.DESCRIPTOR.fields}
    samples = {
        "task": a2a_pb2.StreamResponse(task={"id": "t", "status": {"state": "TASK_STATE_WORKING"}}),
        "message": a2a_pb2.StreamResponse(message={"message_id": "m", "role": "ROLE_AGENT", "parts": [{"text": "hello"}]}),
        "status_update": a2a_pb2.StreamResponse(status_update={"task_id": "t", "status": {"state": "TASK_STATE_WORKING"}}),
        "artifact_update": a2a_pb2.StreamResponse(artifact_update={"task_id": "t", "artifact": {"artifact_id": "a"}}),
    }

    assert kinds == samples.keys()
    for name, sample in samples.items():
        for shown in (MessageToDict(sample), MessageToDict(sample, preserving_proto_field_name=True)):
            reader = Reader("capture:shapes")
            said = [draft.event.kind for draft in reader.feed({"src": "runtime", "kind": name, "event": shown})]
            assert "invocation.proposed" in said
            assert said[-1] in {"execution.started", "execution.succeeded", "output.emitted"}
            assert reader.unmapped == []


def test_every_kind_of_object_of_the_older_version_is_known() -> None:
    kinds = {
        str(get_args(model.model_fields["kind"].annotation)[0])
        for model in vars(v0_3).values()
        if inspect.isclass(model) and issubclass(model, BaseModel) and "kind" in model.model_fields
    }

    assert kinds - {"text", "file", "data"} == {"task", "message", "status-update", "artifact-update"}


def test_an_unknown_state_is_reported_and_becomes_nothing() -> None:
    reader = Reader("capture:unknown")
    update = {"kind": "status-update", "taskId": "t", "status": {"state": "resting"}}

    said = [draft.event.kind for draft in reader.feed({"src": "runtime", "kind": "event", "event": update})]

    assert said == ["task.opened", "invocation.proposed"]
    assert [one.why for one in reader.unmapped] == ["the table does not have the state 'resting'"]


def test_reading_a_capture_does_not_need_the_package() -> None:
    code = "import sys; sys.modules.update(dict.fromkeys(('a2a', 'google.protobuf'))); import toolwitness.adapters.a2a.reader"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
