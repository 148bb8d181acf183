"""Numbers of things in words."""

from __future__ import annotations

import pytest

from sfcperf.counts import count_text, were_text


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(0, "row", "0 rows"), (1, "row", "1 row"), (2, "row", "2 rows"), (2, "reply", "2 replies"),
     (2, "key", "2 keys"), (1, "more reply", "1 more reply")],
)  # fmt: skip
def test_one_is_singular(count: int, noun: str, text: str) -> None:
    assert count_text(count, noun) == text
    assert were_text(count, noun) == f"{text} {'was' if count == 1 else 'were'}"
