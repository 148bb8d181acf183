"""jhash is lookup3: values that its author published (lookup3.c, driver5), and those of DPDK."""

from __future__ import annotations

import pytest

from sfcperf.sketches.jhash import jhash


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
