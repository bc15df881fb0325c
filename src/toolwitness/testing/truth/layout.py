"""Which files of a directory are captures, which reader reads each, where its truth and its page's own word lie; and why a file is none."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One capture: its rows, and what lies beside it."""

    path: Path
    file: str
    """Its path below the directory that is judged."""
    framework: str
    format_name: str
    truth: Path | None = None
    """Where its truth lies; ``None`` where it lies in the capture itself."""
    ui: Path | None = None
    """Where the package's own page says how each call stands."""

    @property
    def streams(self) -> bool:
        """Whether it is a plain stream, without rows."""
        return self.framework in STREAMS

    @property
    def replayed(self) -> bool:
        """Whether it has rows that a reader can read, and not only what a page said."""
        return not self.path.name.endswith(_TRUTH)


@dataclass(frozen=True, slots=True)
class Skipped:
    """One file that is not judged, and why."""

    file: str
    reason: str


STREAMS: Final = frozenset({"ai-sdk", "ag-ui", "assistant-ui", "copilotkit"})
"""Frameworks whose captures are plain streams, with truth in a file beside them."""

_PLACES: Final[Mapping[str, str]] = {
    "pydantic-ai": "pydantic-ai", "langgraph": "langgraph", "openai-agents": "openai-agents", "mcp": "mcp", "a2a": "a2a",
    "provider-wire": "provider-wire", "aisdk": "ai-sdk", "ai-sdk": "ai-sdk", "agui": "ag-ui", "ag-ui": "ag-ui",
    "assistantui": "assistant-ui", "assistant-ui": "assistant-ui", "copilotkit": "copilotkit", "celery": "celery", "spring-ai": "spring-ai",
}  # fmt: skip  # what a directory is called, and which framework wrote it
_ENGINES: Final = frozenset({
    "temporal", "dbos", "restate", "procrastinate", "prefect", "ray", "nats", "engines", "fanout", "ledger",
})  # fmt: skip  # a set in lines
_WIRES: Final = {"responses": "openai-responses", "chat": "openai-chat", "anthropic": "anthropic"}
_PACKAGES: Final = (
    ("pydantic-ai", "pydantic-ai"), ("openai-agents", "openai-agents"), ("langgraph", "langgraph"), ("a2a", "a2a"), ("mcp", "mcp"),
    ("fastmcp", "mcp"), ("anthropic", "provider-wire"), ("openai", "provider-wire"),
)  # fmt: skip  # the first package that a header names says whose capture it is
_TRUTH: Final = ".truth.jsonl"


def captures_in(directory: Path) -> Iterator[Capture | Skipped]:
    """Go through every file below a directory, in order: each is a capture, lies beside one, or is skipped with its reason."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    claimed: set[Path] = set()
    found: list[Capture | Skipped] = []
    for path in files:
        capture = _capture(path, directory, files)
        if capture is not None:
            found.append(capture)
            claimed |= {one for one in (capture.path, capture.truth, capture.ui) if one is not None}
    found += [Skipped(path.relative_to(directory).as_posix(), _why_not(path, directory, claimed)) for path in files if path not in claimed]
    yield from sorted(found, key=lambda one: one.file)


def framework_of(path: Path, directory: Path) -> str:
    """Give the framework that wrote a file: by the names of the directories above it, else by its header; empty where nobody knows."""
    names = [part.lower() for part in (directory.resolve() / path.relative_to(directory)).parts[:-1]]
    inside = len(path.relative_to(directory).parts)
    for name in reversed(names[-inside - 1 :]):
        if name in _PLACES:
            return _PLACES[name]
        if name in _ENGINES:
            return name
    return _by_header(path) if path.suffix == ".jsonl" else ""


def _capture(path: Path, directory: Path, files: list[Path]) -> Capture | None:
    framework, name = framework_of(path, directory), path.name
    beside = {one.name for one in files if one.parent == path.parent}
    file = path.relative_to(directory).as_posix()
    if framework == "celery" and path.suffix == ".json" and not name.startswith(("bench", "_")):
        return Capture(path=path, file=file, framework=framework, format_name="celery")
    if not framework or framework in _ENGINES or path.suffix != ".jsonl":
        return None
    if framework not in STREAMS:
        return Capture(path=path, file=file, framework=framework, format_name=_format(framework, name))
    stem = name.removesuffix(_TRUTH if name.endswith(_TRUTH) else ".jsonl")
    if name.endswith(_TRUTH) and f"{stem}.jsonl" in beside:
        return None
    truth = path.parent / f"{stem}{_TRUTH}"
    pages = (path.parent / f"{stem}.ui.json", path.parent / "_client_results.json")
    ui = next((page for page in pages if page.name in beside), None)
    return Capture(path=path, file=file, framework=framework, format_name=framework, truth=truth if truth.name in beside else None, ui=ui)


def _format(framework: str, name: str) -> str:
    if framework == "provider-wire":
        return next((form for prefix, form in _WIRES.items() if name.startswith(prefix)), "")
    recorded = name.startswith("hook_") and framework in {"pydantic-ai", "langgraph", "openai-agents"}
    return f"{framework}-recorder" if recorded else framework


def _why_not(path: Path, directory: Path, claimed: set[Path]) -> str:
    framework, name = framework_of(path, directory), path.name
    stem = re.sub(r"\.(sse|txt)$", "", name)
    if path.suffix in {".sse", ".txt"} and any((path.parent / f"{stem}{end}.jsonl") in claimed for end in ("", ".data", ".transport")):
        return f"the same bytes as {stem}.jsonl, framed; judged there"
    if framework in _ENGINES:
        return "an engine's own history: no framework's calls and no rows of truth; no reader reads it"
    if path.suffix == ".md":
        return "documentation"
    if framework and path.suffix == ".json":
        return "no recording: what a page's reducer did, a summary or a measurement"
    return "no capture: neither its directory nor its first line names a framework that we read" if not framework else "no capture"


def _by_header(path: Path) -> str:
    try:
        with path.open("rb") as lines:
            first: object = json.loads(lines.readline() or b"null")
    except (OSError, ValueError):
        return ""
    if not isinstance(first, dict):
        return ""
    header = cast("dict[str, Any]", first)
    versions = header.get("versions")
    packages = " ".join(cast("dict[str, Any]", versions)) if isinstance(versions, dict) else ""
    named = next((framework for package, framework in _PACKAGES if package in packages), "")
    return named or _by_chunk(header)


def _by_chunk(chunk: Mapping[str, Any]) -> str:
    kind = str(chunk.get("type") or "")
    if re.fullmatch(r"[A-Z]+(_[A-Z]+)+", kind):
        return "ag-ui"
    return "ai-sdk" if kind in {"start", "start-step", "tool-input-start", "tool-input-available", "text-start"} else ""
