"""The real clock and the real ids."""

import secrets
import threading
import time
from datetime import UTC, datetime
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"


class SystemClock:
    """The clock of the machine that decides: the policy's authority (R10)."""

    def now(self) -> datetime:
        """Give the time as an aware UTC datetime."""
        return datetime.now(UTC)


_PAIRS: Final = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
"""Two characters at once: an id is made for every event."""


class TimeOrderedIds:
    """Makes ids that sort by when they were made: 48 bits of milliseconds, then 80 random bits that only grow within one millisecond."""

    def __init__(self) -> None:
        """Begin with nothing made yet."""
        self._lock = threading.Lock()
        self._last_ms = 0
        self._random = 0

    def new(self, prefix: str) -> str:
        """Give ``<prefix>_`` and 26 characters of Crockford base 32, lower case."""
        with self._lock:
            now_ms = time.time_ns() // 1_000_000
            if now_ms > self._last_ms:
                self._last_ms, self._random = now_ms, secrets.randbits(79)
            else:
                self._random += 1 + secrets.randbits(16)
            number = (self._last_ms << 80) | self._random
        return prefix + "_" + "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])
