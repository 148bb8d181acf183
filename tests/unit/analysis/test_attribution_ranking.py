"""Which VNF costs most: judged by scipy and statsmodels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, wilcoxon
from statsmodels.stats.multitest import multipletests
from support.records.trials import trial

from sfcperf.analysis.attribution.path_times import TrialTimes
from sfcperf.analysis.attribution.ranking import Ranking, ranking
from sfcperf.analysis.statistics import Rules


def ranked(
    values: Mapping[str, Sequence[float]], cpu_cores: Mapping[str, float] | None = None
) -> Ranking:
    """Of trials with these times."""
    nothing: Any = {"samples": {}, "end_to_end": None, "end_to_end_samples": [], "captured": {}}
    nothing |= {"parts": {}, "crossing": None, "counts": {}, "cpu_cores": cpu_cores or {}}
    times = [
        TrialTimes(record=trial(number), functions=dict(zip(values, row, strict=True)), **nothing)
        for number, row in enumerate(zip(*values.values(), strict=True), 1)
    ]
    return ranking(times, list(values), Rules())


def drawn(means: Mapping[str, float], trials: int, seed: int) -> dict[str, list[float]]:
    """Times that share the noise of their trial, as VNFs on one machine do."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 10, trials)
    return {name: list(mean + shared + rng.normal(0, 1, trials)) for name, mean in means.items()}


def test_the_first_is_told_by_differences_within_trials() -> None:
    values = drawn({"fw-1": 50, "nat-2": 53, "dpi-3": 47}, 10, seed=1)
    found = ranked(values)
    assert [f.name for f in found.functions] == ["nat-2", "fw-1", "dpi-3"]
    assert found.most == ("nat-2",)
    assert found.trials_needed is None
    # Judges: the exact test of each pair, corrected for three.
    pairs = list(combinations(["nat-2", "fw-1", "dpi-3"], 2))
    p = [wilcoxon(np.subtract(values[a], values[b]), method="exact").pvalue for a, b in pairs]
    wanted = multipletests(p, method="holm")[1]
    assert [(d.more, d.less) for d in found.differences] == pairs
    assert [d.p for d in found.differences] == pytest.approx(list(wanted))
    for d in found.differences:
        assert 0 < d.ci_low_us < d.shift_us < d.ci_high_us


def test_too_few_trials_are_no_answer() -> None:
    found = ranked(drawn({"fw-1": 50, "nat-2": 80, "dpi-3": 20}, 5, seed=2))
    assert found.most == ("nat-2", "fw-1", "dpi-3")
    # Three pairs: 2 / 2^7 <= 0.05 / 3 < 2 / 2^6.
    assert (found.trials, found.least_trials) == (5, 7)


def test_vnfs_that_are_alike_are_not_told_apart_and_others_are() -> None:
    found = ranked(drawn({"fw-1": 50, "nat-2": 50.2, "dpi-3": 20}, 12, seed=3))
    assert set(found.most) == {"fw-1", "nat-2"}
    assert found.trials_needed is None or found.trials_needed > 12


def test_one_trial_and_one_vnf() -> None:
    alone = ranked({"fw-1": [10.0, 11.0]}, cpu_cores={"fw-1": 0.5})
    assert (alone.most, alone.differences, alone.method) == (("fw-1",), (), "")
    assert alone.functions[0].cpu_cores == 0.5
    once = ranked({"fw-1": [10.0], "nat-2": [20.0]})
    assert once.most == ("nat-2", "fw-1")
    assert once.trials_needed is None
    assert ranking([], ["fw-1"], Rules()) is None


def test_equal_vnfs_are_seldom_told_apart() -> None:
    runs, means = 150, {"a": 50.0, "b": 50.0, "c": 50.0}
    false = sum(len(ranked(drawn(means, 8, seed)).most) == 1 for seed in range(runs))
    assert false <= binom.ppf(0.999, runs, 0.05)
