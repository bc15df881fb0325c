"""What a running tool can say about itself, from async code and from a thread alike.

Outside a guarded body all of it does nothing, so that a tool can be called and tested as the plain function it is.
Every report gives a ``Delivery``: ignore it, ``await`` it, or in a thread ``wait()`` for it. A tool that is about to do
what cannot be called back awaits ``crossed_commitment(...)``, and then goes on knowing that it is on record.
"""

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import date, datetime
from typing import Final, cast

from toolwitness.runtime.courier import Delivery, taken
from toolwitness.runtime.facts import (
    CommitmentCrossed,
    EffectObserved,
    Fact,
    Heartbeat,
    OutputEmitted,
    PartCompleted,
    ProgressReported,
)

_current: Final[ContextVar["BodyContext | None"]] = ContextVar("toolwitness_body", default=None)
_MOST_PERCENT: Final = 100


class BodyContext:
    """The running body, as the tool inside it sees it. Safe to use from any thread."""

    def __init__(
        self,
        post: Callable[[Fact], Delivery],
        number: Callable[[Callable[[int], Fact]], Delivery],
        *,
        lease: str,
        now: Callable[[], datetime],
        stop: threading.Event,
        idempotency_key: str = "",
    ) -> None:
        self._post = post
        self._number = number
        self._now = now
        self._stop = stop
        self.lease = lease
        self.idempotency_key = idempotency_key
        """The key to give to the other side, the same over every attempt of one call; empty where the runtime has none."""

    @property
    def stop_requested(self) -> bool:
        """Whether this body has been asked to stop. A tool that then stops may raise ``StopHonoured`` to say so."""
        return self._stop.is_set()

    def wait_for_stop(self, seconds: float) -> bool:
        """Block this thread until a stop is requested or ``seconds`` are over; tell which. Only for threads."""
        return self._stop.wait(seconds)

    def emit(self, value: object) -> Delivery:
        """Report one piece of output."""
        return self._number(lambda order: OutputEmitted(at=self._now(), order=order, value=value))

    def progress(self, text: str, *, percent: float | None = None) -> Delivery:
        """Report how far the work is; a fraction of a percent is dropped.

        Raises:
            ValueError: ``percent`` is not between 0 and 100.
        """
        if percent is not None and not (math.isfinite(percent) and 0 <= percent <= _MOST_PERCENT):
            raise ValueError(f"percent is {percent!r}: give a number from 0 to 100, or leave it out")
        whole = None if percent is None else int(percent)
        return self._number(lambda order: ProgressReported(at=self._now(), order=order, text=text, percent=whole))

    def part(self, name: str, *, open: Sequence[str]) -> Delivery:  # noqa: A002 - the field's own word: what is still open
        """Report that one part of the work is complete, and name what is still open."""
        return self._post(PartCompleted(at=self._now(), part=name, open=tuple(open)))

    def commit(self, description: str) -> Delivery:
        """Report that the commitment boundary is crossed: from here on cancelling cannot call the effect back."""
        return self._post(CommitmentCrossed(at=self._now(), description=description))

    def effect(self, description: str, *, reference: str | None = None, **fields: object) -> Delivery:
        """Report something that happened in the outside world. Numbers with a fraction are kept as their text."""
        plain = {name: plain_json(value) for name, value in fields.items()}
        return self._post(EffectObserved(at=self._now(), description=description, reference=reference, fields=plain))

    def heartbeat(self) -> Delivery:
        """Report that the body is alive."""
        return self._post(Heartbeat(at=self._now(), lease=self.lease))


def plain_json(value: object) -> object:
    """Give ``value`` as JSON without floats: amounts become text, dates ISO 8601, what JSON lacks its ``str``."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain_json(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain_json(item) for item in cast("Sequence[object]", value)]
    return str(value)


def entered(context: BodyContext) -> None:
    """Make ``context`` the current body for this task and for what it starts."""
    _current.set(context)


def current_body() -> BodyContext | None:
    """Give the body that this code runs in, or ``None`` outside one."""
    return _current.get()


def emit(value: object) -> Delivery:
    """Report one piece of output of the current body."""
    body = current_body()
    return taken() if body is None else body.emit(value)


def progress(text: str, *, percent: float | None = None) -> Delivery:
    """Report how far the current body is."""
    body = current_body()
    return taken() if body is None else body.progress(text, percent=percent)


def part_completed(part: str, *, open: Sequence[str]) -> Delivery:  # noqa: A002 - the field's own word: what is still open
    """Report that the current body has completed one part of its work; ``open`` names what it still has to do."""
    body = current_body()
    return taken() if body is None else body.part(part, open=open)


def crossed_commitment(description: str) -> Delivery:
    """Report that the current body's effect cannot be called back from here on."""
    body = current_body()
    return taken() if body is None else body.commit(description)


def effect_observed(description: str, *, reference: str | None = None, **fields: object) -> Delivery:
    """Report something that the current body did to the outside world."""
    body = current_body()
    return taken() if body is None else body.effect(description, reference=reference, **fields)


def stop_requested() -> bool:
    """Tell whether the current body has been asked to stop."""
    body = current_body()
    return body is not None and body.stop_requested


def idempotency_key() -> str:
    """Give the key under which the other side is to take all attempts of this call for one request; empty outside a body of a desk."""
    body = current_body()
    return body.idempotency_key if body is not None else ""
