"""Packets on both sides of a VNF are paired, or left out, but never paired wrongly."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.packets.matching import match


@pytest.mark.parametrize(
    ("entered", "left", "crossings", "only_entered", "only_left", "ambiguous"),
    [
        # Order does not matter.
        ([("a", 1), ("b", 2), ("c", 3)], [("c", 10), ("a", 20), ("b", 30)],
         ((10, 7), (20, 19), (30, 28)), 0, 0, 0),
        # Lost, made, and leaving before it came.
        ([("lost", 1), ("odd", 50)], [("made", 5), ("odd", 40)], (), 2, 2, 0),
        # Duplicates are paired only when all came out.
        ([("a", 1), ("a", 5)], [("a", 9), ("a", 7)], ((7, 6), (9, 4)), 0, 0, 0),
        ([("a", 1), ("a", 5)], [("a", 9)], (), 0, 0, 2),
    ],
)  # fmt: skip
def test_pairs(
    entered: Any, left: Any, crossings: Any, only_entered: int, only_left: int, ambiguous: int
) -> None:
    found = match(entered, left)
    assert found.crossings == crossings
    counts = (found.only_entered, found.only_left, found.ambiguous)
    assert counts == (only_entered, only_left, ambiguous)


@st.composite
def traffic(draw: st.DrawFn) -> list[tuple[str, int, int | None]]:
    """Packets: what they look like, when they came, how long they stay (None: for ever)."""
    names = st.one_of(st.uuids().map(str), st.sampled_from("ab"))
    stay = st.one_of(st.none(), st.integers(0, 1000))
    gaps = st.integers(0, 50)
    rows = draw(st.lists(st.tuples(names, gaps, stay), max_size=60))
    now, packets = 0, []
    for name, gap, inside in rows:
        now += gap
        packets.append((name, now, inside))
    return packets


@given(packets=traffic(), missed=st.sets(st.integers(0, 59)), rng=st.randoms())
def test_loss_reordering_duplicates(
    packets: list[tuple[str, int, int | None]], missed: set[int], rng: object
) -> None:
    entered = [(name, at) for n, (name, at, _) in enumerate(packets) if n not in missed]
    left = [(name, at + stay) for name, at, stay in packets if stay is not None]
    rng.shuffle(left)  # type: ignore[attr-defined]
    found = match(entered, left)
    assert all(inside >= 0 for _, inside in found.crossings)
    assert all(a <= b for a, b in pairwise(at for at, _ in found.crossings))
    alike = {name for name, _, _ in packets if sum(other[0] == name for other in packets) > 1}
    # Packets like no other: exactly those that both sides saw, with their own time.
    single = [
        (at + stay, stay)
        for n, (name, at, stay) in enumerate(packets)
        if name not in alike and stay is not None and n not in missed
    ]
    if not alike:
        assert sorted(found.crossings) == sorted(single)
        assert found.ambiguous == 0
    # Alike ones, of which nothing was missed or lost: their mean is right.
    if not missed and all(stay is not None for _, _, stay in packets) and packets:
        stays = [stay for _, _, stay in packets if stay is not None]
        assert fmean(inside for _, inside in found.crossings) == pytest.approx(fmean(stays))
    # Nothing is counted twice or forgotten.
    assert len(found.crossings) + found.only_entered + found.ambiguous == len(entered)
