"""The task document: one summary, and every attempt beneath it with an identity of its own.

Field names are those of the third seed. Which fields an entry needs depends on its state, and ``RULES`` says so once
for the model and for the published schema: a queued entry without a queue reference, or a failed one without a
category, claims more than it can show.
"""

from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import ConfigDict, Field, JsonValue, model_validator

from toolwitness.contract.base import Attempt, Model, StateWord
from toolwitness.core.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRule:
    """What an entry in ``state`` must hold to be whole."""

    state: State
    result_texts: tuple[str, ...] = ()
    """Fields of ``result`` that must be texts."""
    result_keys: tuple[str, ...] = ()
    """Fields of ``result`` that must be there and may be null."""
    one_text_of: tuple[str, ...] = ()
    """Fields of the entry, of which at least one must be a text."""
    with_dependencies: tuple[str, ...] = ()
    """Fields that the entry needs as soon as it depends on something."""


RULES: Final = (
    StateRule(state=State.PROPOSED, with_dependencies=("blockedBy",)),
    StateRule(state=State.QUEUED, one_text_of=("queueRef", "acceptedAt")),
    StateRule(state=State.SUCCEEDED, result_keys=("summary",)),
    StateRule(state=State.FAILED, result_texts=("errorCategory",)),
    StateRule(state=State.CANCELLED, result_texts=("scope", "reason")),
)
"""The fields that only some states need, as data."""


def missing(entry: dict[str, Any]) -> list[str]:
    """Name the fields that ``entry`` (in the document's spelling) lacks for the state that it claims."""
    found: list[str] = []
    result = entry.get("result")
    fields = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    for rule in RULES:
        if rule.state != entry.get("state"):
            continue
        found += [f"result.{name}" for name in rule.result_texts if not isinstance(fields.get(name), str)]
        found += [f"result.{name}" for name in rule.result_keys if name not in fields]
        if rule.one_text_of and not any(isinstance(entry.get(name), str) for name in rule.one_text_of):
            found.append(" or ".join(rule.one_text_of))
        if entry.get("dependencies"):
            found += [name for name in rule.with_dependencies if not isinstance(entry.get(name), list)]
    return found


def _conditions() -> list[dict[str, Any]]:
    """Write ``RULES`` as JSON Schema."""
    conditions: list[dict[str, Any]] = []
    for rule in RULES:
        when: dict[str, Any] = {"properties": {"state": {"const": rule.state.value}}, "required": ["state"]}
        if rule.with_dependencies:
            when["properties"]["dependencies"] = {"minItems": 1}
        then: dict[str, Any] = {}
        if names := rule.result_texts + rule.result_keys:
            texts = {name: {"type": "string"} for name in rule.result_texts}
            then["properties"] = {"result": {"type": "object", "required": list(names), "properties": texts}}
        if rule.one_text_of:
            then["anyOf"] = [{"required": [name], "properties": {name: {"type": "string"}}} for name in rule.one_text_of]
        if rule.with_dependencies:
            then["required"] = list(rule.with_dependencies)
            then["properties"] = {name: {"type": "array"} for name in rule.with_dependencies}
        conditions.append({"if": when, "then": then})
    return conditions


class TaskSection(Model):
    """What the user asked for, and how far its required children are."""

    task_id: str = Field(alias="taskId")
    purpose: str
    state: StateWord
    required_children: list[str] = Field(alias="requiredChildren")
    """The first attempt of every required lineage."""
    synthesis_invocation_id: str | None = Field(alias="synthesisInvocationId")
    opened_at: str | None = Field(default=None, alias="openedAt")
    unresolved_children: list[str] | None = Field(default=None, alias="unresolvedChildren")
    waivers: list[dict[str, Any]] | None = None
    evidence_refs: list[str] | None = Field(default=None, alias="evidenceRefs")


class TaskInvocation(Model):
    """One attempt, as its task lists it."""

    model_config = ConfigDict(json_schema_extra={"allOf": cast("list[JsonValue]", _conditions())})

    invocation_id: str = Field(alias="invocationId")
    parent_id: str | None = Field(alias="parentId")
    dependencies: list[str]
    attempt: Attempt
    retry_of: str | None = Field(alias="retryOf")
    state: StateWord | None
    """Null where nothing that was recorded entered a state."""
    result: dict[str, Any] | None
    evidence_refs: list[str] = Field(alias="evidenceRefs")
    queue_ref: str | None = Field(default=None, alias="queueRef")
    accepted_at: str | None = Field(default=None, alias="acceptedAt")
    blocked_by: list[str] | None = Field(default=None, alias="blockedBy")
    tool: str | None = None
    purpose: str | None = None
    replaces: str | None = None
    reverses: str | None = None
    document_version: int | None = Field(default=None, alias="documentVersion")

    @model_validator(mode="after")
    def _is_whole_for_its_state(self) -> "TaskInvocation":
        if lacking := missing(self.as_dict()):
            raise ValueError(f"an entry that is {self.state} needs {', '.join(lacking)}")
        return self


class TaskDocument(Model):
    """A task and its attempts, retries beside what they replace."""

    task: TaskSection
    invocations: list[TaskInvocation]
    example_status: str | None = Field(default=None, alias="exampleStatus")
    """Only examples carry it; a record has none."""
    document_version: int | None = Field(default=None, alias="documentVersion")
