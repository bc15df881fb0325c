"""Byte-exact framing of event streams and JSON lines, fed in chunks that may end anywhere.

Lines of an event stream end with LF, CR LF or CR and with nothing else: U+2028, U+2029 and U+0085 are text, which is
where ``str.splitlines`` cuts streams in two. JSON lines end with LF only. A frame that the stream did not finish is
never handed out as if it were whole; ``close`` reports it. Source: WHATWG HTML, "Interpreting an event stream".
"""

import re
from dataclasses import dataclass
from typing import Final

from toolwitness.core.errors import InvalidInput

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
"""A frame longer than this is refused, so that a stream without line ends cannot fill the memory."""

_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class SseFrame:
    """One dispatched event of an event stream."""

    data: str
    """The data lines joined by LF. Bytes that are not UTF-8 appear as U+FFFD, as specified; see ``raw``."""
    event: str = "message"
    id: str = ""
    """The last event id in effect, which may stem from an earlier frame."""
    raw: bytes = b""
    """The frame's bytes as they came, comments and line ends included."""

    @property
    def is_utf8(self) -> bool:
        """Tell whether ``data`` is what the sender wrote, or holds replacement characters."""
        try:
            self.raw.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """The tail of a stream that ended inside a frame or line; it was not dispatched."""

    raw: bytes
    offset: int
    """Where in the stream the tail begins, in bytes."""


class SseDecoder:
    """Cuts an event stream into frames; the chunks may end anywhere, also inside a character or a line end."""

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        """Begin at the start of a stream."""
        self.last_event_id = ""
        self.retry_milliseconds: int | None = None
        """The reconnection time that the stream asked for, if it did."""
        self._max = max_frame_bytes
        self._buffer = bytearray()
        """The bytes since the last blank line."""
        self._offset = 0
        """Where in the stream the buffer begins."""
        self._line_start = 0
        self._search_from = 0
        """No line end stands between the line's start and here; a long line is searched once."""
        self._skip_lf = False
        self._at_start = True
        self._data: list[str] = []
        self._event = ""

    def feed(self, chunk: bytes) -> list[SseFrame]:
        """Take the next bytes and give the frames that they complete.

        Raises:
            InvalidInput: a frame grew beyond ``max_frame_bytes``.
        """
        self._buffer += chunk
        frames: list[SseFrame] = []
        while (line := self._next_line()) is not None:
            if line:
                self._field(line)
            else:
                frames.extend(self._dispatch())
        if len(self._buffer) > self._max:
            raise InvalidInput(
                f"A frame of the event stream is longer than {self._max} bytes.",
                remedy="Raise max_frame_bytes, or check that this is an event stream.",
                field="stream",
                offset=self._offset,
            )
        return frames

    def close(self) -> Unfinished | None:
        """End the stream and give the frame that it left open, or ``None``. An unfinished comment is no frame."""
        rest = bytes(self._buffer)
        lines = (line for line in _LINE_END.split(rest.removeprefix(_BOM)) if line and not line.startswith(b":"))
        return Unfinished(raw=rest, offset=self._offset) if any(lines) else None

    def _next_line(self) -> bytes | None:
        if self._at_start and not self._skip_bom():
            return None
        if self._skip_lf and len(self._buffer) > self._line_start:
            # The CR that ended the last line was half of a CR LF that two chunks tore apart.
            self._line_start += self._buffer[self._line_start] == ord("\n")
            self._search_from = max(self._search_from, self._line_start)
            self._skip_lf = False
        found = _LINE_END.search(self._buffer, self._search_from)
        if found is None:
            self._search_from = len(self._buffer)
            return None
        line = bytes(self._buffer[self._line_start : found.start()])
        self._line_start = self._search_from = found.end()
        self._skip_lf = found.group() == b"\r" and found.end() == len(self._buffer)
        return line

    def _skip_bom(self) -> bool:
        head = bytes(self._buffer[:3])
        if head != _BOM and _BOM.startswith(head):
            return False
        self._at_start = False
        if head == _BOM:
            self._line_start = self._search_from = 3
        return True

    def _field(self, line: bytes) -> None:
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self.last_event_id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry_milliseconds = int(value)
            case _:
                pass  # A comment, or a field that the specification tells readers to ignore.

    def _dispatch(self) -> tuple[SseFrame, ...]:
        raw = bytes(self._buffer[: self._line_start])
        del self._buffer[: self._line_start]
        self._offset += self._line_start
        self._line_start = self._search_from = 0
        data, event = self._data, self._event
        self._data, self._event = [], ""
        if not data:
            return ()
        return (SseFrame(data="\n".join(data), event=event or "message", id=self.last_event_id, raw=raw),)


def encode_sse(data: str | bytes, *, event: str = "", id: str | None = None, retry: int | None = None) -> bytes:  # noqa: A002 -- the field's name in the specification
    """Frame one event so that a reader gets exactly ``data``.

    Raises:
        InvalidInput: ``data`` holds a CR, or ``event`` or ``id`` a line end or NUL: the format cannot carry them.
    """
    body = data.encode("utf-8") if isinstance(data, str) else data
    if b"\r" in body:
        raise _uncarriable("data", "a carriage return", "Send JSON, which escapes it.")
    head = b""
    for name, value in (("event", event), ("id", id)):
        if value and re.search("[\r\n\0]", value):
            raise _uncarriable(name, "a line end or NUL", "Use one line of text.")
        if value or (name == "id" and value is not None):
            head += f"{name}: {value}\n".encode()
    if retry is not None:
        head += b"retry: %d\n" % retry
    return head + b"data: " + body.replace(b"\n", b"\ndata: ") + b"\n\n"


def encode_comment(text: str = "") -> bytes:
    """Frame a comment, which readers skip; it keeps a connection open."""
    return "".join(f": {line}\n" for line in re.split(r"\r\n|\n|\r", text)).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLine:
    """One line of a JSON lines stream, as it came."""

    number: int
    """Counted from 1, empty lines included."""
    raw: bytes
    """Without the LF; a CR before it is white space to JSON and is kept."""


class JsonlDecoder:
    """Cuts JSON lines at LF and nowhere else; empty lines are counted and skipped."""

    def __init__(self) -> None:
        """Begin at the start of a stream."""
        self._rest = bytearray()
        self._search_from = 0
        self._offset = 0
        self._number = 0

    def feed(self, chunk: bytes) -> list[JsonLine]:
        """Take the next bytes and give the lines that they complete."""
        self._rest += chunk
        end = self._rest.rfind(b"\n", self._search_from)
        if end < 0:
            self._search_from = len(self._rest)
            return []
        whole = bytes(self._rest[:end])
        del self._rest[: end + 1]
        self._offset += end + 1
        self._search_from = 0
        lines: list[JsonLine] = []
        for raw in whole.split(b"\n"):
            self._number += 1
            if raw.strip():
                lines.append(JsonLine(number=self._number, raw=raw))
        return lines

    def close(self) -> Unfinished | None:
        """End the stream and give the line that no LF ended, or ``None``; whether it is whole, its JSON must tell."""
        rest = bytes(self._rest)
        return Unfinished(raw=rest, offset=self._offset) if rest.strip() else None


def _uncarriable(field: str, what: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"The event's {field} holds {what}, which an event stream cannot carry.", remedy=remedy, field=field)
