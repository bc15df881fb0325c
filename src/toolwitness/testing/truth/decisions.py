"""Who decided what: decisions that somebody really made, as the driver's rows and the protocol's own words tell."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.testing.truth.episodes import Row

_GRANTS: Final = re.compile(r"approv|accept|\btrue\b|\byes\b|resume with context|'edit'|\"edit\"|\bedit\b", re.IGNORECASE)
_DENIALS: Final = re.compile(r"denied|\bden(y|ies)|reject|declin|\bfalse\b|\bno\b|too expensive", re.IGNORECASE)
_GRANTED_INSIDE: Final = re.compile(
    r"'approved': true|'approve': true|tool-approved|'status': 'approved'|'isautomatic': true|hitl_edited_tool_calls", re.IGNORECASE
)
_DENIED_INSIDE: Final = re.compile(
    r"denied|'approved': false|'approve': false|approval_rejected|rejected|not approved|decline", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision that was made: granted or denied, about one call or whichever was asked about, and the row that tells."""

    granted: bool
    row: int
    call: str = ""
    text: str = ""


def decisions(rows: Iterable[Row], calls: Sequence[str]) -> list[Decision]:
    """Give every decision that the rows hold, for the calls of a record."""
    rows, found = list(rows), list[Decision]()
    named = {call: aliases(rows, call) for call in calls if call}
    for row in rows:
        text = f"{row.get('kind')} {row.get('event')}"
        number = int(row.get("seq") or 0)
        about = [call for call, names in named.items() if any(_names(name, row.get("event")) for name in names)]
        if row.get("src") == "driver" or (row.get("src") == "truth" and str(row.get("kind")).startswith("user.")):
            for granted, words in ((True, _GRANTS), (False, _DENIALS)):
                if words.search(text):
                    found += [Decision(granted=granted, row=number, call=call, text=text) for call in about or ("",)]
        elif row.get("src") == "runtime":
            found += [Decision(granted=True, row=number, call=call, text=text) for call in about if _GRANTED_INSIDE.search(text)]
            found += [Decision(granted=False, row=number, call=call, text=text) for call in about if _DENIED_INSIDE.search(text)]
            found += [
                Decision(granted=flag, row=number, call=call, text=text)
                for call in about for flag in (True, False) if f"'{call.lower()}': {str(flag).lower()}" in text.lower()
            ]  # fmt: skip  # one condition
    return found


def aliases(rows: Iterable[Row], call: str) -> set[str]:
    """Give what a call is called in the rows: its id, and the id of the message that carries its result."""
    found = {call}
    for row in rows:
        event: Any = row.get("event")
        if isinstance(event, dict) and str(event.get("toolCallId") or "") == call and event.get("messageId"):
            found.add(str(event["messageId"]))
    return found


def _names(call: str, event: Any) -> bool:
    """Tell whether an event names a call, and not one whose id only begins the same."""
    return bool(re.search(rf"(?<![\w-]){re.escape(call)}(?![\w-])", str(event)))
