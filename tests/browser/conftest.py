"""A real Chromium for the tests of the page, started once, and the bundle built from ``web/`` where it is not up to date."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.browser.stage import STATIC, Stage

WEB = Path(__file__).parents[2] / "web"
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip  # one purpose: a browser that starts anywhere and talks to nobody by itself


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run every coroutine test of this folder on the loop that the browser lives on."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


def _chromium() -> str:
    names = (os.environ.get("TOOLWITNESS_CHROMIUM") or "", "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("No Chromium was found. On Debian: apt-get install chromium fonts-noto-core")
    return found


@pytest.fixture(scope="session")
def bundle() -> Path:
    """Give the folder of the built elements, built anew where a source is younger."""
    sources = [path for path in WEB.glob("src/**/*.ts") if not path.name.endswith(".test.ts")]
    newest = max(path.stat().st_mtime for path in [*sources, WEB / "build.mjs"])
    built = STATIC / "toolwitness.js"
    if not built.exists() or built.stat().st_mtime < newest:
        if not (WEB / "node_modules").exists():
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=WEB, check=True, capture_output=True)
        subprocess.run(["npm", "run", "build"], cwd=WEB, check=True, capture_output=True)
    return STATIC


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Give the one browser of the session; each test opens its own context."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=_chromium(), args=list(QUIET))
        yield chromium
        await chromium.close()


@pytest_asyncio.fixture(loop_scope="session")
async def stage(browser: Browser, bundle: Path) -> AsyncIterator[Stage]:
    """Give a bare page with the elements on it; the test fails when a script fails or an unexpected address is asked for."""
    opened = Stage(browser, bundle)
    yield opened
    await opened.close()
    assert opened.faults == [], "the page itself reported faults"
