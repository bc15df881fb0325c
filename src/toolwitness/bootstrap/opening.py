"""Opening a desk: which ledger an address names, and the clock and ids that it gets."""

from pathlib import Path
from typing import Any

from toolwitness.bootstrap.desk import Desk
from toolwitness.bootstrap.world import SystemClock, TimeOrderedIds
from toolwitness.core.errors import InvalidInput
from toolwitness.ports import Clock, Ids, Ledger


def ledger_path(url: str) -> Path | None:
    """Give the file that a ledger's address names, ``None`` for memory: a path, ``sqlite:///relative`` or ``sqlite:////absolute``.

    Raises:
        InvalidInput: the address names nothing that can be opened here.
    """
    if url == "memory:":
        return None
    scheme, found, rest = url.partition("://")
    if found and scheme != "sqlite":
        raise InvalidInput(f"No ledger speaks {scheme!r}.", field="url", remedy='Use a file such as "calls.db", or "memory:".')
    return Path(rest.removeprefix("/") if found else url)


def open_ledger(url: str, *, clock: Clock) -> Ledger:
    """Open the ledger that ``url`` names: ``memory:``, a path, or ``sqlite:///path``.

    Raises:
        InvalidInput: the URL names nothing that can be opened here.
    """
    path = ledger_path(url)
    if path is None:
        from toolwitness.ledger.memory import MemoryLedger  # noqa: PLC0415 - opened ledgers only pay for themselves

        return MemoryLedger(now=clock.now)
    from toolwitness.ledger.sqlite import SqliteLedger  # noqa: PLC0415 - as above

    return SqliteLedger(path, now=clock.now)


def open(url: str = "calls.db", *, clock: Clock | None = None, ids: Ids | None = None, **options: Any) -> Desk:  # noqa: A001 - toolwitness.open reads as what it does
    """Open a desk on a ledger: ``"calls.db"`` for a SQLite file, ``"memory:"`` for tests.

    ``options`` are those of ``Desk``: ``tenant``, ``concurrency``, ``sweep_seconds``, ``patience_seconds``, ``policy``,
    ``authorizer``. Of the ledger nothing is read or written before the first use.

    Raises:
        InvalidInput: the URL names nothing that can be opened here, or the policy file cannot be understood.
    """
    clock = clock or SystemClock()
    return Desk(open_ledger(url, clock=clock), clock=clock, ids=ids or TimeOrderedIds(), **options)
