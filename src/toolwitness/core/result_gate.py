"""The stricter reducer: a result must also be the one that was asked for, on the state that it was asked about.

``apply_tool_result`` decides what one result means. It cannot see that a second search was started since, that the
state has moved on, or that the same answer arrives twice. ``ToolResultGate`` keeps one state and its version and
checks, in this order:

1. ownership: the request was begun here, was not released, and its token (where one is shown) is the one that was
handed out;
2. idempotency: a request is answered once; the same answer again is a ``duplicate``, another answer is
``conflicting_result``;
3. base version: what would commit must rest on the state as it is now, otherwise it is ``stale``.

Only what would commit can be stale: a late cancellation or error changes nothing and keeps its own name.
The same vectors (``spec/gate.json``) hold for this file and for ``web/src/outcome.ts``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.outcome import Merge, Outcome, apply_tool_result


@dataclass(frozen=True, slots=True, eq=False)
class RequestToken:
    """Proof that a request was begun at this gate. Compared by identity, so it cannot be made up."""

    request_id: str
    base_version: int


@dataclass(frozen=True, slots=True)
class _Answered:
    token: RequestToken
    meta: dict[str, Any]
    content: str
    """What was answered, as text to compare with."""


class ToolResultGate:
    """Holds one state, and lets a result change it only when it is owned, first and not stale.

    Not locked: one thread or one event loop applies results. ``keep`` bounds how many answered requests are remembered;
    an answer to a forgotten request is ``not_owner`` and commits nothing.
    """

    def __init__(self, state: Any, *, version: int = 0, merge: Merge = "shallow", keep: int = 1024) -> None:
        """Start from ``state`` at ``version``."""
        self._state = state
        self._version = version
        self._merge: Merge = merge
        self._keep = keep
        self._open: dict[str, RequestToken] = {}
        self._answered: dict[str, _Answered] = {}

    @property
    def state(self) -> Any:
        """The current state: the object of the last commit, or the one that the gate began with."""
        return self._state

    @property
    def version(self) -> int:
        """Counts the commits."""
        return self._version

    def begin(self, request_id: str, base_version: int | None = None) -> RequestToken:
        """Take ownership of ``request_id``, whose result will rest on ``base_version`` (the current one if not given).

        Beginning the same request on the same base again gives the same token.

        Raises:
            InvalidInput: the id was begun on another base; a new question needs a new id.
        """
        base = self._version if base_version is None else base_version
        token = self._token(request_id)
        if token is None:
            token = self._open[request_id] = RequestToken(request_id, base)
        elif token.base_version != base:
            raise InvalidInput(
                f"Request {request_id!r} was begun on version {token.base_version}, not {base}.",
                remedy="Give the new request an id of its own.",
                field="request_id",
            )
        return token

    def release(self, request_id: str) -> None:
        """Give up ownership: whatever still arrives for ``request_id`` is ``not_owner``. Unknown ids are no mistake."""
        self._open.pop(request_id, None)
        self._answered.pop(request_id, None)

    def apply(self, tool_result: Any, *, request_id: str, base_version: int | None = None, token: RequestToken | None = None) -> Outcome:
        """Let ``tool_result`` answer ``request_id`` if it may, and never raise.

        Answers as ``apply_tool_result`` does, with the further kinds ``not_owner``, ``duplicate``,
        ``conflicting_result`` and ``stale``, none of which commits.
        """
        owned = self._token(request_id)
        if owned is None or (token is not None and token is not owned):
            return self._preserve("not_owner", request_id=request_id)
        content = _content(tool_result)
        if (first := self._answered.get(request_id)) is not None:
            kind = "duplicate" if content == first.content else "conflicting_result"
            return self._preserve(kind, request_id=request_id, answer=first.meta)
        outcome = self._judge(tool_result, owned, base_version)
        self._close(owned, outcome["meta"], content)
        return outcome

    def _token(self, request_id: str) -> RequestToken | None:
        answered = self._answered.get(request_id)
        return answered.token if answered is not None else self._open.get(request_id)

    def _judge(self, tool_result: Any, token: RequestToken, base_version: int | None) -> Outcome:
        claimed = token.base_version if base_version is None else base_version
        fresh = claimed == token.base_version == self._version
        if not fresh and apply_tool_result({}, tool_result)["commit"]:
            return self._preserve("stale", request_id=token.request_id, base_version=claimed, version=self._version)
        outcome = apply_tool_result(self._state, tool_result, merge=self._merge)
        if outcome["commit"]:
            self._state = outcome["state"]
            self._version += 1
        return outcome

    def _close(self, token: RequestToken, meta: dict[str, Any], content: str) -> None:
        del self._open[token.request_id]
        self._answered[token.request_id] = _Answered(token, meta, content)
        if len(self._answered) > self._keep:
            del self._answered[next(iter(self._answered))]

    def _preserve(self, kind: str, **meta: Any) -> Outcome:
        return {"commit": False, "state": self._state, "meta": {"kind": kind, **meta}}


def _content(tool_result: Any) -> str:
    """Give a text that is equal for equal results. ``1``, ``1.0`` and ``True`` are different answers."""
    try:
        return json.dumps(tool_result, sort_keys=True, default=_foreign)
    except Exception:  # noqa: BLE001 -- anything may come back from a tool; what has no JSON is told apart by identity
        return f"{type(tool_result).__name__}@{id(tool_result)}"


def _foreign(value: Any) -> Any:
    return dict(cast("Mapping[Any, Any]", value)) if isinstance(value, Mapping) else f"{type(value).__name__}:{value!r}"
