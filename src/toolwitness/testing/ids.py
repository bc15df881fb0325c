"""Ids that are the same in every run (``ports.Ids``)."""


class CountedIds:
    """Ids that count: ``task_00000000000000000000000001`` and so on, one count for all prefixes."""

    def __init__(self) -> None:
        """Start counting at 1."""
        self._last = 0

    def new(self, prefix: str) -> str:
        """Give the next id; later ones sort after earlier ones of the same prefix."""
        self._last += 1
        return f"{prefix}_{self._last:026d}"
