"""Prove: the same script under a framework alone and with toolwitness, on this machine, in seconds."""

import time
from collections.abc import Sequence
from typing import Any, Final

import click

from toolwitness.cli.answers import json_option, print_json, run, say
from toolwitness.cli.drawing import screen
from toolwitness.cli.teaching import Taught
from toolwitness.core.errors import InvalidInput
from toolwitness.presentation.terminal_text import Glyphs, Screen, inked, wrapped
from toolwitness.testing.prove.runner import PROVABLE, Shown, installed, provable, show
from toolwitness.testing.prove.stage import Seen

_HALVES: Final = ("alone", "with toolwitness")
_MARGIN: Final = "   "
_LABEL: Final = 11
"""Columns of the word before a sentence."""


@click.command(
    cls=Taught,
    examples=[
        "toolwitness prove                 which frameworks can be shown here",
        "toolwitness prove pydantic-ai",
        "toolwitness prove --all --json | jq '.frameworks[].holds'",
    ],
)
@click.argument("framework", required=False)
@click.option("--all", "everything", is_flag=True, help="Show every framework that is installed here.")
@json_option()
def prove(framework: str | None, *, everything: bool, as_json: bool) -> None:
    """Run one script under a framework alone and with toolwitness, and compare told with happened.

    The framework is the real package; its model is a script, and no network is used. It takes a few seconds.

    Exit 0: with toolwitness, what was told is what happened, in every scene. Exit 1: it was not.
    """
    if framework and everything:
        raise InvalidInput("FRAMEWORK and --all were given together.", field="framework", remedy="Give one of them.")
    names = list(installed()) if everything else [framework] if framework else []
    if not names:
        _list(as_json=as_json)
        if everything:
            raise SystemExit(1)
        return
    shown = [run(_one(name, as_json=as_json)) for name in names]
    if as_json:
        print_json({"frameworks": shown})
    if not all(one["holds"] for one in shown):
        raise SystemExit(1)


def _list(*, as_json: bool) -> None:
    """Say which frameworks can be shown, and what to install for the others."""
    if as_json:
        provable_here = [{"framework": name, "installed": one.installed or None} for name, one in PROVABLE.items()]
        print_json({"frameworks": [], "provable": provable_here})
        return
    for name, one in PROVABLE.items():
        here = f"{one.distribution} {one.installed}" if one.installed else f'not installed: pip install "toolwitness[{one.extra}]"'
        say(f"toolwitness prove {name:<16}{here}")


async def _one(name: str, *, as_json: bool) -> dict[str, Any]:
    """Show one framework, scene by scene, and give the result as a document."""
    found = provable(name)
    on = screen()
    if not as_json:
        for row in wrapped(f"{name}: {found.distribution} {found.installed}, a scripted model, no network", on.columns):
            say(inked(row, "bold", on))
    began = time.monotonic()
    scenes: list[Shown] = []
    async for scene in show(name):
        scenes.append(scene)
        if not as_json:
            say("\n" + "\n".join(_scene(len(scenes), scene, on)))
    took = time.monotonic() - began
    if not as_json:
        say("\n" + "\n".join(_summary(scenes, took, on)))
    return {
        "framework": name,
        "version": found.installed,
        "scenes": [scene.document() for scene in scenes],
        "alone": sum(scene.alone.holds for scene in scenes),
        "withToolwitness": sum(scene.with_us.holds for scene in scenes),
        "holds": bool(scenes) and all(scene.with_us.holds for scene in scenes),
        "seconds": f"{took:.1f}",
    }


def _scene(number: int, scene: Shown, on: Screen) -> list[str]:
    """Draw one scene: its title, and for each half what was told above what happened."""
    first, *more = wrapped(scene.title, on.columns - len(_MARGIN))
    lines = [f"{inked(f'{number:<2}', 'quiet', on)} {inked(first, 'bold', on)}"]
    lines += [f"{_MARGIN}{inked(row, 'bold', on)}" for row in more]
    for name, half in zip(_HALVES, (scene.alone, scene.with_us), strict=True):
        lines += _half(name, half, on)
    return lines


def _half(name: str, half: Seen, on: Screen) -> list[str]:
    lines = [f"{_MARGIN}{inked(f'{_mark(half, on)} {name}', 'ok' if half.holds else 'bad', on)}"]
    for said, text in (("told", half.told), ("happened", half.happened)):
        for place, row in enumerate(wrapped(" ".join(text.split()), on.columns - len(_MARGIN) - _LABEL - 2)):
            label = said if place == 0 else ""
            lines.append(f"{_MARGIN}  {inked(f'{label:<{_LABEL}}', 'quiet', on)}{row}")
    return lines


def _mark(half: Seen, on: Screen) -> str:
    signs = {Glyphs.UNICODE: ("✓", "✗"), Glyphs.ASCII: ("ok", "no")}[on.glyphs]
    return signs[0] if half.holds else signs[1]


def _summary(scenes: Sequence[Shown], took: float, on: Screen) -> list[str]:
    """Draw the small table at the end."""
    alone, ours = (sum(half.holds for half in halves) for halves in zip(*((one.alone, one.with_us) for one in scenes), strict=True))
    rows = [
        inked("what was told is what happened", "quiet", on),
        f"   alone             {alone} of {len(scenes)}",
        f"   with toolwitness  {inked(f'{ours} of {len(scenes)}', 'ok' if ours == len(scenes) else 'bad', on)}",
        inked(f"   {took:.1f} s", "quiet", on),
    ]
    broken = [scene.title for scene in scenes if not scene.with_us.holds]
    return [*rows, *(f"   did not hold: {title}" for title in broken)]
