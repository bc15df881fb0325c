"""A clock that stands still until it is moved (``ports.Clock``)."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """A clock that shows the time it was given; tests move it on and never wait."""

    def __init__(self, at: datetime | None = None) -> None:
        """Start at ``at``, an aware datetime; noon of the first day of 2026 where none is given."""
        start = at or datetime(2026, 1, 1, 12, tzinfo=UTC)
        if start.tzinfo is None:
            raise ValueError("a clock without a time zone says nothing about when; pass an aware datetime")
        self._at = start.astimezone(UTC)

    def now(self) -> datetime:
        """Give the time it shows, in UTC."""
        return self._at

    def advance(self, seconds: float) -> datetime:
        """Move on by ``seconds``, backwards too, and give the new time."""
        self._at += timedelta(seconds=seconds)
        return self._at
