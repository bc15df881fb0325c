"""What the tests of the ledger room share: a file with something of everything in it."""

from pathlib import Path

import pytest

from tests.unit.ledger.stories import fill
from toolwitness.ledger.sqlite import SqliteLedger
from toolwitness.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def filled(tmp_path: Path, clock: FakeClock) -> Path:
    """A closed ledger file in which every table has several rows and every column that may be empty is full somewhere."""
    path = tmp_path / "calls.db"
    ledger = SqliteLedger(path, now=clock.now)
    await fill(ledger, clock)
    await ledger.close()
    return path
