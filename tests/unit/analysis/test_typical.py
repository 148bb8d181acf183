"""Percentiles of a typical trial: scipy's quantiles and the order of ranks as judges."""

from __future__ import annotations

from statistics import median

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats.mstats import mquantiles

from sfcperf.analysis.statistics import Rules
from sfcperf.analysis.statistics.typical import samples_needed, typical_percentiles

ASKED = (50, 90, 99)
TRIALS = st.lists(
    st.lists(st.floats(-1e9, 1e9).map(lambda v: round(v, 3)), min_size=6, max_size=40),
    min_size=1,
    max_size=12,
)


@given(TRIALS)
def test_each_trial_counts_once_by_its_own_percentile(trials: list[list[float]]) -> None:
    found = typical_percentiles(trials, ASKED, Rules())
    # Definition 8 of Hyndman & Fan.
    own = [mquantiles(one, [0.5, 0.9], alphap=1 / 3, betap=1 / 3) for one in trials]
    for percent, column in ((50, 0), (90, 1)):
        if found[percent].value is not None:
            expected = median(row[column] for row in own)
            assert found[percent].value == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(TRIALS)
def test_there_is_an_interval_or_a_reason(trials: list[list[float]]) -> None:
    for percent, found in typical_percentiles(trials, ASKED, Rules()).items():
        assert (found.interval is None) == bool(found.withheld)
        shortest = min(map(len, trials))
        assert (found.value is None) == (shortest < samples_needed(percent))
        if found.value is None or len(trials) < 6:
            assert found.interval is None
        if found.interval is not None and found.value is not None:
            assert found.interval.low <= found.value <= found.interval.high


def test_reasons_say_what_would_help() -> None:
    levels = [5.0, 1.0, 4.0, 2.0, 6.0, 3.0]
    short = typical_percentiles([[level] * 20 for level in levels], ASKED, Rules())
    assert short[50].withheld == ""
    assert "30 samples" in short[90].withheld and "the shortest has 20" in short[90].withheld
    few = typical_percentiles([[level] * 20 for level in levels[:3]], ASKED, Rules())
    assert "needs 6 trials; there are 3" in few[50].withheld
    assert typical_percentiles([], ASKED, Rules())[50].value is None


def test_intervals_follow_the_rules_of_the_run() -> None:
    trials = [[level] * 20 for level in (5.0, 1.0, 4.0, 2.0, 6.0, 3.0, 5.5, 1.5)]
    plain, stopped = (
        typical_percentiles(trials, (50,), rules)[50].interval
        for rules in (Rules(), Rules(first_look=6))
    )
    assert stopped.half_width > plain.half_width and stopped.method.endswith("repeated looks")
    drifting = typical_percentiles(sorted(trials), (50,), Rules())[50]
    assert drifting.interval is None and "drift" in drifting.withheld


def test_many_samples_of_few_trials_promise_no_precision() -> None:
    """Pseudo-replication: the interval depends on how trials differ, not on how many echoes."""
    random = numpy.random.default_rng(4)
    level = random.normal(100, 5, (10, 1))
    widths = []
    for samples in (100, 10_000):
        trials = (level + random.normal(0, 5, (10, samples))).tolist()
        interval = typical_percentiles(trials, (50,), Rules())[50].interval
        widths.append(interval.half_width)
    assert 0.5 < widths[1] / widths[0] < 2
