"""Packets on both sides of a VNF are paired, or left out, but never paired wrongly."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.packets.matching import match


def test_order_does_not_matter() -> None:
    found = match([("a", 1), ("b", 2), ("c", 3)], [("c", 10), ("a", 20), ("b", 30)])
    assert found.crossings == ((10, 7), (20, 19), (30, 28))
    assert (found.only_entered, found.only_left, found.ambiguous) == (0, 0, 0)


def test_lost_made_and_leaving_before_it_came() -> None:
    found = match([("lost", 1), ("odd", 50)], [("made", 5), ("odd", 40)])
    assert found.crossings == ()
    assert (found.only_entered, found.only_left, found.ambiguous) == (2, 2, 0)


def test_duplicates_are_paired_only_when_all_came_out() -> None:
    whole = match([("a", 1), ("a", 5)], [("a", 9), ("a", 7)])
    assert whole.crossings == ((7, 6), (9, 4))
    part = match([("a", 1), ("a", 5)], [("a", 9)])
    assert (part.crossings, part.ambiguous) == ((), 2)


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
