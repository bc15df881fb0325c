"""What only raw reports expect: how many calls, in which order, with which results; and flags that a reader reports in words."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.contract.encode import encode
from toolwitness.core.findings import Code
from toolwitness.core.states import TERMINAL
from toolwitness.core.strict_json import loads_strict
from toolwitness.presentation.foreign import line
from toolwitness.runtime.encoding import MARK
from toolwitness.testing.reports import flags as known_flags
from toolwitness.testing.reports.case import Case, Fields
from toolwitness.testing.reports.judging import judge
from toolwitness.testing.reports.raw.wire import Wire
from toolwitness.testing.reports.story import texts

Check = Callable[[Case, Sequence[Wire], Any], None]


def judge_raw(case: Case, expected: Fields, wires: Sequence[Wire]) -> None:
    """Check what only raw reports expect, and hand the rest to the judge of every report."""
    rest = dict(expected)
    for key, check in CHECKS.items():
        if key in rest:
            check(case, wires, rest.pop(key))
    left = _flags(case, wires, rest.pop("flags", []))
    if left:
        rest["flags"] = left
    judge(case, rest)


# ── calls ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _invocations(case: Case, wires: Sequence[Wire], value: Any) -> None:
    case.findings.compare("invocations", value, len(case.now.documents))


def _order(case: Case, wires: Sequence[Wire], value: Any) -> None:
    names = [name for name, known in case.stage.names.items() if known in case.now.documents]
    case.findings.compare("order", value, names)


def _results(case: Case, wires: Sequence[Wire], value: Any) -> None:
    for name, wanted in cast("Fields", value).items() if isinstance(value, Mapping) else ():
        document = case.document(name)
        output: Fields = document["output"] if document else {}
        case.findings.compare(f"results/{name}", wanted, output.get("result", output.get("resultText")))


def _closure(case: Case, wires: Sequence[Wire], value: Any) -> None:
    """Compare closures as every report's; whoever owns the authorization of a call is its ``authorization``."""
    wanted: dict[str, Any] = {}
    for name, parts in cast("Fields", value).items() if isinstance(value, Mapping) else ():
        document = case.document(name)
        owner = document["authorization"]["owner"] if document else None
        owned = isinstance(parts, Mapping) and parts.get("owner") == "authorization" and owner
        wanted[name] = {**parts, "owner": ["authorization", owner]} if owned else parts
    judge(case, {"closure": wanted})


def _loads(case: Case, wires: Sequence[Wire], value: Any) -> None:
    """Check that every recorded event and every document can be read back from what is stored."""
    whole = all(json.loads(json.dumps(document, default=str)) for document in case.now.documents.values())
    case.findings.compare("record_loads", value, whole and bool(case.recorded) and bool(case.now.documents))


def _utf8(case: Case, wires: Sequence[Wire], value: Any) -> None:
    """Check that documents and cards can be written as UTF-8, and that strict JSON reads them again."""
    written = [encode(shown) for shown in (*case.now.documents.values(), *case.now.cards.values())]
    again = [loads_strict(one) for one in written]
    case.findings.compare("record_can_be_written_again_as_utf8", value, len(again) == len(written) > 0)


def _transport(case: Case, wires: Sequence[Wire], value: Any) -> None:
    """Check that what goes to a browser is strict JSON without a number that a browser would round."""
    cards = [loads_strict(encode(card)) for card in case.now.cards.values()]
    case.findings.compare("transport", "no number that a browser would round", "none" if not any(map(_rounded, cards)) else "one",
                          holds=not any(map(_rounded, cards)))  # fmt: skip  # one comparison


def _rounded(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_rounded, cast("Fields", value).values()))
    if isinstance(value, list):
        return any(map(_rounded, cast("list[Any]", value)))
    return isinstance(value, int) and abs(value) > _LARGEST


_LARGEST: Final = 2**53 - 1


