"""Puts the seal around a desk's ledger, with the keys that the environment holds."""

import os

from toolwitness.policy.tool_policy import ToolPolicy, unknown_tool
from toolwitness.service.seal import KEY_VARIABLE, read_keys
from toolwitness.service.sealing import SealedLedger
from toolwitness.service.workplace import Workplace


def seal(place: Workplace) -> None:
    """Let nothing secret into the ledger of ``place`` unsealed, and nothing sealed out of it.

    Raises:
        InvalidInput: a key in ``TOOLWITNESS_SEAL_KEY`` cannot be understood, or the package that seals is not installed.
    """

    def policy_of(tool: str, recorded: ToolPolicy | None) -> ToolPolicy:
        declared = place.policies.get(tool)
        if declared is not None:
            return declared
        return place.file.govern(tool, recorded) if tool.strip() else unknown_tool(tool)

    beneath = place.ledger.beneath if isinstance(place.ledger, SealedLedger) else place.ledger
    place.ledger = SealedLedger(beneath, policy_of=policy_of, keys=read_keys(os.environ.get(KEY_VARIABLE, "")))
