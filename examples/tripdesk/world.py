"""The world outside: what the travel providers would answer. Invented, deterministic, and as awkward as the real ones."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

_POLICY = (
    "Changes are possible until two hours before departure against the fee named with each leg; after that the fare is forfeited except for "
    "taxes. Name corrections of up to three characters are free within 24 hours of issue. Unaccompanied minors, musical instruments in the "
    "cabin, and animals need a separate confirmation that is not part of this offer. In case of a missed connection on one ticket the carrier "
    "rebooks on the next service with free seats; on separate tickets it does not. "
)


def _leg(number: int, origin: str, to: str, departs: str, arrives: str, seats: int) -> dict[str, Any]:
    return {
        "leg": number, "from": origin, "to": to, "departs": departs, "arrives": arrives, "carrier": f"NW {700 + number}", "seats_left": seats,
        "fees": [{"name": "change", "amount": "60.00", "currency": "EUR"}, {"name": "second bag", "amount": "45.00", "currency": "EUR"}],
        "warnings": ["short connection: 40 minutes"] if number % 3 == 0 else [],
    }  # fmt: skip  # facts in lines


def itineraries() -> dict[str, Any]:
    """Give two options with fourteen legs, fees, warnings and the fare rules in full."""
    stops = ["AMS", "CPH", "GOT", "OSL", "TRD", "BOO", "EVE", "TOS"]
    legs = [_leg(i + 1, stops[i], stops[i + 1], f"2027-01-14T{7 + i:02d}:15", f"2027-01-14T{8 + i:02d}:05", 9 - i) for i in range(7)]
    back = [_leg(i + 8, b, a, f"2027-01-18T{7 + i:02d}:30", f"2027-01-18T{8 + i:02d}:20", 4 + i) for i, (a, b) in enumerate(zip(stops, stops[1:], strict=False))]
    return {
        "options": [
            {"id": "it-7", "title": "AMS → OSL, Thu 14 Jan 09:15, seat included", "total": "412.50", "currency": "EUR", "legs": legs, "booking_reference": 7300000000000000123},
            {"id": "it-9", "title": "AMS → OSL with two stops", "total": "287.00", "currency": "EUR", "legs": back, "booking_reference": 7300000000000000124},
        ],
        "fare_rules": (_POLICY * 6).strip(),
        "warnings": ["Prices hold for five minutes.", "Option it-9 arrives after the last airport train."],
    }  # fmt: skip  # facts in lines


@dataclass
class World:
    """The providers' side: a hotel service that is down at first, and a cash desk that keeps what it took."""

    pace: float = 1.0
    """Seconds of the demo for one second of the story."""
    charges: list[dict[str, str]] = field(default_factory=list)
    hotel_calls: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def seconds(self, story: float) -> float:
        """Give how long ``story`` seconds take here."""
        return story * self.pace

    def hotels_are_up(self) -> bool:
        """Answer whether the hotel service is there: not the first time."""
        with self._lock:
            self.hotel_calls += 1
            return self.hotel_calls > 1

    def charge(self, amount: str, currency: str, recipient: str) -> dict[str, str]:
        """Take the money, and give the provider's reference."""
        with self._lock:
            charge = {"reference": f"NWP-{8800 + len(self.charges)}", "amount": amount, "currency": currency, "recipient": recipient}
            self.charges.append(charge)
            return charge

    def charge_slowly(self, amount: str, currency: str, recipient: str) -> dict[str, str]:
        """Take the money after a blocking wait that nobody can interrupt, as many a provider's library does."""
        time.sleep(self.seconds(1.5))
        return self.charge(amount, currency, recipient)