def _clip(case: Case, wires: Sequence[Wire], value: Any) -> None:
    """Check every limit of the report: a cut is UTF-8, parts no letter from its marks and no joined sign, and says how much is gone."""
    told = case.stage.story.input.get("clip_test")
    test: Fields = told if isinstance(told, Mapping) else {}
    text = str(test.get("text") or "")
    for limit in [one for one in test.get("limits") or () if isinstance(one, int)]:
        shown = line(text, cut_at=limit)
        kept, _, said = shown.partition("…")
        follows = text[len(kept) : len(kept) + 1]
        parted = bool(follows) and (unicodedata.category(follows).startswith("M") or "\u200d" in {follows, kept[-1:]})
        whole = text.startswith(kept) and not parted and (kept == text or f"{len(text) - len(kept)} more" in said)
        case.findings.compare(f"clip/{limit}", "whole signs", shown.encode("utf-8").decode(), holds=whole and len(kept) <= limit)


def _display(case: Case, wires: Sequence[Wire], value: Any) -> None:
    """Check the values that must be on a card digit by digit; whatever else ``display`` says is for people."""
    if case.stage.story.kind != "raw:json-text" or not isinstance(value, Mapping):
        return
    shown = json.dumps([encode(card).decode() for card in case.now.cards.values()], ensure_ascii=False)
    for name, wanted in cast("Fields", value).items():
        exact = re.search(rf"(?<![\w.]){re.escape(str(wanted))}(?![\w.]*\d)", shown) is not None
        case.findings.compare(f"display/{name}", wanted, "on the card" if exact else "not on the card", holds=exact)


CHECKS: Final[Mapping[str, Check]] = MappingProxyType({
    "record_loads": _loads,
    "record_can_be_written_again_as_utf8": _utf8,
    "transport": _transport,
    "clip": _clip,
    "display": _display,
    "invocations": _invocations,
    "order": _order,
    "results": _results,
    "closure": _closure,
})  # fmt: skip  # one line a key


# ── flags ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_REMARKS: Final[Mapping[str, str]] = MappingProxyType({
    "denial-reported-as-error": r"(a|the) denial (is (reported|stored) as|comes again as) (an error|a result)",
    "status-unknown": r"does not have the state|does not have this (state|word|status)",
    "cancel-in-progress": r"\bcancel+ing\b",
    "run-finished-with-open-call": r"run finished while .* is open",
    "run-failed-after-tool-succeeded": r"run ended by an error after calls of it had ended",
    "cancel-refused-already-complete": r"a refused request",
    "provider-id-reused": r"(id|it) (was|is) (used|given) (before|again|to)|reused|another call",
    "ambiguous-result-pairing": r"several|more than one|ambiguous|whose it is|nobody's",
    "unassigned-result": r"several|more than one|ambiguous|whose it is|nobody's|unassigned",
    "ill-formed-text": r"lone-surrogate|invalid-utf-8",
    "status-alias": r"no version's spelling|read as",
})  # fmt: skip  # one line a word
"""What a reader reports in words, beside what it records: the flag, and the words."""
_DERIVED: Final = frozenset({"status-alias", "cancel-answered-without-terminal-state"})
"""Flags that show in the record beside the items as they came."""


def _flags(case: Case, wires: Sequence[Wire], value: Any) -> list[str]:
    """Check the flags that a reader's remark or a mapped spelling shows; give the others back."""
    left: list[str] = []
    for flag in texts(value):
        said = _sentence(case, wires, flag)
        if said is not None:
            case.findings.compare(f"{case.prefix}flags/{flag}", "on record", "on record" if said else "not on record")
            continue
        word, call, about, seq = _parts(flag)
        shown = (
            _coded(case, word, call)
            or _remarked(case, wires, word, call, about, seq)
            or _aliased(case, word, call)
            or _unanswered(case, wires, word, call)
        )
        if shown:
            case.findings.compare(f"{case.prefix}flags/{flag}", "on record", "on record")
        elif (word in _REMARKS or word in _DERIVED or word in set(Code)) and known_flags.parts_of(flag)[0] == "":
            case.findings.compare(f"{case.prefix}flags/{flag}", "on record", "not on record")
        else:
            left.append(flag)
    return left


def _sentence(case: Case, wires: Sequence[Wire], flag: str) -> bool | None:
    """Check a flag that is written as a sentence; ``None`` where it is none that we know."""
    strict = re.match(r"^(result \d+): not strict JSON$", flag)
    if strict:
        return any(remark.word == strict[1] for wire in wires for remark in wire.remarks)
    if re.search(r"unseriali[sz]able|tagged description", flag):
        ended = (d for d in case.now.documents.values() if d["state"] == "succeeded")
        return any(MARK in json.dumps(d["output"].get("result"), default=str) for d in ended)
    return None


