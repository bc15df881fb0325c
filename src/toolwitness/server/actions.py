"""The actions of the API and the commands behind them: one line an action."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from toolwitness.core.errors import InvalidInput
from toolwitness.core.verdicts import Actor
from toolwitness.service import again, answer, cancel, close, erase, exchange, inputs, reconcile, respond, submit, waive_child
from toolwitness.service.together import MOST
from toolwitness.service.workplace import Receipt, Workplace, read


class ActionBody(BaseModel):
    """What a click sends: why, on which request, on which inputs, and its own id."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    reason: str = Field(default="", max_length=500)
    approval_id: str = Field(default="", alias="approvalId", max_length=200)
    inputs_digest: str = Field(default="", alias="inputsDigest", max_length=200)
    request_id: str = Field(default="", alias="requestId", max_length=200)
    tool: str = Field(default="", max_length=200)
    """The tool that an edit names, where it is another one than the call's."""
    fields: dict[str, Any] = Field(default_factory=dict)
    """Inputs by name, or the fields of a form: ``route``, ``conclusion``, ``reference``."""


class DecisionBody(BaseModel):
    """One answer of a submission."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    invocation_id: str = Field(alias="invocationId", min_length=1, max_length=200)
    answer: Literal["approve", "deny"]
    approval_id: str = Field(default="", alias="approvalId", max_length=200)
    inputs_digest: str = Field(default="", alias="inputsDigest", max_length=200)
    reason: str = Field(default="", max_length=500)
    request_id: str = Field(default="", alias="requestId", max_length=200)


class DecisionsBody(BaseModel):
    """Several answers in one submission; each call is decided by itself."""

    model_config = ConfigDict(extra="forbid")

    decisions: list[DecisionBody] = Field(min_length=1, max_length=MOST)


Command = Callable[[Workplace, str, Actor, ActionBody], Awaitable[Receipt]]


def _said(body: ActionBody) -> dict[str, str]:
    return {"reason": body.reason or str(body.fields.get("reason") or ""), "request_id": body.request_id}


async def _submit(place: Workplace, invocation_id: str, actor: Actor, _body: ActionBody) -> Receipt:
    return await submit.submit(place, invocation_id, actor=actor)


async def _reconcile(place: Workplace, invocation_id: str, actor: Actor, body: ActionBody) -> Receipt:
    fields = {name: str(body.fields.get(name) or "") for name in ("conclusion", "detail", "reference")}
    return await reconcile.reconcile(place, invocation_id, actor=actor, **fields)


async def _erase(place: Workplace, invocation_id: str, actor: Actor, body: ActionBody) -> Receipt:
    said = str(body.fields.get("which") or "all")
    return await erase.erase(place, invocation_id, actor=actor, which=said, reason=_said(body)["reason"])


async def _respond(place: Workplace, invocation_id: str, actor: Actor, body: ActionBody) -> Receipt:
    if "answer" not in body.fields:
        raise InvalidInput("There is no answer.", field="answer", remedy='Send it as {"fields": {"answer": …}}.')
    answer = inputs.written({"answer": body.fields["answer"]})["answer"].encode()
    said = {"reason": body.reason, "request_id": body.request_id, "approval_id": body.approval_id}
    return await respond.respond(place, invocation_id, actor=actor, answer=answer, **said)


async def _waive(place: Workplace, invocation_id: str, actor: Actor, body: ActionBody) -> Receipt:
    record = (await read(place, invocation_id)).record
    waived = await waive_child.waive_child(place, record.task_id, invocation_id, actor=actor, **_said(body))
    return Receipt(recorded=(waived,), record=(await read(place, invocation_id)).record)


def _given(body: ActionBody) -> dict[str, Any]:
    """Give what goes into the inputs of the call: every field is one of them, also where a tool has an input that is called ``reason``."""
    return {"fields": body.fields, "reason": body.reason, "request_id": body.request_id}


COMMANDS: Final[dict[str, Command]] = {
    "approve": lambda p, i, a, b: answer.approve(p, i, actor=a, approval_id=b.approval_id, inputs_digest=b.inputs_digest, **_said(b)),
    "deny": lambda p, i, a, b: answer.deny(p, i, actor=a, approval_id=b.approval_id, **_said(b)),
    "respond": _respond,
    "dismiss": lambda p, i, a, b: close.dismiss(p, i, actor=a, **_said(b)),
    "withdraw": lambda p, i, a, b: close.withdraw(p, i, actor=a, **_said(b)),
    "submit": _submit,
    "supply_input": lambda p, i, a, b: inputs.supply_input(p, i, actor=a, **_given(b)),
    "edit_inputs": lambda p, i, a, b: exchange.edit_call(p, i, actor=a, tool=b.tool, **_given(b)),
    "choose_route": lambda p, i, a, b: again.choose_route(p, i, actor=a, route=str(b.fields.get("route") or ""), **_said(b)),
    "request_cancellation": lambda p, i, a, b: cancel.request_cancellation(p, i, actor=a, **_said(b)),
    "retry": lambda p, i, a, b: again.retry(p, i, actor=a, **_said(b)),
    "reverse": lambda p, i, a, b: again.reverse(p, i, actor=a, **_said(b)),
    "resubmit": lambda p, i, a, b: again.resubmit(p, i, actor=a, **_said(b)),
    "request_approval_again": lambda p, i, a, b: again.request_approval_again(p, i, actor=a, **_said(b)),
    "reconcile": _reconcile,
    "waive_child": _waive,
    "erase": _erase,
}
"""Every action that the API takes, by the name that controls carry."""


async def perform(place: Workplace, invocation_id: str, action: str, actor: Actor, body: ActionBody) -> Receipt:
    """Carry out one action.

    Raises:
        InvalidInput: no action has this name.
        NotPermitted: policy says no; the refusal is on record.
        UnknownId: no invocation has this id.
    """
    command = COMMANDS.get(action)
    if command is None:
        raise InvalidInput(f"No action is called {action!r}.", field="action", remedy=f"Use one of {', '.join(COMMANDS)}.")
    return await command(place, invocation_id, actor, body)
