"""Streams as they lie in a file: whatever frames them, one JSON text a chunk comes out.

``.sse`` is an event stream, ``.data.txt`` the lines of a data stream (a code, a colon, JSON), anything else JSON lines. What the file does
not finish comes out as it stands, so that whoever reads it reports it.
"""

import re
from collections.abc import Iterator
from typing import Final

from toolwitness.wire.framing import SseDecoder, SseFrame

_DATA_LINE: Final = re.compile(rb"^([A-Za-z0-9_-]+):(.*)$", re.DOTALL)
_END_MARK: Final = b"[DONE]"


def chunks_in(name: str, content: bytes) -> Iterator[bytes]:
    """Give the chunks of a file called ``name``, in order; of JSON lines every line, so that lines can be counted.

    Raises:
        InvalidInput: a frame of an event stream is too long to be one.
    """
    if name.endswith(".sse"):
        yield from _event_stream(content)
    elif name.endswith(".data.txt"):
        yield from _data_stream(content)
    else:
        yield from content.split(b"\n")


def _event_stream(content: bytes) -> Iterator[bytes]:
    """Give the data of each event. Comments, which keep a connection open, and the end mark are no chunks."""
    decoder = SseDecoder()
    for frame in decoder.feed(content):
        chunk = _data_of(frame)
        if chunk.strip() != _END_MARK:
            yield chunk
    rest = decoder.close()
    if rest is not None and rest.raw.strip() not in {b"data:" + _END_MARK, b"data: " + _END_MARK}:
        yield rest.raw.strip()


def _data_of(frame: SseFrame) -> bytes:
    """Give the event's data as its own bytes, also where they are no UTF-8."""
    lines = re.split(rb"\r\n|\n|\r", frame.raw)
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))


def _data_stream(content: bytes) -> Iterator[bytes]:
    """Give each line as an object of its code and its value. Lines end with LF alone; empty ones keep a connection open."""
    for line in content.split(b"\n"):
        found = _DATA_LINE.match(line.removesuffix(b"\r"))
        if line.strip():
            yield b'{"code": "%s", "value": %s}' % (found[1], found[2]) if found else line
