"""What the application sends back for a call: one word for results, errors and notices."""

import json
from typing import Any

from toolwitness.reading import answers, endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.disguises import error_text
from toolwitness.reading.lenient import items, members, text


def plain(content: Any) -> Any:
    """Give the text of a content that is one part of text, and any other content as it is."""
    parts = [members(part) for part in items(content)]
    if len(parts) == 1 and parts[0].get("type") in ("text", "input_text", "output_text") and isinstance(parts[0].get("text"), str):
        return parts[0]["text"]
    return content


def reused(calls: Calls, provider_id: str) -> str:
    """Say that an id was given to a call before; each is a call of its own."""
    return f"provider-id-reused:{provider_id}: the id of an earlier call; this one is a call of its own" if calls.known(provider_id) else ""


def shown(content: Any) -> str:
    """Show an answer in a report."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)


def take(calls: Calls, call: Call, word: str, content: Any, *, status: str = "") -> str:
    """Record an answer; one that is not final, or reads like an error or a cancellation, is doubted."""
    content = plain(content)
    if status == "in_progress":
        return "an output that is still being made"
    if status == "failed":
        endings.fail(calls, call, f"{word} failed", "tool-error", content, detail="The output's own status says that it failed.")
    elif status == "incomplete":
        endings.doubt(calls, call, f"{word} doubted", "the output's own status says that it is incomplete")
    elif found := error_text(text(content)):
        endings.doubt(
            calls, call, f"{word} doubted", f"the output reads like an error ({found}), and results and errors have one word here"
        )
    else:
        return answers.take_result(calls, call, word, content)
    return ""
