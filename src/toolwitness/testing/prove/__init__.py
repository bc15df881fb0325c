"""The same script twice: under a framework alone, and under the framework with toolwitness. No network, a scripted model, a few seconds.

A scene is one script. It takes a ``Stage`` that has a desk or has none, lets the framework run tools that leave real traces
(``stage.effects``), and gives what a person was told and what happened. It judges both halves by the same line of code.
"""

from toolwitness.testing.prove.stage import Scene, Seen, Stage

__all__ = ["Scene", "Seen", "Stage"]
