"""The body of a request, read once and never further than its limit, and only where it says that it is JSON."""

from typing import Final

from starlette.requests import Request

from toolwitness.server.problems import Refused

MAX_BYTES: Final = 4 * 1024 * 1024
_JSON: Final = frozenset({"application/json", "application/cloudevents+json", "application/cloudevents-batch+json"})


async def json_body(request: Request) -> bytes:
    """Give the bytes of a JSON body, however it was sent; empty where there is none.

    What a form or a script of another site can send without being asked (``text/plain``, form types) is no JSON here, whatever it holds.

    Raises:
        Refused: larger than 4 MiB (413), or of another type (415).
    """
    _check_size(int(request.headers.get("content-length") or 0))
    parts: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        _check_size(size)
        parts.append(chunk)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if size and kind not in _JSON:
        raise Refused(
            415,
            "not-json",
            "The body is not sent as JSON",
            detail=f"It came as {kind or 'no type at all'}.",
            remedy="Send Content-Type: application/json.",
        )
    return b"".join(parts)


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise Refused(413, "too-large", "The body is larger than 4 MiB", remedy="Send fewer events at once.")
