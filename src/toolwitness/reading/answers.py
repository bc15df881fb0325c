"""What a wire hands over as the answer to a call: believed, doubted, or the same answer again.

A wire has one word for every result and at most one for every error. A value that says of itself that it was cancelled, or that it failed,
is not believed as a success; a text that names an abort or a time-out is not believed as a failure (R11). Both leave the outcome unknown.
``word doubted`` names the row of the table for an answer that is not believed.
"""

from hashlib import sha256
from typing import Any, Final

from toolwitness.reading import endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.disguises import disguised_cancel, disguised_failure, disguised_timeout
from toolwitness.reading.pen import exact

SAME_AGAIN: Final = "the same answer to the same call came again"
MASKED: Final = frozenset({"An error occurred.", "An error occurred", "Internal Server Error"})
"""What a server says instead of an error, so that nothing leaks; a cancelled body looks the same."""


def first_time(call: Call, *parts: Any) -> bool:
    """Tell whether this answer is new to the call, and remember it."""
    key = sha256(b"\0".join(exact(part) for part in parts)).hexdigest()
    if key in call.results:
        return False
    call.results.add(key)
    return True


def take_result(calls: Calls, call: Call, word: str, content: Any, *, time: str | None = None) -> str:
    """Record what a result says; gives why it says nothing, where it does not."""
    if not first_time(call, "result", content):
        return SAME_AGAIN
    if cancelled := disguised_cancel(content):
        endings.doubt(calls, call, f"{word} doubted", f"the result reads like a cancellation ({cancelled})", time=time)
    elif failed := disguised_failure(content):
        endings.doubt(calls, call, f"{word} doubted", f"the result says of itself that it failed ({failed})", time=time)
    else:
        endings.succeed(calls, call, word, content, time=time)
    return ""


def take_error(calls: Calls, call: Call, word: str, content: Any, *, time: str | None = None, failed_word: str = "") -> str:
    """Record what an error says; gives why it says nothing, where it does not. ``failed_word`` is the row of a failure, if not ``word``."""
    if not first_time(call, "error", content):
        return SAME_AGAIN
    why = disguised_cancel(content) or disguised_timeout(content)
    if why:
        endings.doubt(calls, call, f"{word} doubted", f"the error reads like a cancellation or a time-out ({why})", time=time)
        return ""
    masked = isinstance(content, str) and content.strip() in MASKED
    endings.fail(
        calls, call, failed_word or word, "masked-error" if masked else "tool-error", content, time=time,
        detail="The call ended with an error that the server does not show." if masked else "The call ended with an error.",
        effects="unknown" if masked else None,
    )  # fmt: skip  # facts in lines
    return ""
