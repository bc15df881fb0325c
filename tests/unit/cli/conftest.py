"""Ledgers for the command line's tests."""

from pathlib import Path

import pytest

from tests.unit.cli.terminals import Ledger, a_ledger


@pytest.fixture
async def ledger(tmp_path: Path) -> Ledger:
    """Give a ledger in an empty folder."""
    return await a_ledger(tmp_path)
