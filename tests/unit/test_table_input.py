"""Tables of users: what a spreadsheet adds changes nothing; errors name the place."""

from __future__ import annotations

import csv
import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf import table_input
from sfcperf.errors import InputError

PATH = "t.csv"


def cells_of(content: bytes) -> list[tuple[str, ...]]:
    table = table_input.parse(content, PATH)
    return [table.header, *(tuple(cells) for _, cells in table.rows)]


def test_what_spreadsheets_write() -> None:
    for content in (
        *(b"\xef\xbb\xbfa,b\n1,2\n", b"a,b\r\n1,2\r\n", b"a,b\r1,2\r", b'"a","b"\n"1","2"\n'),
        *(b"a,b\n\n1,2\n\n", b"a,b\n1,2\n,\n , \n", b" a, b\n1 ,2"),
    ):
        assert cells_of(content) == [("a", "b"), ("1", "2")]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"", None, "empty"),
        (b"\n\n", None, "empty"),
        (b"a,a\n", 1, "two columns"),
        (b"a,b\n1,2\n1\n", 3, "1 cell"),
        (b"a,b\n1,2,3\n", 2, "3 cells"),
        (b"a,b\n\n1,\xe9\n", 3, "byte 3 of the line (0xe9)"),
        ("a,b\n1,2\n".encode("utf-16"), 1, "byte 1 of the line"),
        (b'a,b\n1,"2\n3,4\n', 2, "not CSV"),
        (b'a,b\n1,"2"3\n', 2, "not CSV"),
        (b'a,b\n"1\n1",2\n3\n', 4, "1 cell"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", 2, "field larger"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(
    content: bytes, line: int | None, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        cells_of(content)
    assert caught.value.where == (PATH if line is None else f"{PATH}:{line}")
    assert words in caught.value.message


@pytest.mark.parametrize("at", [-1, 0, 1, 7])
def test_a_wrong_byte_is_found_wherever_it_is(at: int) -> None:
    """Also beside a place at which the content is divided, and in a character across it."""
    start = table_input._PART_BYTES + at
    for wrong in (b"\xff", b"\xe2\x82"):
        content = (b"a,b\n" + b"1,2\n" * (start // 4 + 1))[:start] + wrong + b"\n"
        line = content.count(b"\n", 0, start) + 1
        with pytest.raises(InputError, match=f"byte {start % 4 + 1} of the line") as caught:
            cells_of(content)
        assert caught.value.where == f"{PATH}:{line}"


def test_no_text_of_the_whole_content_is_made() -> None:
    """One character beyond those of two bytes makes four bytes of each."""
    content = b"a,b\n" + "1,\N{PILE OF POO}\n".encode() + b"1,2\n" * 1_000_000
    tracemalloc.start()
    try:
        table_input.parse(content, PATH)
        assert tracemalloc.get_traced_memory()[1] < 2 * len(content)
    finally:
        tracemalloc.stop()


# Python writes a lone carriage return without quotes, so that it ends a line.
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=6).map(str.strip)


@given(
    st.lists(st.tuples(CELLS, CELLS).filter(any), max_size=6),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_any_table_that_pythons_writer_makes(
    rows: list[tuple[str, str]], quoting: int, end: str, mark: bool
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator=end).writerows([("a", "b"), *rows])
    content = text.getvalue().encode("utf-8-sig" if mark else "utf-8")
    assert cells_of(content) == [("a", "b"), *rows]


@given(st.binary(max_size=60))
def test_anything_else_is_read_or_refused(noise: bytes) -> None:
    try:
        header, *rows = cells_of(b"a,b\n" + noise)
    except InputError:
        return
    assert all(len(cells) == len(header) for cells in rows)
