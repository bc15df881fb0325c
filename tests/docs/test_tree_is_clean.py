"""The tree holds nothing that belongs to one machine, one registry or one unfinished afternoon."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Put together here, so that this file does not find itself.
LEFT_OPEN = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|Users|work|farm|ro" + r"ot)/[a-z]\w*", re.IGNORECASE)
ADDRESS = re.compile(r"https?://|\"resolved\":|--index-url|--extra-index-url|--find-links")
RECORDED = ("spec/captures/", "tests/captures/")


def tracked(*patterns: str) -> list[Path]:
    run = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *patterns],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    paths = [Path(name) for name in run.stdout.split("\0") if name and not name.startswith(RECORDED)]
    return [path for path in paths if (ROOT / path).is_file()]


def found(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    lines: list[str] = []
    for path in paths:
        text = (ROOT / path).read_bytes().decode("utf-8", "replace")
        if "\0" in text:
            continue
        lines += [f"{path}:{number}: {line.strip()[:120]}" for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]
    return lines


def test_nothing_is_left_open_in_a_comment() -> None:
    code = tracked("src", "web/src", "tests", "scripts", "examples", "bench", "docs", "*.md", "Makefile", ".ci")
    assert found(LEFT_OPEN, code) == []


def test_no_path_of_one_machine_is_in_the_tree() -> None:
    assert found(MACHINE_PATH, tracked()) == []


def test_no_lock_names_a_registry() -> None:
    locks = tracked("requirements/*.txt")
    assert locks, "the requirements locks are missing"
    assert found(ADDRESS, locks) == []
    package_locks = tracked("*package-lock.json")
    assert found(re.compile(r'"resolved":\s*"http'), package_locks) == []


def test_every_locked_requirement_has_a_hash() -> None:
    for lock in tracked("requirements/*.txt"):
        text = (ROOT / lock).read_text(encoding="utf-8")
        requirements = [part for part in re.split(r"(?m)^(?=\w)", text) if part[:1].isalnum()]
        bare = [requirement for requirement in requirements if "--hash=sha256:" not in requirement]
        assert bare == [], lock


def test_what_is_built_is_not_in_the_tree() -> None:
    built = [path for path in tracked() if {"node_modules", "dist", "site", "static"} & set(path.parts) or path.name == "uv.lock"]
    assert built == []


def test_every_ignore_carries_its_reason_in_words() -> None:
    marker = re.compile(
        r"#\s*(?:noqa(?::\s*[A-Z0-9, ]+)?|type:\s*ignore(?:\[[^\]]*\])?|pyright:\s*ignore(?:\[[^\]]*\])?|fmt:\s*\w+)(?P<rest>.*)$"
    )
    silent: list[str] = []
    for path in tracked("*.py"):
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
            match = marker.search(line)
            if match and not re.search(r"[a-z]{2,}", match["rest"]) and "fmt: on" not in line:
                silent.append(f"{path}:{number}: {line.strip()}")
    assert silent == []


def test_no_file_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "handler", "processor", "data", "info"}
    named = [path for path in tracked("src", "web/src") if path.stem.lower().split(".")[0] in empty or empty & set(path.parts[:-1])]
    assert named == []
