"""What a tool body really did, as it wrote it itself: runs of a body, in one shape whatever words the capture uses.

``rows`` and ``streams`` turn the words of a capture into marks; here marks become episodes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Row = Mapping[str, Any]


class Sign(StrEnum):
    """What one row of truth says about a body."""

    ENTERED = "entered"
    RETURNED = "returned"
    RAISED = "raised"
    CANCELLED = "cancelled"
    """The body itself saw its cancellation and ended by it."""
    PAUSED = "paused"
    """The body asked for an approval or an answer and gave up its turn; it goes on in a later run."""
    UNWOUND = "unwound"
    """The body left, and did not say how: a ``finally``. Whoever saw it leave may."""
    EFFECT = "effect"
    CARRIED_ON = "carried on"
    """The body was seen at work; neither its beginning nor its end."""
    SEEN_STARTING = "seen starting"
    """The process beside the body saw it begin: names the call of a body that wrote no id."""
    SEEN_RETURNING = "seen returning"
    SEEN_RAISING = "seen raising"
    SEEN_LEAVING = "seen leaving"
    """The process beside the body stopped waiting (an abort, a timeout): proves nothing about the body."""
    NOTHING = "nothing"
    """A word that says nothing about a body."""
    UNREAD = "unread"
    """A word that nobody has taught the judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One row of truth, read."""

    sign: Sign
    row: int
    tool: str = ""
    call: str = ""
    word: str = ""
    inputs: Any = None
    part: int = 0
    """In which part of the recording it stands: a driver's act and the end of a run begin the next."""


@dataclass(slots=True, kw_only=True)
class Episode:
    """One run of a body."""

    call: str = ""
    tool: str = ""
    end: str = ""
    """``end``, ``raise``, ``pause``, ``cancelled``; empty where nobody wrote one."""
    effects: int = 0
    inputs: Any = None
    """The inputs that the body wrote; ``None`` where it wrote none."""
    rows: list[int] = field(default_factory=list[int])
    unmatched: bool = False
    """Whether a row without an id could have meant this run or another: what it says of the end is not to be scored."""
    left: bool = False
    """Whether somebody stopped waiting for it."""
    unwound: bool = False
    """Whether the body was seen to leave, however it did."""
    answered: bool = False
    """Whether a result of it came, though it wrote no end."""
    entered: bool = False
    """Whether its beginning was written, and not only an effect or an end."""
    part: int = 0

    @property
    def open(self) -> bool:
        """Whether no end was written."""
        return not self.end

    @property
    def well(self) -> bool:
        """Whether it returned."""
        return self.end == "end"

    def __str__(self) -> str:
        """Say in words what happened."""
        said = {"end": "returned", "raise": "raised", "pause": "paused to ask", "cancelled": "ended by its cancellation"}.get(
            self.end, "was not seen to end"
        )
        effects = f" with {self.effects} effect{'s' * (self.effects > 1)}" if self.effects else ""
        return f"started{effects} and {said}"


@dataclass(slots=True, kw_only=True)
class Truth:
    """Everything that the bodies of one capture wrote."""

    runs: dict[str, list[Episode]] = field(default_factory=dict[str, list[Episode]])
    """The runs of each call, oldest first."""
    tools: set[str] = field(default_factory=set[str])
    """The tools that write truth in this capture: a call of theirs without a run never started."""
    whole: bool = False
    """Whether every call of the capture is watched, so that a call without a run never started."""
    writes_ends: set[str] = field(default_factory=set[str])
    """The tools that write how they end: only of these is an end that is not there no end."""
    unread: list[Mark] = field(default_factory=list[Mark])

    def of(self, call: str, tool: str) -> "list[Episode] | None":
        """Give the runs of a call, none where it never started, ``None`` where nobody watched it."""
        if call in self.runs:
            return self.runs[call]
        return [] if self.whole or tool in self.tools else None


_ENDS = {Sign.RETURNED: "end", Sign.RAISED: "raise", Sign.CANCELLED: "cancelled", Sign.PAUSED: "pause"}
_SEEN = {Sign.SEEN_RETURNING: "end", Sign.SEEN_RAISING: "raise"}


