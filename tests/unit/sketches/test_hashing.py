"""The hash function, against what the specification of SFCMon says of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.sketches.hashing import hash32, reduced
from sfcperf.sketches.jhash import jhash

MASK = 0xFFFFFFFF


def rotl(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & MASK


def specified(key: bytes, seed: int) -> int:
    """The text of docs/reference/sfcmon.md."""
    h = seed
    for at in range(0, len(key), 4):
        word = int.from_bytes(key[at : at + 4], "little")
        k = rotl(word * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
        h = (rotl(h ^ k, 13) * 5 + 0xE6546B64) & MASK
    h ^= len(key)
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


@given(words=st.lists(st.binary(min_size=4, max_size=4), max_size=11), seed=st.integers(0, MASK))
def test_it_is_the_specified_one(words: list[bytes], seed: int) -> None:
    key = b"".join(words)
    assert hash32(key, seed) == specified(key, seed)


@given(value=st.integers(0, MASK), cells=st.integers(1, 2**32))
def test_an_index_is_below_the_number_of_cells(value: int, cells: int) -> None:
    assert 0 <= reduced(value, cells) < cells


def test_indices_reach_all_cells() -> None:
    assert {reduced(value << 20, 245) for value in range(4096)} == set(range(245))


@pytest.mark.parametrize(
    ("key", "seed", "value"),
    [
        (b"", 0, 0xDEADBEEF),
        (b"", 0xDEADBEEF, 0xBD5B7DDE),
        (b"Four score and seven years ago", 0, 0x17770551),
        (b"Four score and seven years ago", 1, 0xCD628161),
    ],
)
def test_published_values(key: bytes, seed: int, value: int) -> None:
    assert jhash(key, seed) == value
