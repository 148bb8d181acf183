"""Sizes of the structures, against the literature, simulation and brute force."""

from __future__ import annotations

import random

import pytest

from sfcperf.sketches.bloom import (
    BloomFilter,
    bits_for,
    false_positive_rate,
    false_positives,
)
from sfcperf.sketches.count_min import columns_for, rows_for
from sfcperf.sketches.iblt import Iblt, Shape
from sfcperf.sketches.listing import listing
from sfcperf.sketches.peeling import cells_for, same_cells, simulated, threshold


@pytest.mark.parametrize(
    ("hashes", "load"), [(3, 0.81847), (4, 0.77228), (5, 0.70178), (6, 0.63708), (7, 0.58178)]
)
def test_thresholds_are_those_of_2_cores(hashes: int, load: float) -> None:
    """Flows per cell (Molloy 2005, *Cores in random hypergraphs and Boolean formulas*)."""
    assert 1 / threshold(hashes) == pytest.approx(load, abs=2e-5)


def test_sizes_of_equation_1_and_of_the_papers_count_min_sketch() -> None:
    assert false_positive_rate(1500, 3, 200) == pytest.approx((1 - (1 - 1 / 1500) ** 600) ** 3)
    assert (false_positive_rate(1, 1, 0), false_positive_rate(1, 1, 1)) == (0, 1)
    for bits in (1, 7, 1500):
        expected = sum(false_positive_rate(bits, 3, stored) for stored in range(200))
        assert false_positives(bits, 3, 200) == pytest.approx(expected)
    bits = bits_for(200, 4, 0.01)
    assert false_positives(bits, 4, 200) <= 0.01 < false_positives(bits - 64, 4, 200)
    assert (columns_for(0.0005), rows_for(0.01)) == (5437, 5)


def test_false_positives_happen_as_often_as_expected() -> None:
    rng = random.Random(1)
    wrong = 0
    for _ in range(300):
        bloom = BloomFilter(400, 3, first_seed=9)
        wrong += sum(bloom.add(rng.randbytes(20)) for _ in range(60))
    expected = 300 * false_positives(400, 3, 60)
    assert abs(wrong - expected) < 4 * expected**0.5


def test_simulated_listings_agree_with_real_ones() -> None:
    """Real keys and hash functions: 240 tables each."""
    rng = random.Random(7)
    flows, cells = 30, 40
    complete = 0
    for _ in range(240):
        table = Iblt(Shape(cells, 3, 20, first_seed=16, checksum_seed=22))
        for _ in range(flows):
            table.insert(rng.randbytes(20))
        complete += listing(table.shape, table.cells, lambda key: key).complete
    expected = simulated(flows, cells, 3, 4000, seed=1)
    spread = (240 * expected.share * (1 - expected.share)) ** 0.5
    assert abs(complete - 240 * expected.share) < 4 * spread


def test_the_papers_245_cells_are_too_few() -> None:
    paper, larger = (simulated(200, cells, 3, 1000, seed=1) for cells in (245, 300))
    assert 0.2 < paper.low < paper.high < 0.33
    assert 0.6 < paper.listed_share < 0.7
    assert larger.low > 0.98


def test_failures_that_no_simulation_would_show() -> None:
    """1,000 flows in 1,372 cells: 800 simulated tables were listed fully, but two flows have the
    same cells in one of 860."""
    assert 1 / same_cells(1000, 1372, 3) == pytest.approx(860, rel=0.01)
    cells, _ = cells_for(60, 3, 0.99, seed=1)
    assert same_cells(60, cells, 3) <= 0.005


@pytest.mark.parametrize("flows", [1, 2, 5, 60])
def test_a_size_is_enough_and_not_much_more(flows: int) -> None:
    cells, check = cells_for(flows, 3, 0.9, seed=1)
    assert check.high >= 0.9
    assert cells == 3 or simulated(flows, max(3, cells * 4 // 5), 3, 2000, 3).share < check.share
