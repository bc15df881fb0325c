"""Streams as they lie in a file: the framing is taken off, and nothing else is touched."""

import pytest

from toolwitness.wire.stream_files import chunks_in

LINES = '{"a": "one\u2028two\u0085three"}'.encode()


def chunks(name: str, content: bytes) -> list[bytes]:
    return list(chunks_in(name, content))


def test_an_event_stream_gives_the_data_of_each_event() -> None:
    assert chunks("a.sse", b'data: {"a": 1}\n\ndata: {"a": 2}\n\n') == [b'{"a": 1}', b'{"a": 2}']


def test_line_separators_inside_a_string_end_no_line() -> None:
    assert chunks("a.sse", b"data: " + LINES + b"\n\n") == [LINES]
    assert chunks("a.jsonl", LINES + b"\n") == [LINES, b""]
    assert chunks("a.data.txt", b"2:" + LINES + b"\n") == [b'{"code": "2", "value": ' + LINES + b"}"]


def test_comments_and_the_end_mark_are_no_chunks() -> None:
    content = b': stream-open\n\ndata: {"a": 1}\n\n: keep-alive\n\ndata: [DONE]\n\n'

    assert chunks("a.sse", content) == [b'{"a": 1}']


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_of_an_event_stream_is_one(end: bytes) -> None:
    assert chunks("a.sse", b'data: {"a": 1}' + end + end) == [b'{"a": 1}']


def test_an_event_that_was_not_finished_comes_out_as_it_stands() -> None:
    assert chunks("a.sse", b'data: {"a": 1}\n\ndata: {"a": ') == [b'{"a": 1}', b'data: {"a":']


def test_an_end_mark_without_its_blank_line_is_still_the_end() -> None:
    assert chunks("a.sse", b'data: {"a": 1}\n\ndata: [DONE]') == [b'{"a": 1}']


def test_bytes_that_are_no_utf_8_are_kept() -> None:
    assert chunks("a.sse", b'data: {"a": "\xff"}\n\n') == [b'{"a": "\xff"}']


def test_data_over_several_lines_is_one_chunk() -> None:
    assert chunks("a.sse", b'data: {"a":\ndata: 1}\n\n') == [b'{"a":\n1}']


def test_a_data_stream_gives_its_code_and_its_value() -> None:
    content = b'b:{"toolCallId": "c"}\n\n0:"text: with a colon"\naui-state:[]\n'

    assert chunks("a.data.txt", content) == [
        b'{"code": "b", "value": {"toolCallId": "c"}}',
        b'{"code": "0", "value": "text: with a colon"}',
        b'{"code": "aui-state", "value": []}',
    ]


def test_a_line_of_a_data_stream_without_a_code_comes_out_as_it_stands() -> None:
    assert chunks("a.data.txt", b"no code here\n") == [b"no code here"]
