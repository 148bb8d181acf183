"""Outliers, dependence and steadiness of odd and of published data."""

from __future__ import annotations

import numpy
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.tsa.stattools import acf
from support.records.comparisons import RTT
from support.records.trials import trial

from sfcperf.analysis.diagnosis import diagnose
from sfcperf.analysis.statistics import Rules, find_outliers, steadiness
from sfcperf.analysis.statistics.dependence import dependence
from sfcperf.analysis.statistics.outliers import _critical

VALUES = st.floats(-1e100, 1e100)
ROSNER = [
    *(-0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58),
    *(1.65, 1.69, 1.70, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15),
    *(2.23, 2.24, 2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21),
    *(3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01),
]
"""Rosner (1983), as in the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.17.3."""


def test_published_outliers() -> None:
    """Three at alpha = 0.05; the handbook prints critical values of 3.159, 3.151, 3.144."""
    assert find_outliers(ROSNER) == ()
    assert [round(_critical(54, i, 0.05), 3) for i in (1, 2, 3)] == [3.159, 3.151, 3.144]
    assert find_outliers(ROSNER, 0.05) == (51, 52, 53)


@given(st.lists(VALUES, max_size=40))
def test_everything_has_a_diagnosis(values: list[float]) -> None:
    records = [trial(n, values=[value]) for n, value in enumerate(values, 1)]
    found = diagnose(records, values, RTT, Rules())
    assert set(found.outliers) <= {record.trial_id for record in records}
    assert len(found.outliers) <= max(1, len(values) // 5)
    assert found.samples_n == 0 and found.within.state == ""
    for p in (found.order.autocorrelation_p, found.order.trend_p):
        assert p is None or 0 <= p <= 1


@given(st.lists(st.integers(-1000, 1000), min_size=5, max_size=40), st.sampled_from([1e-9, 1, 1e9]))
def test_neither_scale_nor_place_matters(values: list[int], scale: float) -> None:
    moved = [scale * (value + 5000) for value in values]
    assert find_outliers(moved) == find_outliers(values)
    first, second = dependence(values), dependence(moved)
    assert first.trend_p == pytest.approx(second.trend_p)
    assert first.autocorrelation == pytest.approx(second.autocorrelation, abs=1e-6)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [7.0] * 30])
def test_where_there_is_nothing_to_test(values: list[float]) -> None:
    assert find_outliers(values) == ()
    assert dependence(values).trend_p is None


@given(st.lists(st.integers(0, 10_000), min_size=5, max_size=60, unique=True))
def test_autocorrelation_is_that_of_statsmodels(values: list[int]) -> None:
    found = dependence(values)
    assert found.autocorrelation == pytest.approx(acf(values, nlags=1)[1], abs=1e-9)


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], [1, 5, 2, 9, 4, 7], [8, 7, 9, 3, 2, 2]])
def test_p_of_few_trials_is_that_of_all_orders(values: list[int]) -> None:
    judge = scipy.stats.permutation_test(
        (values,),
        lambda order: acf(order, nlags=1)[1],
        permutation_type="pairings",
        alternative="greater",
        vectorized=False,
        n_resamples=numpy.inf,
    )
    assert dependence(values).autocorrelation_p == pytest.approx(judge.pvalue)


def test_short_or_broken_series_are_not_judged() -> None:
    assert steadiness([]).state == ""
    assert steadiness([[1.0] * 9]).state == ""
    # One that lost most of its samples says nothing of the others.
    slow_first = [[50.0, 40.0, *([10.0, 10.1] * 9)] for _ in range(4)]
    assert steadiness([*slow_first, [10.0] * 3]) == steadiness(slow_first)
    assert steadiness(slow_first).after == 2
    assert steadiness([[5.0] * 20] * 3).state == "steady"


def test_warm_up_within_trials_is_told_with_its_weight() -> None:
    random = numpy.random.default_rng(4)
    echoes = [[180.0, 150.0, *random.normal(100, 2, 18)] for _ in range(5)]
    records = [
        trial(n, values=[float(numpy.mean(one))], series={"rtt_us": one})
        for n, one in enumerate(echoes, 1)
    ]
    found = diagnose(records, [r.samples[0]["value"] for r in records], RTT, Rules())
    assert (found.within.state, found.within.after, found.samples_n) == ("warm-up", 2, 100)
    (warning,) = found.warnings
    assert "first 2 samples" in warning and "raises" in warning
    pooled = [value for one in echoes for value in one]
    assert found.samples[50] == pytest.approx(numpy.median(pooled))
    p99 = scipy.stats.mstats.mquantiles(pooled, [0.99], alphap=0, betap=0)[0]
    assert found.samples[99] == pytest.approx(p99)


def test_correlated_trials_are_told_with_what_is_done_about_them() -> None:
    """From ten trials on, the interval is widened."""
    told = []
    for values in ([1, 3, 5, 7, 9, 8, 6, 4, 2], [1, 3, 5, 7, 9, 11, 12, 10, 8, 6, 4, 2]):
        records = [trial(n, values=[value]) for n, value in enumerate(values, 1)]
        (warning,) = diagnose(records, values, RTT, Rules()).warnings
        assert warning.startswith("Successive trials are correlated")
        told.append("widened" in warning)
    assert told == [False, True]


def test_rounds_are_looked_at_in_order_of_time_not_of_number() -> None:
    """A trial that was measured again came later than those of the next round."""
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    times = [f"2026-01-31T12:0{minute}:00.000000+00:00" for minute in range(8)]
    shuffled = [3, 1, 7, 0, 5, 2, 6, 4]
    records = [
        trial(n, values=[values[place]], started_at=times[place])
        for n, place in enumerate(shuffled, 1)
    ]
    found = diagnose(records, [values[place] for place in shuffled], RTT, Rules())
    assert found.order.autocorrelation == dependence(values).autocorrelation
    assert found.warnings[0].startswith("The trials drift with time: the last third")
