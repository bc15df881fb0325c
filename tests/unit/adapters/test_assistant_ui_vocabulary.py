"""No word of assistant-ui's streams is overlooked: each is mapped, or left aside with a reason that the table gives."""

import json
import re
from pathlib import Path
from typing import get_args

from assistant_stream import assistant_stream_chunk as python
from assistant_stream.serialization import data_stream

from toolwitness.adapters.assistant_ui.mapping import PARTS, TABLE

WORDS = json.loads((Path(__file__).parents[2] / "node" / "vocabulary.json").read_text(encoding="utf-8"))["assistant"]
MAPPED = {word.word.split(" ")[0] for word in TABLE}
IN_PYTHON = {
    "tool-call-begin": "part-start", "tool-call-delta": "text-delta", "tool-result": "result", "reasoning-delta": "text-delta",
    "source": "part-start", "file": "part-start",
}  # fmt: skip  # pairs in lines
"""What the Python package calls a chunk inside, and what it writes into the transport."""


def test_every_chunk_type_of_the_transport_is_in_the_table() -> None:
    assert len(WORDS["chunks"]) >= 13
    assert [word for word in WORDS["chunks"] if word not in MAPPED] == []


def test_every_code_of_the_data_stream_is_in_the_table() -> None:
    assert len(WORDS["codes"]) >= 22
    assert [code for code in WORDS["codes"] if code not in MAPPED] == []


def test_every_kind_of_part_is_known() -> None:
    assert set(WORDS["parts"]) == PARTS | {"tool-call"}


def test_every_chunk_of_the_python_package_is_in_the_table() -> None:
    chunks = [chunk.__dataclass_fields__["type"].default for chunk in get_args(python.AssistantStreamChunk)]

    assert len(chunks) >= 13
    assert [chunk for chunk in chunks if IN_PYTHON.get(chunk, chunk) not in MAPPED] == []


def test_every_code_that_the_python_package_writes_is_in_the_table() -> None:
    source = Path(data_stream.__file__).read_text(encoding="utf-8")
    codes = set(re.findall(r"""return f["']([\w-]+):""", source))

    assert len(codes) >= 13
    assert codes - MAPPED == set()


def test_a_word_that_says_nothing_says_why() -> None:
    assert [word.word for word in TABLE if not word.says and not word.by] == []
