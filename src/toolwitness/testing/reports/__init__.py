"""Plays bug reports from other projects at our desk, and says which of them our record gets right.

A report tells what happened in somebody's product and what a truthful record would hold. The events are translated, word by word, into
commands and observations at a desk on a ledger in memory; what the contract documents say afterwards is compared with what the report
expects. Every expected key that a machine can read is checked, or named as unchecked; a report with one of those has not passed.

``python -m toolwitness.testing.reports DIR --json`` runs every report of a directory.
"""

from toolwitness.testing.reports.runner import Result, run_directory, run_report

__all__ = ["Result", "run_directory", "run_report"]
