"""Tasks: a call that the server took on and answers later. A status is a status, not a body."""

from collections.abc import Mapping
from typing import Any

from toolwitness.adapters.mcp import answers
from toolwitness.core.evidence import Kind
from toolwitness.reading import endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.disguises import disguised_cancel
from toolwitness.reading.lenient import members, text
from toolwitness.reading.pen import UNRECORDED


class Tasks:
    """The tasks of one capture: which call each is, and the status that it was last seen in."""

    def __init__(self, calls: Calls) -> None:
        """Begin with none."""
        self._calls = calls
        self._call: dict[str, Call] = {}
        self._last: dict[str, str] = {}
        self._early: dict[str, Mapping[str, Any]] = {}
        """What was said of tasks before any call was known to be theirs: a status may overtake the acceptance."""

    def call_of(self, task_id: str) -> Call | None:
        """Give the call that a task is."""
        return self._call.get(task_id)

    def accept(self, call: Call, task: Mapping[str, Any], word: str) -> str:
        """Record that the server took the call on; give why not, where the task has no id."""
        task_id = text(task.get("taskId"))
        if not task_id:
            return "a task without an id: nothing can be asked about it"
        self._call[task_id] = call
        self._calls.pen.write(
            Kind.ACCEPTED, word, call.invocation_id, attempt=call.attempt, time=_time(task, "createdAt"), data={"queue_ref": task_id}
        )
        why = self.read(task)
        return self.read(self._early.pop(task_id)) if task_id in self._early else why

    def read(self, task: Mapping[str, Any], *, schema: Mapping[str, Any] | None = None) -> str:
        """Record what a task's status says, once a status; give why it says nothing to us, where it does not."""
        task_id, status = text(task.get("taskId")), text(task.get("status"))
        call = self._call.get(task_id)
        if call is None:
            self._early[task_id] = task
            return "" if task_id else "a status of no task"
        if self._last.get(task_id) == status:
            return ""
        self._last[task_id] = status
        if status == "input_required":
            answers.ask_input(self._calls, call, "task input_required", sorted(members(task.get("inputRequests"))))
        elif status == "completed":
            if "result" in task:
                self.take_result(task_id, task["result"], schema=schema)
        elif status == "failed":
            self._failed(call, task)
        elif status == "cancelled":
            said = text(task.get("statusMessage"))
            answers.acknowledge(self._calls, call, "task cancelled", scope="this task", reason=said, initiator=UNRECORDED)
        elif status != "working":
            return f"the table does not have the status {status!r}"
        return ""

    def _failed(self, call: Call, task: Mapping[str, Any]) -> None:
        error = members(task.get("error"))
        said = text(task.get("statusMessage")) or text(error.get("message"))
        if disguised_cancel(said):
            endings.doubt(self._calls, call, "task failed disguised", f"its message reads like a cancellation ({said}); it proves no end")
        else:
            endings.fail(self._calls, call, "task failed", "task-failed", error or said, detail="The server says that the task failed.")

    def take_result(self, task_id: str, result: Any, *, schema: Mapping[str, Any] | None = None) -> None:
        """Record a task's result, where its end is not on record yet."""
        call = self._call.get(task_id)
        if call is not None and not call.over:
            answers.take_result(self._calls, call, "task result", result, schema=schema or {})


def _time(task: Mapping[str, Any], name: str) -> str | None:
    return text(task.get(name)) or None
