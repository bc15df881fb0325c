"""Frames come out as they went in, wherever the chunks end, and an unfinished frame is never taken for a whole one."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.core.errors import InvalidInput
from toolwitness.wire.framing import (
    JsonlDecoder,
    JsonLine,
    SseDecoder,
    SseFrame,
    Unfinished,
    encode_comment,
    encode_sse,
)


def decode(stream: bytes, *cuts: int) -> tuple[list[tuple[str, str, str]], Unfinished | None]:
    decoder = SseDecoder()
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    frames: list[SseFrame] = []
    for start, end in pairwise(edges):
        frames += decoder.feed(stream[start:end])
    return [(frame.event, frame.data, frame.id) for frame in frames], decoder.close()


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [("message", "a", "")]),
        (b"data: a\r\n\r\n", [("message", "a", "")]),
        (b"data: a\r\r", [("message", "a", "")]),
        (b"data: a\r\n\rdata: b\n\n", [("message", "a", ""), ("message", "b", "")]),
        (b"data: a\ndata: b\r\ndata: c\r\n\n", [("message", "a\nb\nc", "")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a", "")]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [("message", "a", "")]),
        (b"data:a\n\n", [("message", "a", "")]),
        (b"data:  a\n\n", [("message", " a", "")]),
        (b"data\n\n", [("message", "", "")]),
        (b"data:\ndata:\n\n", [("message", "\n", "")]),
        (b": ping\n\n:\n\ndata: a\n\n", [("message", "a", "")]),
        (b"event: done\n\ndata: a\n\n", [("message", "a", "")]),
        (b"event: card\ndata: a\n\ndata: b\n\n", [("card", "a", ""), ("message", "b", "")]),
        (b"id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", [("message", "a", "7"), ("message", "b", "7"), ("message", "c", "")]),
        (b"id: 1\x002\ndata: a\n\n", [("message", "a", "")]),
        (b"Data: no\nfoo: bar\ndata: a: b\n\n", [("message", "a: b", "")]),
        ("data: \u2028\u2029\u0085\x0b\x0c\x1c\n\n".encode(), [("message", "\u2028\u2029\u0085\x0b\x0c\x1c", "")]),
        (b"data: \xff\n\n", [("message", "\ufffd", "")]),
        (b"", []),
    ],
)
def test_a_stream_is_cut_as_the_specification_says(stream: bytes, expected: list[tuple[str, str, str]]) -> None:
    for cuts in ((), tuple(range(len(stream)))):
        actual, _ = decode(stream, *cuts)
        assert actual == expected


@pytest.mark.parametrize(
    ("stream", "offset", "rest"),
    [
        (b"data: a\n\ndata: b", 9, b"data: b"),
        (b"data: a\n\ndata: b\n", 9, b"data: b\n"),
        (b"data: a\n\nev", 9, b"ev"),
        (b"data: \xe2\x80", 0, b"data: \xe2\x80"),
    ],
)
def test_a_cut_frame_is_reported_and_not_dispatched(stream: bytes, offset: int, rest: bytes) -> None:
    frames, tail = decode(stream)
    assert len(frames) == offset // 9
    assert tail == Unfinished(raw=rest, offset=offset)


@pytest.mark.parametrize("stream", [b"", b"data: a\n\n", b"data: a\r\n\r\n", b"data: a\r\r", b": ping", b"\n\n", b"\xef\xbb\xbf"])
def test_a_stream_that_ends_between_frames_left_nothing_open(stream: bytes) -> None:
    _, tail = decode(stream)
    assert tail is None


@given(
    st.lists(
        st.sampled_from([b"data: \xc3\xa9", b"data", b":c", b"id: 4", b"event: x", b"\r", b"\n", b"\r\n", b"\n\n", b"\xe2\x80\xa8"]),
        max_size=30,
    ),
    st.lists(st.integers(0, 200), max_size=8),
)
def test_where_the_chunks_end_changes_nothing(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(parts)
    whole, tail = decode(stream)
    assert decode(stream, *cuts)[0] == whole
    assert (decode(stream, *cuts)[1] is None) == (tail is None)


TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=20)


@given(st.lists(TEXT, max_size=5), st.lists(st.integers(0, 300), max_size=6))
def test_what_is_encoded_is_decoded_unchanged(texts: list[str], cuts: list[int]) -> None:
    stream = b"".join(encode_sse(text, event="card", id=str(number)) for number, text in enumerate(texts))
    actual, tail = decode(stream, *cuts)
    assert actual == [("card", text, str(number)) for number, text in enumerate(texts)]
    assert tail is None


def test_the_bytes_of_a_frame_are_kept_beside_it() -> None:
    first, second = SseDecoder().feed(b": c\r\ndata: \xff\r\n\r\ndata: b\n\n")
    assert first.raw == b": c\r\ndata: \xff\r\n\r\n"
    assert not first.is_utf8
    assert second.raw == b"data: b\n\n"
    assert second.is_utf8


def test_a_frame_is_dispatched_at_a_carriage_return_without_waiting_for_more() -> None:
    decoder = SseDecoder()
    assert [frame.data for frame in decoder.feed(b"data: a\r\r")] == ["a"]
    assert decoder.feed(b"\ndata: b\r\n") == []
    assert [frame.data for frame in decoder.feed(b"\r\n")] == ["b"]


def test_the_reconnection_time_is_read_when_it_is_a_number() -> None:
    decoder = SseDecoder()
    decoder.feed(b"retry: 1500\nretry: soon\nretry: 1\xc2\xb2\n\n")
    assert decoder.retry_milliseconds == 1500


def test_an_id_without_data_counts_for_the_next_frame() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"id: 9\n\n") == []
    assert decoder.last_event_id == "9"
    assert decoder.feed(b"data: a\n\n")[0].id == "9"


def test_a_stream_without_line_ends_cannot_fill_the_memory() -> None:
    decoder = SseDecoder(max_frame_bytes=10)
    decoder.feed(b"data: a\n\n" * 10)
    with pytest.raises(InvalidInput, match="longer than 10 bytes"):
        decoder.feed(b"data: aaaaaaaaa")


def test_many_pings_leave_nothing_behind() -> None:
    decoder = SseDecoder(max_frame_bytes=100)
    for _ in range(1000):
        assert decoder.feed(encode_comment("ping")) == []
    assert decoder.close() is None


def test_the_encoder_writes_the_fields_that_it_is_given() -> None:
    actual = encode_sse(b'{"a":1}', event="card", id="", retry=100)
    assert actual == b'event: card\nid: \nretry: 100\ndata: {"a":1}\n\n'
    assert encode_comment("a\nb") == b": a\n: b\n\n"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"data": "a\rb"}, "data"), ({"data": "", "event": "a\nb"}, "event"), ({"data": "", "id": "a\0"}, "id")],
)
def test_what_the_format_cannot_carry_is_refused(arguments: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        encode_sse(**arguments)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] -- a table of arguments
    assert caught.value.facts["field"] == field


def test_json_lines_end_at_line_feeds_only() -> None:
    decoder = JsonlDecoder()
    text = '{"a":"\u2028\u0085\x0c"}'.encode()
    lines = decoder.feed(text + b"\r\n\n  \n" + text + b"\n[1")
    assert lines == [JsonLine(number=1, raw=text + b"\r"), JsonLine(number=4, raw=text)]
    assert decoder.close() == Unfinished(raw=b"[1", offset=2 * len(text) + 7)


@given(st.lists(st.sampled_from([b"{}", b"[1]", b"\n", b"\r", b" ", "é".encode()]), max_size=30), st.integers(1, 5))
def test_json_lines_do_not_depend_on_the_chunks(parts: list[bytes], size: int) -> None:
    stream = b"".join(parts)
    whole = JsonlDecoder()
    expected = (whole.feed(stream), whole.close())
    chunked = JsonlDecoder()
    lines = [line for start in range(0, len(stream), size) for line in chunked.feed(stream[start : start + size])]
    assert (lines, chunked.close()) == expected