class Book:
    """Turns marks into episodes, row by row; ``calls`` are the calls of the record, by (id, tool), for truth that names no call."""

    def __init__(self, calls: Sequence[tuple[str, str]]) -> None:
        """Begin an empty book."""
        self.truth = Truth()
        self._calls = calls
        self._awaited: list[Mark] = []
        """Calls that were seen starting and whose body has not written yet."""

    def read(self, marks: Iterable[Mark], *, watched: bool) -> Truth:
        """Read all marks; ``watched`` says that the process beside the bodies saw every start."""
        for mark in marks:
            self._read(mark)
        for mark in list(self._awaited):
            self._keep(mark, mark.call, sure=True)
        for run in (run for runs in self.truth.runs.values() for run in runs if run.unwound and run.open):
            run.end = "cancelled"  # it left, and nobody saw it return or raise
        self.truth.whole = watched
        return self.truth

    def _read(self, mark: Mark) -> None:
        if mark.sign is Sign.UNREAD:
            self.truth.unread.append(mark)
        elif mark.sign is Sign.SEEN_STARTING:
            self._awaited.append(mark)
        elif mark.sign is not Sign.NOTHING and (mark.call or mark.sign is not Sign.CARRIED_ON):
            call, sure = (mark.call, True) if mark.call else self._meant(mark)
            self._keep(mark, call, sure=sure)

    def _keep(self, mark: Mark, call: str, *, sure: bool) -> None:
        tool = mark.tool or next((tool for known, tool in self._calls if known == call), "")
        runs = self.truth.runs.setdefault(call, [])
        run = self._run(runs, mark, call)
        if run is None:
            del self.truth.runs[call]
            return
        run.call, run.tool = call, tool
        run.rows.append(mark.row)
        run.unmatched = run.unmatched or not sure
        run.inputs = run.inputs if mark.inputs is None else mark.inputs
        self.truth.tools |= {tool} - {""}
        self._write(run, mark)

    def _run(self, runs: list[Episode], mark: Mark, call: str) -> Episode | None:
        """Give the run that a mark belongs to, a new one where it begins one, ``None`` where it belongs to none."""
        unfinished = [run for run in runs if run.open]
        implied = mark.sign in {Sign.EFFECT, *_ENDS, Sign.UNWOUND, Sign.SEEN_LEAVING, *_SEEN}
        again = mark.sign is Sign.EFFECT and not any(run.entered for run in runs) and not any(not run.effects for run in unfinished)
        if mark.sign in {Sign.ENTERED, Sign.SEEN_STARTING} or again or (implied and not runs):
            self._awaited = [one for one in self._awaited if one is not self._awaited_for(call)]
            runs.append(Episode(entered=mark.sign in {Sign.ENTERED, Sign.SEEN_STARTING}, part=mark.part))
            return runs[-1]
        near = [run for run in unfinished if run.part == mark.part] or unfinished
        if mark.sign is Sign.EFFECT:
            near = [run for run in near if not run.effects] or near
        return (near or runs)[0 if near else -1] if runs else None

    def _awaited_for(self, call: str) -> Mark | None:
        return next((one for one in self._awaited if one.call == call), None)

    def _write(self, run: Episode, mark: Mark) -> None:
        if mark.sign is Sign.EFFECT:
            run.effects += 1
        elif mark.sign is Sign.UNWOUND:
            run.unwound = True
            self.truth.writes_ends.add(run.tool)
        elif mark.sign is Sign.SEEN_LEAVING:
            run.left = True
        elif mark.sign in _ENDS:
            run.end = _ENDS[mark.sign]
            self.truth.writes_ends |= {run.tool} if mark.sign is not Sign.PAUSED else set()
        elif mark.sign in _SEEN and run.open:
            run.end = _SEEN[mark.sign]

    def _meant(self, mark: Mark) -> tuple[str, bool]:
        """Give the call that truth without an id means, and whether that is sure: by who was seen starting, else by tool and order."""
        if mark.sign is Sign.ENTERED and self._awaited:
            return self._awaited[0].call, len(self._awaited) == 1
        runs = self.truth.runs
        named = [call for call, tool in self._calls if mark.tool in {"", tool}]
        fresh = [call for call in named if call not in runs]
        begun = [call for call in runs if any(run.open for run in runs[call]) and (call in named or not mark.tool)]
        if mark.sign is Sign.ENTERED:
            return (fresh or named[-1:] or [mark.tool])[0], True
        return (begun or fresh or named[-1:] or [mark.tool])[0], len(begun) <= 1


def settle(
    truth: Truth, rows: Sequence[Row], *, results: Callable[[Row, str, str], bool], shown: Callable[[Row, str], bool],
    asked: Callable[[Row], bool],
) -> Truth:  # fmt: skip  # a signature in three lines
    """Settle what follows from the runtime's rows beside the truth.

    A side effect counts as an end where a result of that call came and nothing says otherwise; a run that wrote no end, was followed by
    another run of its call and asked for something in between was a pause.
    """
    runtime = [row for row in rows if row.get("src") == "runtime"]
    for call, runs in truth.runs.items():
        came = [int(row["seq"]) for row in runtime if results(row, call, runs[0].tool)] or _fewest(runtime, call, shown)
        for place in reversed(range(len(runs))):
            run = runs[place]
            after = [row for row in came if row > run.rows[-1]]
            if run.open and not run.left and after:
                run.end, run.answered = "end" if run.effects else "", True
                came.remove(after[-1])
        for place, run in enumerate(runs[:-1]):
            stop = runs[place + 1].rows[0]
            before = [row for row in runtime if int(row["seq"]) < stop]
            answered = any(results(row, call, run.tool) for row in before if int(row["seq"]) > run.rows[-1])
            if run.open and not answered and any(asked(row) for row in before):
                run.end = "pause"
    return truth


def _fewest(rows: Sequence[Row], call: str, shown: Callable[[Row, str], bool]) -> list[int]:
    """Give the rows that show a call's results, in the word that repeats itself least."""
    by_word: dict[str, list[int]] = {}
    for row in rows:
        if shown(row, call):
            by_word.setdefault(str(row.get("kind")), []).append(int(row["seq"]))
    return min(by_word.values(), key=len, default=[])
