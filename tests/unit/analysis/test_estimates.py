"""When mean and median get an interval, and why not."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from sfcperf.analysis.statistics import (
    EventCounts,
    Rules,
    estimate_of,
    least_to_see,
    mean_interval,
    median_interval,
    rarest_mode,
    share_interval,
    tick_of,
)

SOME = [100.0, 101.5, 99.2, 100.7, 98.9, 101.1, 100.2, 99.6]
MEAN = Rules(centre="mean")


def test_the_median_is_the_default_and_its_interval_needs_six_trials() -> None:
    found = estimate_of(SOME, Rules())
    assert (found.value, found.interval) == (numpy.median(SOME), median_interval(SOME, 0.95))
    few = estimate_of(SOME[:5], Rules())
    assert few.interval is None and few.value == 100.0
    assert "of the median at 95 % needs 6 trials; there are 5" in few.withheld


def test_the_mean_needs_trials_enough_to_show_the_rarest_mode() -> None:
    found = estimate_of(SOME, MEAN)
    assert found.interval is None
    assert "8 trials may not show; 29 show any that occurs in 10 % of them" in found.withheld
    declared = Rules(centre="mean", rarest_mode=0.4)
    assert estimate_of(SOME, declared).interval == mean_interval(SOME, 0.95)


def test_outliers_contradict_the_declaration_that_there_is_no_mode() -> None:
    slow = [*SOME, 160.0, 99.9]
    found = estimate_of(slow, Rules(centre="mean", rarest_mode=0.4))
    assert "1 of 10 trials is an outlier" in found.withheld
    assert estimate_of(slow, Rules()).interval is not None


def test_a_drift_withholds_the_interval() -> None:
    found = estimate_of([float(value) for value in range(100, 112)], Rules())
    assert found.interval is None and "drift with time (Mann-Kendall p = " in found.withheld


def test_dependent_trials_have_a_wider_interval_that_stays_positive() -> None:
    values = [1.0, 2.0, 8.0, 9.0, 7.0, 9.0, 8.0, 2.0, 1.0, 1.0, 1.5, 2.0, 8.0, 9.0, 8.0, 1.0, 2.0]
    found = estimate_of(values, Rules()).interval
    plain = median_interval(values, 0.95)
    assert "dependent trials" in found.method
    assert 0 < found.low < plain.low and found.high > plain.high


def test_equal_trials_say_nothing_beyond_the_resolution_of_their_metric() -> None:
    found = estimate_of([3.0] * 8, Rules())
    assert found.interval is None and "the resolution of the metric is not known" in found.withheld
    ticked = estimate_of([3.0] * 8, Rules(), tick=1.0).interval
    assert ticked is not None and (ticked.low, ticked.high) == (2.5, 3.5)
    zero = estimate_of([0.0] * 8, Rules(), tick=1.0).interval
    assert zero is not None and (zero.low, zero.high) == (0.0, 0.5)


def test_dispersion_of_a_tick_averages_rounding_out_of_a_mean_but_not_of_a_median() -> None:
    values = [100.0 + (3 * place) % 7 for place in range(40)]  # neighbours differ
    of_mean = estimate_of(values, MEAN, tick=1.0).interval
    of_median = estimate_of(values, Rules(), tick=1.0).interval
    bare = median_interval(values, 0.95)
    assert of_mean == mean_interval(values, 0.95)
    assert (of_median.low, of_median.high) == (bare.low - 0.5, bare.high + 0.5)


def test_no_loss_at_all_is_below_a_limit_that_the_packets_give() -> None:
    counted = EventCounts([0, 0, 0], [1000, 1000, 1000])
    found = estimate_of([0.0] * 3, Rules(), counted=counted).interval
    assert found is not None and found.low == 0
    assert found.high == pytest.approx(3.69 / 3000, rel=0.01)
    assert found.method == "Clopper-Pearson"


def test_losses_that_come_in_some_trials_only_are_not_taken_for_independent() -> None:
    counted = EventCounts([0, 500, 0], [1000] * 3)
    found = estimate_of([0.0, 0.5, 0.0], Rules(), counted=counted)
    assert found.interval is None and "needs 6 trials" in found.withheld
    many = EventCounts([0, 500] * 5, [1000] * 10)
    wide = estimate_of([0.0, 0.5] * 5, Rules(), counted=many).interval
    assert wide is not None and (wide.low, wide.high) == (0.0, 0.5)


@given(st.integers(0, 50), st.integers(1, 10_000), st.sampled_from([0.9, 0.95, 0.99]))
def test_share_limits_are_those_of_statsmodels(events: int, total: int, confidence: float) -> None:
    events = min(events, total)
    expected = proportion_confint(events, total, alpha=1 - confidence, method="beta")
    assert share_interval(events, total, confidence) == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(st.floats(-1e100, 1e100), max_size=45),
    st.sampled_from([Rules(), MEAN, Rules(0.99), Rules(first_look=3), Rules(0.9, "mean", 0.9)]),
    st.sampled_from([None, 1e-3, 1.0]),
)
def test_every_estimate_has_an_interval_or_a_reason(
    values: list[float], rules: Rules, tick: float | None
) -> None:
    found = estimate_of(values, rules, tick=tick)
    assert (found.interval is None) == bool(found.withheld)
    if found.interval is not None:
        assert found.interval.low <= found.interval.high
        assert min(values) < 0 or found.interval.low >= 0


@pytest.mark.parametrize(("n", "share"), [(0, 1.0), (1, 0.95), (10, 0.2589), (29, 0.0981)])
def test_the_rarest_mode_that_n_trials_show(n: int, share: float) -> None:
    assert rarest_mode(n) == pytest.approx(share, abs=1e-4)


@given(st.floats(0.001, 0.999))
def test_the_fewest_trials_are_those_of_the_binomial(share: float) -> None:
    n = least_to_see(share)
    assert binom.pmf(0, n, share) <= 0.05 * (1 + 1e-6)
    assert n == 1 or binom.pmf(0, n - 1, share) > 0.05 * (1 - 1e-6)


def test_ties_tell_the_tick() -> None:
    assert tick_of([300.0, 200.0, 300.0, 500.0, 200.0, 300.0]) == 100
    assert tick_of([1.0, 1.5, 2.25, 2.25, 4.0]) is None  # too few ties
    assert tick_of([3.0] * 9) is None
    assert tick_of([3.0] * 9, 0.5) == 0.5
