"""A tool policy as bytes, so that a process that never declared the tool can judge by the policy under which a call was proposed."""

import json
from dataclasses import fields
from functools import lru_cache
from typing import Any

from toolwitness.core.errors import InvalidInput
from toolwitness.policy.cost import Cost
from toolwitness.policy.tool_policy import Inverse, RetryPolicy, ToolPolicy


def write_policy(policy: ToolPolicy) -> bytes:
    """Write what a policy declares; what it leaves at its default is left out."""
    return _written(policy)


@lru_cache(maxsize=1_024)
def _written(policy: ToolPolicy) -> bytes:
    """Write a policy once: it never changes, and every proposal carries it."""
    plain = ToolPolicy(tool=policy.tool)
    said: dict[str, Any] = {"tool": policy.tool}
    for one in fields(ToolPolicy):
        value = getattr(policy, one.name)
        if value != getattr(plain, one.name):
            said[one.name] = _parts(value) if isinstance(value, RetryPolicy | Inverse | Cost) else value
    return json.dumps(said, sort_keys=True, separators=(",", ":")).encode()


def _parts(value: RetryPolicy | Inverse | Cost) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}


def read_policy(raw: bytes) -> ToolPolicy:
    """Read a written policy back; equal in content and therefore in version.

    Raises:
        InvalidInput: it is not a policy that this version understands; nothing is allowed by halves.
    """
    try:
        said: dict[str, Any] = json.loads(raw)
        if "retry" in said:
            retry = said["retry"]
            said["retry"] = RetryPolicy(attempts=retry["attempts"], categories=tuple(retry["categories"]))
        if said.get("inverse"):
            said["inverse"] = Inverse(**said["inverse"])
        if said.get("cost"):
            said["cost"] = Cost(**said["cost"])
        return ToolPolicy(**said)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        remedy = "Declare the tool in this process."
        raise InvalidInput(f"The recorded policy cannot be read: {error}.", field="policy", remedy=remedy) from error
