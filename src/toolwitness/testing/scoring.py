"""The judge of a replay: what a record claims, against what the tool bodies really did.

A capture holds rows of ``truth`` that the tools wrote themselves; no adapter sees them. A *false claim* is a record that says more than the
truth allows. A *missed claim* is the opposite: the recording held whole evidence and the record does not use it. Calls without truth are
unscored and counted as such. The judge knows no adapter: what whole evidence allows is handed to it (``allowed``). It lives in ``truth``.
"""

from toolwitness.testing.truth.claims import Claims, Expectation, Verdict
from toolwitness.testing.truth.episodes import Episode, Row
from toolwitness.testing.truth.score import Score, episodes, score

__all__ = ["Claims", "Episode", "Expectation", "Row", "Score", "Verdict", "episodes", "score"]
