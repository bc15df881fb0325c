"""The proof for LangGraph, run: every scene fails alone and holds with toolwitness."""

from toolwitness.testing.prove.runner import show


async def test_alone_every_scene_tells_something_else_than_happened_and_with_toolwitness_none_does() -> None:
    shown = [one async for one in show("langgraph")]

    assert len(shown) == 6
    assert [one.title for one in shown if one.alone.holds] == []
    assert [(one.title, one.with_us.told, one.with_us.happened) for one in shown if not one.with_us.holds] == []
    assert [one.alone.happened for one in shown[:3]] == ["paid 120 twice"] * 3
