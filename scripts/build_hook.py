"""Hatch's build hook promises that a wheel never leaves without the browser's elements in it.

The elements in ``src/toolwitness/server/static`` are generated from ``web/`` and are not under version control. Where
Node is at hand they are built here; where it is not, what lies there already is taken (an sdist carries it). A wheel
with neither would serve an empty page, so that build fails. An editable install needs no elements and never fails
over them: ``make web`` builds them when they are wanted.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ELEMENTS = ("toolwitness.js", "toolwitness.css")


class ElementsBuildHook(BuildHookInterface):
    """Builds the elements before a wheel or an sdist is packed, if Node is at hand."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Leave the elements in the static folder, or stop a build that would miss them."""
        if version == "editable":
            return
        root = Path(self.root)
        web = root / "web"
        npm = shutil.which("npm")
        if npm and (web / "package.json").exists():
            self._build(npm, web)
        static = root / "src" / "toolwitness" / "server" / "static"
        missing = [name for name in ELEMENTS if not (static / name).exists()]
        if missing:
            message = (
                f"The wheel would hold no {' and no '.join(missing)}: the page would stay empty. "
                "Install Node.js 20 or newer with npm and build again; pip then builds the elements by itself."
            )
            raise RuntimeError(message)

    def _build(self, npm: str, web: Path) -> None:
        if not (web / "node_modules").exists():
            verb = "ci" if (web / "package-lock.json").exists() else "install"
            self._run(npm, verb, "--no-audit", "--no-fund", cwd=web)
        self._run(npm, "run", "build", cwd=web)

    @staticmethod
    def _run(*command: str, cwd: Path) -> None:
        # stdout belongs to the build front end, which reads file names from it.
        subprocess.run(command, cwd=cwd, check=True, stdout=sys.stderr)
