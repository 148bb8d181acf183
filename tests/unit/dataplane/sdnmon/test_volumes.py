"""Estimates from samples against ground truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.tiers import examples

from sfcperf.dataplane.sdnmon.controller.volumes import total_of_all_flows
from sfcperf.errors import InputError

TRIALS = 2000
FLOWS = 2000


def _coverage(x: NDArray[np.float64], ratio: float, trials: int = TRIALS) -> tuple[float, float]:
    """Share of the samples whose interval has the total; mean of estimates over the total."""
    random = np.random.default_rng(1)
    total, hits, values = x.sum(), 0, []
    for _ in range(trials):
        found = total_of_all_flows(x[random.random(len(x)) < ratio], ratio)
        hits += found.low <= total <= found.high
        values.append(found.value)
    return hits / trials, float(np.mean(values) / total)


@pytest.mark.parametrize(
    ("kind", "ratio"), [("flows", 0.05), ("geometric", 0.9), ("exponential bytes", 0.2)]
)
def test_the_interval_has_the_total_as_often_as_it_says(kind: str, ratio: float):
    random = np.random.default_rng(7)
    x = {
        "flows": np.ones(FLOWS),
        "geometric": random.geometric(0.1, FLOWS).astype(float),
        "exponential bytes": random.exponential(5000, FLOWS) + 60,
    }[kind]
    coverage, mean = _coverage(x, ratio)
    assert 0.93 <= coverage <= 0.97
    assert mean == pytest.approx(1, abs=0.01)


def test_heavy_tails_are_covered_less():
    """So the docstring says: a few flows have most of the bytes."""
    x = np.random.default_rng(3).pareto(0.8, FLOWS) + 1
    coverage, mean = _coverage(x, 0.1)
    assert coverage < 0.9
    assert mean == pytest.approx(1, abs=0.2)  # without bias all the same


def test_flows_that_were_added_are_known():
    """The largest flows of a heavy tail, added: what is left is covered again."""
    x = np.sort(np.random.default_rng(3).pareto(0.8, FLOWS) + 1)
    rest, largest = x[:-100], x[-100:]
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(TRIALS):
        found = total_of_all_flows(rest[random.random(len(rest)) < 0.2], 0.2, largest)
        hits += found.low <= x.sum() <= found.high
    assert 0.93 <= hits / TRIALS <= 0.97


@examples(500)
@given(
    st.lists(st.integers(0, 10**12), max_size=50),
    st.lists(st.integers(0, 10**12), max_size=5),
    st.floats(0.001, 1),
)
def test_what_always_holds(sampled: list[int], added: list[int], ratio: float):
    found = total_of_all_flows(np.array(sampled), ratio, np.array(added))
    assert sum(sampled) + sum(added) <= found.high * (1 + 1e-9)
    assert found.low <= found.value * (1 + 1e-9) <= found.high * (1 + 2e-9)
    assert found.value == pytest.approx(sum(sampled) / ratio + sum(added))
    assert found.effective_flows <= len(sampled) * (1 + 1e-9)


def test_by_hand():
    found = total_of_all_flows(np.array([1, 2, 3]), 1)
    assert (found.low, found.value, found.high) == (6, 6, 6)
    assert total_of_all_flows(np.ones(100), 0.5).effective_flows == 100
    assert total_of_all_flows(np.append(np.ones(100), 1e6), 0.5).effective_flows < 1.01
    assert total_of_all_flows(np.array([]), 0.5).effective_flows == 0


@pytest.mark.parametrize(("ratio", "confidence"), [(0, 0.95), (1.1, 0.95), (0.5, 0), (0.5, 1)])
def test_what_is_refused(ratio: float, confidence: float):
    with pytest.raises(InputError):
        total_of_all_flows(np.ones(1), ratio, confidence=confidence)
