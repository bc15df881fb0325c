"""The world outside: what the travel providers would answer. Invented, deterministic, and as awkward as the real ones."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

_FARE_RULES = (
    "Changes are possible until two hours before departure against the fee named with each leg; after that the fare is forfeited except "
    "for taxes. Name corrections of up to three characters are free within 24 hours of issue. Unaccompanied minors, musical instruments "
    "in the cabin, and animals need a separate confirmation that is not part of this offer. In case of a missed connection on one ticket "
    "the carrier rebooks on the next service with free seats; on separate tickets it does not. "
)
_STOPS = ("AMS", "CPH", "GOT", "OSL", "TRD", "BOO", "EVE", "TOS")


def _leg(number: int, origin: str, to: str, departs: str, arrives: str, seats: int) -> dict[str, Any]:
    """Give one leg with its fees, and with a warning on every third."""
    return {
        "leg": number, "from": origin, "to": to, "departs": departs, "arrives": arrives, "carrier": f"NW {700 + number}",
        "seats_left": seats,
        "fees": [
            {"name": "change", "amount": "60.00", "currency": "EUR"},
            {"name": "second bag", "amount": "45.00", "currency": "EUR"},
        ],
        "warnings": ["short connection: 40 minutes"] if number % 3 == 0 else [],
    }  # fmt: skip  # facts in lines


def _option(option_id: str, title: str, total: str, legs: list[dict[str, Any]], reference: int) -> dict[str, Any]:
    """Give one offer; its reference is a number that no double holds."""
    return {"id": option_id, "title": title, "total": total, "currency": "EUR", "legs": legs, "booking_reference": reference}


def itineraries() -> dict[str, Any]:
    """Give two options with fourteen legs, fees, warnings and the fare rules in full."""
    hops = list(enumerate(pairwise(_STOPS)))
    out = [_leg(i + 1, a, b, f"2027-01-14T{7 + i:02d}:15", f"2027-01-14T{8 + i:02d}:05", 9 - i) for i, (a, b) in hops]
    back = [_leg(i + 8, b, a, f"2027-01-18T{7 + i:02d}:30", f"2027-01-18T{8 + i:02d}:20", 4 + i) for i, (a, b) in hops]
    return {
        "options": [
            _option("it-7", "AMS → OSL, Thu 14 Jan 09:15, seat included", "412.50", out, 7300000000000000123),
            _option("it-9", "AMS → OSL with two stops", "287.00", back, 7300000000000000124),
        ],
        "fare_rules": (_FARE_RULES * 6).strip(),
        "warnings": ["Prices hold for five minutes.", "Option it-9 arrives after the last airport train."],
    }


def hotels() -> dict[str, Any]:
    """Give two hotels, one with a name that runs from right to left."""
    return {
        "hotels": [
            {"name": "Grand Hôtel d’Oslo", "night": "141.00", "currency": "EUR", "breakfast": True},
            {"name": "فندق الشمال", "night": "118.00", "currency": "EUR", "breakfast": False},
        ],
        "warnings": ["Tourist tax is paid at the desk."],
    }


@dataclass
class World:
    """The providers' side: a hotel service that is down at first, and a cash desk that keeps what it took."""

    pace: float = 1.0
    """Seconds of the demo for one second of the story."""
    patience_seconds: float = 0.0
    """How long a provider that somebody is to interrupt keeps on beyond its time; for a script, which must not depend on a fast machine."""
    charges: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    hotel_calls: int = 0
    trains_were_stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def seconds(self, story: float) -> float:
        """Give how long ``story`` seconds take here."""
        return story * self.pace

    def no_less_than_patience(self, story: float) -> float:
        """Give how long ``story`` seconds take here where somebody must get to something in that time."""
        return max(self.seconds(story), self.patience_seconds)

    def hotels_are_up(self) -> bool:
        """Answer whether the hotel service is there: not the first time."""
        with self._lock:
            self.hotel_calls += 1
            return self.hotel_calls > 1

    def about_trains(self) -> str:
        """Say what the train search amounts to."""
        return "The train search was stopped; nothing is claimed about trains." if self.trains_were_stopped else "Every train takes longer."

    def charge(self, amount: str, currency: str, recipient: str) -> dict[str, str]:
        """Take the money, and give the provider's reference."""
        with self._lock:
            charge = {"reference": f"NWP-{8800 + len(self.charges)}", "amount": amount, "currency": currency, "recipient": recipient}
            self.charges.append(charge)
            return charge

    def charge_slowly(self, amount: str, currency: str, recipient: str, *, asked_to_stop: Callable[[], bool]) -> dict[str, str]:
        """Take the money after a blocking wait that nobody can interrupt, as many a provider's library does.

        ``asked_to_stop`` does not stop it: with patience, the provider is merely not done before somebody has asked.
        """
        time.sleep(self.seconds(8))
        latest = time.monotonic() + self.patience_seconds
        while time.monotonic() < latest and not asked_to_stop():
            time.sleep(0.01)
        return self.charge(amount, currency, recipient)
