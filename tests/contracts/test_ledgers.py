"""Every ledger that ships passes the conformance suite that ships."""

from toolwitness.ledger.memory import MemoryLedger
from toolwitness.testing.ledger_contract import LedgerContract


class TestMemoryLedger(LedgerContract):
    async def open_ledger(self) -> MemoryLedger:
        return MemoryLedger()
