"""Runs the scenes of a framework, each twice, and tells what came of them."""

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any, Final

from toolwitness.bootstrap.opening import open as open_desk
from toolwitness.core.errors import InvalidInput
from toolwitness.testing.prove.stage import Scene, Seen, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Provable:
    """A framework that can be shown: its scenes, its extra, and the distribution that is measured."""

    module: str
    extra: str
    distribution: str

    @property
    def installed(self) -> str:
        """The installed version; empty where there is none."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""


PROVABLE: Final = MappingProxyType({
    "pydantic-ai": Provable(module="pydantic_ai", extra="pydantic-ai", distribution="pydantic-ai-slim"),
    "langgraph": Provable(module="langgraph", extra="langgraph", distribution="langgraph"),
    "openai-agents": Provable(module="openai_agents", extra="openai-agents", distribution="openai-agents"),
    "mcp": Provable(module="mcp", extra="mcp", distribution="mcp"),
})  # fmt: skip  # one line a framework
"""Every framework that ``toolwitness prove`` can show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One scene, both halves."""

    title: str
    alone: Seen
    with_us: Seen
    source: str = ""

    def document(self) -> dict[str, Any]:
        """Give it with stable keys."""
        halves: Mapping[str, Seen] = {"alone": self.alone, "withToolwitness": self.with_us}
        told = {name: {"told": half.told, "happened": half.happened, "holds": half.holds} for name, half in halves.items()}
        return {"scene": self.title, **told, "source": self.source or None}


def provable(framework: str) -> Provable:
    """Give the framework of this name, whose package is here.

    Raises:
        InvalidInput: nobody can show a framework of this name, or its package is not installed.
    """
    found = PROVABLE.get(framework)
    if found is None:
        raise InvalidInput(f"There is no proof for {framework!r}.", field="framework", remedy=f"Use one of: {', '.join(PROVABLE)}.")
    if not found.installed:
        raise InvalidInput(
            f"{found.distribution} is not installed here, and the proof runs the real package.", field="framework",
            remedy=f'pip install "toolwitness[{found.extra}]"',
        )  # fmt: skip  # facts in lines
    return found


def installed() -> Iterator[str]:
    """Name the frameworks that can be shown here and now."""
    return (name for name, one in PROVABLE.items() if one.installed)


async def show(framework: str) -> AsyncIterator[Shown]:
    """Run every scene of a framework alone, then with toolwitness, and give each as it ends."""
    scenes: tuple[Scene, ...] = import_module(f"toolwitness.testing.prove.{provable(framework).module}").SCENES
    for scene in scenes:
        alone = await _act(scene, Stage())
        async with open_desk("memory:", sweep_seconds=0.02) as desk:
            with_us = await _act(scene, Stage(desk))
        yield Shown(title=scene.title, alone=alone, with_us=with_us, source=scene.source)


async def _act(scene: Scene, stage: Stage) -> Seen:
    """Run one half. A script that breaks off has shown nothing, and says so instead of hiding the rest."""
    began = time.monotonic()
    try:
        return await scene.script(stage)
    except Exception as error:  # noqa: BLE001 -- whatever a framework raises is what is told; a proof that broke does not hold
        told = f"the script broke off after {time.monotonic() - began:.1f} s: {type(error).__name__}: {error}"
        return Seen(told=told, happened=stage.paid, holds=False)
