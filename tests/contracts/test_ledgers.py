"""Every ledger that ships passes the conformance suite that ships."""

from pathlib import Path

import pytest

from toolwitness.ledger.memory import MemoryLedger
from toolwitness.ledger.sqlite import SqliteLedger
from toolwitness.testing.ledger_contract import LedgerContract


class TestMemoryLedger(LedgerContract):
    async def open_ledger(self) -> MemoryLedger:
        return MemoryLedger()


class TestSqliteLedger(LedgerContract):
    @pytest.fixture(autouse=True)
    def _in_a_new_directory(self, tmp_path: Path) -> None:
        self.path = tmp_path / "calls.db"

    async def open_ledger(self) -> SqliteLedger:
        return SqliteLedger(self.path)
