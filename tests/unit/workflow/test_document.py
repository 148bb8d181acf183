"""Reading a file: what is refused, and where the message points."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import InputError, WorkflowError
from sfcperf.workflow.document.reader import MAX_BYTES, read_document


def read(tmp_path: Path, content: bytes) -> object:
    file = tmp_path / "w.json"
    file.write_bytes(content)
    return read_document(file)


@pytest.mark.parametrize(
    ("content", "where", "message"),
    [
        (b'{"a": 1,\n "b": }', "w.json:2:7", "not JSON: a value is missing here"),
        (b"\n", "w.json:2:1", "not JSON: the file is empty"),
        (b'{"a": [1', "w.json:1:9", "it ends here, before it is complete"),
        (b'{"a": 1 "b": 2}', "w.json:1:9", "a comma or a closing bracket is missing"),
        (b'{"a" 1}', "w.json:1:6", "a colon is missing"),
        (b"{1: 2}", "w.json:1:2", "a key in double quotes is missing here"),
        (b'{"a": "b}', "w.json:1:7", "this string does not end"),
        (b'{"a": "b\nc"}', "w.json:1:9", r"tabs in strings are written \\n"),
        (b"{} {}", "w.json:1:4", "the document ends before this"),
        (b'{"a": 1, // why\n "b": 2}', "w.json:1:10", "it has no comments"),
        (b'{"a": 1,\n}', "w.json:2:1", "no comma in front of '}'"),
        (b"{'a': 1}", "w.json:1:2", "strings are in double quotes"),
        (b'"\xff"', "w.json", "not UTF-8"),
        (b"[1]", "w.json", "a workflow is a JSON object"),
        (b"[" * 200_000, "w.json", "nested too deeply"),
        (b" " * (MAX_BYTES + 1), "w.json", "too large"),
    ],
)
def test_file_level_errors_name_the_file(
    tmp_path: Path, content: bytes, where: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, content)
    assert (caught.value.where or "").endswith(where)


@pytest.mark.parametrize(
    ("content", "pointer", "message"),
    [
        (b'{"a": {"b": 1, "b": 2}}', "/a/b", "duplicate key"),
        (b'{"a": [0, NaN]}', "/a/1", "64 bits"),
        (b'{"a": 1e999}', "/a", "64 bits"),
        (b'{"a": 9223372036854775808}', "/a", "64 bits"),
        (b'{"a": ' + b"9" * 5000 + b"}", "/a", "64 bits"),
        (b'{"a/b": "x\\u0000"}', "/a~1b", "control character"),
        (b'{"a": "\\ud800"}', "/a", "control character"),
        (b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}", None, "nested too deeply"),
    ],
)
def test_values_are_refused_with_a_pointer(
    tmp_path: Path, content: bytes, pointer: str | None, message: str
) -> None:
    with pytest.raises(WorkflowError, match=message) as caught:
        read(tmp_path, content)
    assert pointer is None or caught.value.where == pointer


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_document(tmp_path / "absent.json")
    with pytest.raises(InputError, match="folder"):
        read_document(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_document(Path("nul\0.json"))


def test_a_pipe_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """As of `sfcperf validate <(...)`."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file") as told:
        read_document(tmp_path / "pipe")
    assert "to a file" in (told.value.hint or "")


def test_a_number_without_fraction_is_an_integer_however_written(tmp_path: Path) -> None:
    document = read(tmp_path, b'{"a": 2.0, "b": 1e3, "c": 0.5, "description": "one\\ntwo"}')
    known = '{"a": 2, "b": 1000, "c": 0.5, "description": "one\\ntwo"}'
    assert json.dumps(document) == known, "a description may have lines"


@given(st.binary(max_size=200))
def test_any_bytes_give_a_document_or_an_input_error(tmp_path_factory, content: bytes) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_bytes(content)
    with suppress(InputError):
        assert isinstance(read_document(file), dict)
