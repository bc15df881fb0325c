"""What routes share: who asks, the words of an address, and answers in JSON."""

from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from starlette.responses import Response

from toolwitness.contract.encode import encode
from toolwitness.core.verdicts import Actor
from toolwitness.server.access import Gate

Id = Annotated[str, Path(max_length=200)]
View = Annotated[str, Query(pattern="^(document|card)$", description="`document`: the contract; `card`: what a person is shown.")]


def gate_of(request: Request) -> Gate:
    """Give the gate of the app that answers."""
    gate: Gate = request.app.state.gate
    return gate


async def _reader(request: Request) -> Actor:
    return await gate_of(request).actor(request)


async def _writer(request: Request) -> Actor:
    gate = gate_of(request)
    actor = await gate.actor(request)
    gate.check_origin(request, actor)
    return actor


Reader = Annotated[Actor, Depends(_reader)]
"""Who reads."""
Writer = Annotated[Actor, Depends(_writer)]
"""Who changes something; settled before a byte of the body is read."""


class Json(Response):
    """A JSON answer that nobody keeps and nobody takes for anything else."""

    media_type = "application/json"

    def __init__(self, content: Any) -> None:
        """Encode a document, or take bytes as they are."""
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        super().__init__(content if isinstance(content, bytes) else encode(content), headers=headers)
