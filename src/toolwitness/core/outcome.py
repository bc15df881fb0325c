"""The outcome reducer: what a tool's result may do to the state on the screen.

Two answers that must not be mixed: ``commit`` says whether the state advances, ``meta["kind"]`` says how to explain it.
A cancelled call is not an error, and whatever does not commit gives back the *same* state object, since a copy with
equal values would already take the state's ownership away (rerenders, reset flags, lost identity).

The same vectors (``spec/outcomes.json``) hold for this file and for ``web/src/outcome.ts``. Source: first seed, "Why a
cancelled tool result should preserve UI state". Departures, on purpose: a list is not a tool result, and a payload
that is present and not a mapping does not commit.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict, cast

Merge: TypeAlias = Literal["shallow", "merge_patch", "replace"] | Callable[[Any, Mapping[str, Any]], Any]
"""How a payload becomes the next state.

``shallow``: the payload's keys over the state's. ``merge_patch``: RFC 7396, where null removes a key. ``replace``:
the payload is the next state. A function gets ``(previous state, payload)`` and returns the next state; it must not
change its arguments.
"""


class Outcome(TypedDict):
    """What the reducer answers."""

    commit: bool
    """Whether the state advances."""
    state: Any
    """The next state where it does; otherwise the very object that was passed in."""
    meta: dict[str, Any]
    """``kind`` is ``ok``, ``cancelled``, ``error``, ``unknown_status`` or ``invalid_tool_result``; the rest is why."""


class MergeRefused(ValueError):
    """A payload cannot be merged into this state as asked."""


def apply_tool_result(prev_state: Any, tool_result: Any, *, merge: Merge = "shallow") -> Outcome:
    """Decide what ``tool_result`` does to ``prev_state``, and never raise.

    ``tool_result`` is one of ``{"status": "ok", "payload": {…}}``, ``{"status": "cancelled", "reason": …}`` and
    ``{"status": "error", "error": …}``. An absent or null payload commits and changes nothing. A merge that fails
    does not commit; it is an ``error`` whose code is ``merge_failed``.
    """
    try:
        return _decide(prev_state, tool_result, merge)
    except Exception:  # noqa: BLE001 -- a result comes from foreign code; the screen keeps its state
        return _preserve(prev_state, kind="invalid_tool_result", message="Tool result could not be read")


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply an RFC 7396 merge patch and return the result; neither argument is changed.

    What the patch does not touch is carried over as the same object.
    """
    if not isinstance(patch, Mapping):
        return patch
    result: dict[Any, Any] = dict(cast("Mapping[Any, Any]", target)) if isinstance(target, Mapping) else {}
    for key, value in cast("Mapping[Any, Any]", patch).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def _decide(prev_state: Any, tool_result: Any, merge: Merge) -> Outcome:
    if not isinstance(tool_result, Mapping):
        return _preserve(prev_state, kind="invalid_tool_result", message="Tool returned non-object")
    result = cast("Mapping[str, Any]", tool_result)
    status = result.get("status")
    match status if isinstance(status, str) else None:
        case "ok":
            return _apply_payload(prev_state, result.get("payload"), merge)
        case "cancelled":
            return _preserve(prev_state, kind="cancelled", reason=result.get("reason"))
        case "error":
            # On null only: an error of "" or 0 is the tool's own word and is kept.
            error = result.get("error")
            return _preserve(prev_state, kind="error", error="unknown" if error is None else error)
        case _:
            return _preserve(prev_state, kind="unknown_status", status=status)


def _preserve(prev_state: Any, **meta: Any) -> Outcome:
    return {"commit": False, "state": prev_state, "meta": meta}


def _apply_payload(prev_state: Any, payload: Any, merge: Merge) -> Outcome:
    if not isinstance(payload, Mapping | None):
        return _preserve(prev_state, kind="invalid_tool_result", message="Tool returned a payload that is not an object")
    try:
        state = _merged(prev_state, cast("Mapping[str, Any] | None", payload), merge)
    except Exception as error:  # noqa: BLE001 -- a caller's merge may raise anything, and the reducer never raises
        return _preserve(prev_state, kind="error", error=_merge_failure(error))
    return {"commit": True, "state": state, "meta": {"kind": "ok"}}


def _merged(prev_state: Any, payload: Mapping[str, Any] | None, merge: Merge) -> Any:
    if callable(merge):
        state = merge(prev_state, {} if payload is None else payload)
        if hasattr(state, "__await__"):
            _discard(state)
            raise MergeRefused("The merge function is asynchronous; it must return the next state itself.")
        return state
    match merge:
        case "merge_patch":
            return merge_patch(prev_state, payload or {})
        case "replace" if payload is not None:
            return dict(payload)
        case "shallow" | "replace":
            # An absent payload replaces nothing: an empty screen would be a claim that the tool never made.
            return _shallow(prev_state, payload or {})
        case _:
            raise MergeRefused(f"There is no merge strategy {merge!r}.")


def _shallow(prev_state: Any, payload: Mapping[str, Any]) -> dict[str, Any]:
    if prev_state is None:
        return dict(payload)
    if not isinstance(prev_state, Mapping):
        raise MergeRefused(f"A shallow merge needs a state that is an object, not {type(prev_state).__name__}.")
    return {**prev_state, **payload}


def _discard(awaitable: Any) -> None:
    # A coroutine that is thrown away unclosed warns "was never awaited", which would point at the wrong line.
    close = getattr(awaitable, "close", None)
    if callable(close):
        close()


def _merge_failure(error: Exception) -> dict[str, str]:
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 -- an exception whose own text raises must not make the reducer raise
        message = ""
    return {"code": "merge_failed", "type": type(error).__name__, "message": message}
