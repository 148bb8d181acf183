"""Intervals against scipy's own, and against what an interval promises: coverage."""

from __future__ import annotations

import numpy
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from sfcperf.analysis.statistics import (
    Interval,
    mean_interval,
    median_interval,
    relative_half_width,
    t_quantile,
)

VALUES = st.floats(-1e9, 1e9, allow_nan=False).map(lambda value: round(value, 6))
CONFIDENCES = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])


@given(st.lists(VALUES, min_size=2, max_size=40), CONFIDENCES)
def test_mean_of_symmetric_values_has_scipys_interval(
    values: list[float], confidence: float
) -> None:
    symmetric = [-1e9, 1e9, *values, *(-value for value in values)]
    expected = scipy.stats.t.interval(
        confidence, len(symmetric) - 1, loc=0, scale=scipy.stats.sem(symmetric)
    )
    found = mean_interval(symmetric, confidence)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-6)
    assert (found.confidence, found.method) == (confidence, "skewness-corrected t (mean)")


@given(st.lists(VALUES, min_size=3, max_size=40), CONFIDENCES)
def test_mean_interval_is_by_halls_transformation(values: list[float], confidence: float) -> None:
    """T + g T^2/3 + g^2 T^3/27 + g/6n is taken for a t statistic, T the studentized mean."""
    n, spread = len(values), float(numpy.std(values, ddof=1))
    assume(spread > 1e-3)
    found = mean_interval([min(values) - 1e9, *values], confidence)
    values, n = [min(values) - 1e9, *values], n + 1
    spread = float(numpy.std(values, ddof=1))
    g = float(((values - numpy.mean(values)) ** 3).mean()) / spread**3
    limit = scipy.stats.t.ppf((1 + confidence) / 2, n - 1) / numpy.sqrt(n)
    for end, expected in ((found.low, limit), (found.high, -limit)):
        t = (numpy.mean(values) - end) / spread
        transformed = t + g * t**2 / 3 + g**2 * t**3 / 27 + g / (6 * n)
        assert transformed == pytest.approx(expected, rel=1e-5, abs=1e-9)


@given(st.lists(st.floats(1e-3, 1e9), min_size=2, max_size=40), CONFIDENCES)
def test_positive_values_have_a_positive_mean(values: list[float], confidence: float) -> None:
    found = mean_interval(values, confidence)
    assert found is None or 0 < found.low <= numpy.mean(values) * (1 + 1e-9) <= found.high * 1.001


@given(VALUES, st.integers(0, 20))
def test_equal_values_have_an_interval_of_width_zero(value: float, n: int) -> None:
    found = mean_interval([value] * n, 0.95)
    assert (found and (found.low, found.high)) == (None if n < 2 else (value, value))


def test_published_t_quantiles() -> None:
    """Jain (1991), table A.4: t[0.975; n]."""
    found = [round(t_quantile(df, 0.95), 3) for df in (1, 2, 4, 9, 30)]
    assert found == [12.706, 4.303, 2.776, 2.262, 2.042]


@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.9, 0.95, 0.99])
def test_median_interval_is_between_ranks_that_cover_more_and_less(confidence: float) -> None:
    for n in (0, 1, 2, 3, 5, 6, 7, 8, 10, 25, 100, 401):
        tail = (1 - confidence) / 2
        ranks = [r for r in range(1, n // 2 + 1) if scipy.stats.binom.cdf(r - 1, n, 0.5) <= tail]
        found = median_interval(list(range(n)), confidence)
        assert (found is None) == (not ranks)
        if found is not None:
            assert max(ranks) - 1 <= found.low <= max(ranks)
            assert found.low + found.high == pytest.approx(n - 1)


def test_median_interval_of_a_published_example() -> None:
    """Hettmansperger & Sheather's weight for n = 10, d = 2 and 3 at 95 %: the pairs cover 97.85 and
    89.06 %, so I = 0.3246 and lambda = 8 I / (2 + 6 I)."""
    share = (0.978515625 - 0.95) / (0.978515625 - 0.890625)
    weight = 8 * share / (2 + 6 * share)
    found = median_interval([0, 1, 10, 20, 30, 40, 50, 60, 70, 80], 0.95)
    assert found.low == pytest.approx(1 + 9 * weight)
    assert found.high == pytest.approx(70 - 10 * weight)


@given(st.lists(VALUES, min_size=6, max_size=60), st.randoms())
def test_median_interval_holds_the_median_in_any_order(values: list[float], random) -> None:
    found = median_interval(values, 0.95)
    random.shuffle(values)
    assert found.low <= numpy.median(values) <= found.high
    assert median_interval(values, 0.95) == found


def test_relative_half_width_of_usual_and_odd_centres() -> None:
    interval = Interval(90.0, 110.0, 0.95, "")
    assert relative_half_width([90, 110], 100.0, interval) == pytest.approx(0.1)
    assert relative_half_width([-90, -110], -100.0, interval) == pytest.approx(0.1)
    assert relative_half_width([-1, 1], 0.0, Interval(-1.0, 1.0, 0.95, "")) is None
    assert relative_half_width([0, 0], 0.0, None) == 0
    assert relative_half_width([1, 2], 1.5, None) is None
