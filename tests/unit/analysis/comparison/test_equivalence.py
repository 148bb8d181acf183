"""What must hold, beyond small shifts, before two sides are called equivalent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.records.comparisons import RTT, case, row, sample

from sfcperf.analysis.comparison import Options, Row
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.statistics import find_outliers
from sfcperf.results.values import Metric

N = 40
LOSS = Metric("loss_ratio", "1", "losses", "lower", True, out_of="transmitted")


def noise(seed: int, n: int = N, sd: float = 0.01) -> np.ndarray:
    return 100 * (1 + sd * np.random.default_rng(seed).standard_normal(n))


def planted(seed: int, times: float, count: int, n: int = N) -> np.ndarray:
    values = noise(seed, n)
    values[np.random.default_rng(seed + 1).permutation(n)[:count]] *= times
    return values


def test_enough_clean_trials_are_equivalent() -> None:
    found = row(noise(1), noise(2))
    assert found.verdict == "equivalent"
    assert found.withheld == ()
    assert found.tost_interval.confidence == found.mean_ratio.confidence == 0.9
    for estimate in (found.tost_interval, found.mean_ratio):
        assert -0.05 < estimate.low < estimate.high < 0.05


@pytest.mark.parametrize(("times", "count"), [(1.5, 4), (10, 4), (1 / 3, 8), (1.3, 2)])
def test_a_second_mode_is_not_equivalent(times: float, count: int) -> None:
    assert row(noise(1), planted(2, times, count)).verdict != "equivalent"


def test_a_mode_that_moves_the_mean_little_is_withheld_as_outliers() -> None:
    found = row(noise(1), planted(2, 1.2, 1))
    assert found.verdict == "undecided"
    assert "1 of 40 trials are outliers" in "; ".join(found.withheld)


def test_few_trials_miss_modes() -> None:
    found = row(noise(1, 10), noise(2, 10))
    assert found.verdict == "undecided"
    assert found.rarest_mode == pytest.approx(1 - 0.05**0.1)
    assert (
        "10 trials miss a mode that occurs in up to 26 % of all; 29 per side" in found.withheld[0]
    )
    assert found.n_needed == 29
    assert row(noise(1, 10), noise(2, 10), Options(rarest=0.26)).verdict == "equivalent"


def test_a_clock_that_is_too_coarse_hides_the_difference() -> None:
    ticks = replace(RTT, tick=50.0)
    found = row(np.full(N, 100.0), np.full(N, 100.0), metric=ticks)
    assert found.verdict == "undecided"
    assert "steps of 50 us" in "; ".join(found.withheld)
    assert (found.relative.low, found.relative.high) == pytest.approx((-0.393, 0.649), abs=0.001)
    unknown = row(np.full(N, 100.0), np.full(N, 100.0))
    assert (unknown.verdict, unknown.relative.low) == ("undecided", None)
    assert "the resolution of the metric is not known" in "; ".join(unknown.withheld)
    fine = replace(RTT, tick=0.1)
    assert row(noise(1).round(1), noise(2).round(1), metric=fine).verdict == "equivalent"


def test_a_wider_side_is_not_equivalent() -> None:
    found = row(noise(1), noise(2, sd=0.04), Options(margin=0.1))
    assert "the dispersion of one side is" in "; ".join(found.withheld)


def losses(per_trial: int) -> list[Row]:
    """40 trials a side of so many packets, none of which is lost."""
    one = case([0.0] * N, [0.0] * N, metric=LOSS)
    side = replace(sample(one.a.values), total=N * per_trial, events=0)
    margin = Options(absolute_margins={"loss_ratio": 0.001})
    return evaluate([replace(one, a=side, b=side)], margin)


def test_only_no_losses_of_many_packets_show_that_there_are_none() -> None:
    (few,) = losses(20)
    assert few.verdict == "undecided"
    assert "800 and 800 packets are too few" in "; ".join(few.withheld)
    (many,) = losses(1000)
    assert many.verdict == "equivalent"


def test_few_losses_in_every_trial_are_too_few_for_a_ratio() -> None:
    """One or two of 100 packets in each trial: their ratio is known to a third at best."""
    shares = 0.01 * (1 + np.random.default_rng(4).permutation(N) % 2)
    one = case(shares, shares[::-1], metric=LOSS)
    sides = [
        replace(side, total=100 * N, events=round(100 * sum(side.values)))
        for side in (one.a, one.b)
    ]
    found = evaluate([replace(one, a=sides[0], b=sides[1])], Options(margin=0.3, rarest=0.2))[0]
    assert "packets are too few" in "; ".join(found.withheld)


def test_half_lost_in_an_eighth_of_the_trials_is_worse() -> None:
    lossy = 0.5 * (np.random.default_rng(3).permutation(N) < 6)
    options = Options(absolute_margins={"loss_ratio": 0.001})
    assert row(np.zeros(N), lossy, options, metric=LOSS).verdict == "worse"


def test_zeros_without_counts_are_withheld() -> None:
    rare = np.where(np.random.default_rng(3).permutation(N) < 2, 1e-5, 0.0)
    options = Options(absolute_margins={"loss_ratio": 0.001})
    found = row(np.zeros(N), rare, options, metric=LOSS)
    assert found.verdict == "undecided"
    assert "of the trials gave 0" in "; ".join(found.withheld)


def test_a_mean_that_is_off_is_not_within_the_margin_though_most_trials_are() -> None:
    found = row(noise(1), planted(2, 2.0, 8))
    assert abs(found.relative.value) < 0.05
    assert found.mean_ratio.value > 0.1
    assert found.tost_p > 0.05
    assert any("look for a second mode" in text for text in found.warnings)
    assert found.n_needed_for != "equivalence"


def test_an_outlier_of_chance_does_not_matter_where_no_mode_of_its_size_could() -> None:
    """4.5 standard deviations of a trial: a mode that 1 of 40 belong to has at most a ninth of all,
    and moves the mean by half a per cent."""
    values = noise(2)
    values[7] = values.mean() * 1.045
    assert len(find_outliers(np.log(values).tolist())) == 1
    assert row(noise(1), values).verdict == "equivalent"
    narrow = row(noise(1), values, Options(margin=0.006))
    values[7] = values.mean() * 1.1  # the further off, the less likely is chance
    for withheld in (narrow.withheld, row(noise(1), values).withheld):
        assert "0 of 40 and 1 of 40 trials are outliers" in "; ".join(withheld)
