"""What holds for every test: nothing is left out in silence, and no test fails because a machine was slow."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A deadline would measure the machine, not the code; the blob lets anyone repeat a failure found elsewhere.
settings.register_profile("toolwitness", deadline=None, print_blob=True)
settings.load_profile("toolwitness")

LEFT_OUT = ("skipped", "xfailed", "deselected")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nothing-left-out",
        action="store_true",
        default=bool(os.environ.get("CI")),
        help="fail when a test is skipped, expected to fail or deselected (always so where CI is set)",
    )


def _left_out(config: pytest.Config) -> dict[str, int]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return {kind: len(reporter.stats.get(kind, ())) if reporter else 0 for kind in LEFT_OUT}


def pytest_sessionfinish(session: pytest.Session) -> None:
    left_out = any(_left_out(session.config).values())
    if left_out and session.config.getoption("--nothing-left-out") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    counts = _left_out(config)
    terminalreporter.write_line(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if any(counts.values()) and config.getoption("--nothing-left-out"):
        terminalreporter.write_line("A test was left out, and here none may be: that is a failure.", red=True)
