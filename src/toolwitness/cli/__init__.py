"""The command line: the same house from a terminal."""

from toolwitness.cli.main import main

__all__ = ["main"]
