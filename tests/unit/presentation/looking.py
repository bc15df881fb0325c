"""How a test looks at a card."""

from typing import Any

from tests.unit.presentation.scene import Scene


def disclosure(card: dict[str, Any], name: str) -> dict[str, Any]:
    return next(d for d in card["disclosures"] if d["id"] == name)


def rows(card: dict[str, Any], name: str) -> list[tuple[str, str]]:
    return [(row["term"], row["text"]) for row in disclosure(card, name)["rows"]]


def said(card: dict[str, Any], part: str) -> list[str]:
    return [entry["text"] for entry in card[part]]


def finding(card: dict[str, Any], code: str) -> dict[str, Any]:
    return next(f for f in card["findings"] if f["code"] == code)


def facts_of(card: dict[str, Any]) -> dict[str, str]:
    return {fact["term"]: fact["text"] for fact in card["facts"]}


def ended() -> Scene:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("execution.failed", 2, category="c", detail="d", evidence_ref="e")
    return scene