def _parts(flag: str) -> tuple[str, str, str, int | None]:
    """Take a flag apart: its word, its call, whatever else it names, and its item."""
    word = call = about = ""
    seq: int | None = None
    for part in flag.split(":"):
        if re.match(r"^\S+#\d+$", part):
            call = part
        elif part.removeprefix("seq ").isdigit():
            seq = int(part.removeprefix("seq "))
        elif not word:
            word = part
        else:
            about = part
    return word, call, about, seq


def _remarked(case: Case, wires: Sequence[Wire], word: str, call: str, about: str, seq: int | None) -> bool:
    pattern = _REMARKS.get(word)
    if pattern is None:
        return False
    named = [wire_id for wire_id, name in _map(case).items() if name == call] if call else [about] if about else []
    if call and not named:
        return False
    for wire in wires:
        for remark in wire.remarks:
            item = str(wire.items.get(remark.seq, ""))
            mine = not named or any(name in item or name in remark.why for name in named) or _answered(wire, remark.seq, named)
            if mine and (seq is None or seq == remark.seq) and re.search(pattern, f"{remark.word}: {remark.why}"):
                return True
    return False


def _coded(case: Case, word: str, call: str) -> bool:
    """Tell whether a finding of ours has the flag's own word for its code, on the call that it names."""
    documents = case.now.documents
    about = [documents[case.id_of(call)]] if case.id_of(call) in documents else [] if call else list(documents.values())
    return any(str(finding["code"]) == word for document in about for finding in document["findings"])


def _answered(wire: Wire, seq: int, named: Sequence[str]) -> bool:
    """Tell whether an item answers a request that names one of these ids."""
    answer = wire.items.get(seq, {})
    response: Any = answer.get("response") or answer
    wanted = response.get("id") if isinstance(response, Mapping) else None
    asked = [item for item in wire.items.values() if wanted is not None and _id_of(item) == wanted]
    return any(name in str(item) for item in asked for name in named)


def _id_of(item: Mapping[str, Any]) -> Any:
    request = item.get("request") or item
    return request.get("id") if isinstance(request, Mapping) else None


def _aliased(case: Case, word: str, call: str) -> bool:
    """Tell whether a state was read from another spelling: the record keeps the word of the table, and the bytes as they came."""
    if word != "status-alias":
        return False
    mine = case.id_of(call)
    for one in case.recorded:
        row = str(one.event.adapter or "").partition("#")[2]
        if one.event.invocation_id == mine and row.startswith("state ") and row.removeprefix("state ").split(" ")[0]:
            said = _spelling(case, one)
            if said and said != row.removeprefix("state "):
                return True
    return False


def _spelling(case: Case, recorded: Any) -> str:
    """Give the state as the item wrote it."""
    item = next((step.fields for step in case.stage.story.steps if f"row:{step.seq}" == recorded.event.id.partition(".")[0]), {})
    update: Any = item.get("update") or item
    status = update.get("status") if isinstance(update, Mapping) else None
    return str(status.get("state") or "") if isinstance(status, Mapping) else ""


def _unanswered(case: Case, wires: Sequence[Wire], word: str, call: str) -> bool:
    """Tell whether a request to cancel was answered, and the record shows neither an acknowledgement nor an end because of it."""
    document = case.document(call) if call else None
    if word != "cancel-answered-without-terminal-state" or document is None:
        return False
    named = [wire_id for wire_id, name in _map(case).items() if name == call]
    answered = any(_answered(wire, seq, named) for wire in wires for seq, item in wire.items.items() if "response" in item)
    asked = any(request["kind"] == "cancellation" for request in document["requests"])
    return answered and asked and document["state"] not in TERMINAL and document["closure"]["acknowledgementRef"] is None


def _map(case: Case) -> Mapping[str, str]:
    named = case.stage.story.input.get("map")
    return {str(wire_id): str(name) for wire_id, name in named.items()} if isinstance(named, Mapping) else {}
