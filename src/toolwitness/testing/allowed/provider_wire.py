"""What whole evidence on a provider's own wire allows a record to claim, whichever provider's it is."""

from collections.abc import Iterator, Sequence

from toolwitness.testing.allowed import anthropic_api, openai_api
from toolwitness.testing.truth.claims import Expectation
from toolwitness.testing.truth.episodes import Row


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the rows hold whole evidence for; neither provider's words are the other's."""
    yield from openai_api.allowed(rows)
    yield from anthropic_api.allowed(rows)
