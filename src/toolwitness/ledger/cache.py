"""Folded tasks kept between appends, the least recently used let go first."""

from collections import OrderedDict
from typing import Final

from toolwitness.ledger.folded import Folded

_MOST_EVENTS: Final = 100_000
_MOST_TASKS: Final = 1_024


class Cache:
    """Folds by task id, as many as ``events`` folded events allow; the one in use is always kept."""

    def __init__(self, *, events: int = _MOST_EVENTS, tasks: int = _MOST_TASKS) -> None:
        """Keep at most so many folded events and tasks."""
        self._most_events, self._most_tasks = events, tasks
        self._folds: OrderedDict[str, Folded] = OrderedDict()
        self._weights: dict[str, int] = {}
        self._weight = 0

    def __len__(self) -> int:
        return len(self._folds)

    def get(self, task_id: str) -> Folded | None:
        """Give a task's fold if it is kept."""
        folded = self._folds.get(task_id)
        if folded is not None:
            self._folds.move_to_end(task_id)
        return folded

    def put(self, task_id: str, folded: Folded) -> None:
        """Keep a fold, and let go of what has not been used for longest."""
        self._folds[task_id] = folded
        self._weight += folded.sequence - self._weights.get(task_id, 0)
        self._weights[task_id] = folded.sequence
        while len(self._folds) > 1 and (self._weight > self._most_events or len(self._folds) > self._most_tasks):
            self.drop(next(iter(self._folds)))

    def drop(self, task_id: str) -> None:
        """Let go of a fold."""
        if self._folds.pop(task_id, None) is not None:
            self._weight -= self._weights.pop(task_id)

    def clear(self) -> None:
        """Let go of everything."""
        self._folds.clear()
        self._weights.clear()
        self._weight = 0
