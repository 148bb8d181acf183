"""The input of one row of a comparison, and the tests of its trials or runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.analysis.comparison.noise_floor import FloorRecord
from sfcperf.analysis.comparison.replication import Costs, run_means, run_test
from sfcperf.analysis.comparison.result import Sample
from sfcperf.analysis.statistics import stretch
from sfcperf.analysis.two_sample import (
    CombinedTest,
    InflatedTest,
    MeanRatio,
    PairedMeanRatio,
    PairedT,
    RobustRanks,
    Scale,
    ShiftTest,
    SignedRank,
    WelchT,
)
from sfcperf.results.values import Metric


@dataclass(frozen=True)
class Case:
    """One metric in one scenario on both sides: the input from which `evaluation` makes a row.
    `engine` collects it."""

    candidate: str
    """Name of the side that is compared with the baseline."""
    scenario: Mapping[str, Any]
    label: str
    """Label of the probe."""
    metric: Metric
    a: Sample
    """The baseline's trials."""
    b: Sample
    """The candidate's trials."""
    paired: bool
    """Whether trials are compared round by round."""
    warnings: tuple[str, ...] = ()
    lossy: tuple[str, ...] = ()
    """Names of the sides that lost more packets than the probe's loss_warning."""
    costs: Costs | None = None
    """Time that a run and a round take; None if it is not known, or if each side is one run."""
    floor: FloorRecord | None = None
    """How runs of the same thing differ on this machine; None if that is not known, or if the row
    is paired or has several runs on a side."""

    @property
    def by_runs(self) -> bool:
        """Whether a side has several runs: then the run is the unit of replication."""
        return len(self.a.by_run()) > 1 or len(self.b.by_run()) > 1

    def replicates(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the independent values of each side, in the metric's unit: the means of runs if a
        side has several runs, else the values of trials."""
        if not self.by_runs:
            return self.a.values, self.b.values
        # This scale leaves the values in their unit.
        unchanged = Scale(False, 0.0)
        return run_means(self.a, unchanged), run_means(self.b, unchanged)


def shift_test(case: Case, scale: Scale, ranks: bool) -> ShiftTest | None:
    """Return the test of the shift on this scale, by ranks or by t; None if there are too few
    trials. Several runs are always tested by t."""
    if case.by_runs:
        return run_test(case.a, case.b, scale, case.paired)
    a, b = scale.of(case.a.values), scale.of(case.b.values)
    if min(len(a), len(b)) < (1 if ranks else 2):
        return None
    return _beside_floor(case, scale, _trial_test(case, a, b, ranks))


def _trial_test(case: Case, a: Sequence[float], b: Sequence[float], ranks: bool) -> ShiftTest:
    """Return the test of the shift of b, for pairs or for groups, corrected for the dependence of
    trials. `a` and `b`: the values of trials on the tested scale; `ranks`: by ranks, else by t."""
    if ranks:
        return _stretched(SignedRank(a, b) if case.paired else RobustRanks(a, b), a, b, case.paired)
    return _stretched(PairedT(a, b) if case.paired else WelchT(a, b), a, b, case.paired)


def mean_test(case: Case, scale: Scale) -> ShiftTest | None:
    """Return the test of the ratio of the means, or, where a value is 0, of their difference. None
    for fewer than two trials on a side."""
    if case.by_runs:
        return run_test(case.a, case.b, scale, case.paired)
    a, b = case.a.values, case.b.values
    if min(len(a), len(b)) < 2:
        return None
    ratio, difference = (PairedMeanRatio, PairedT) if case.paired else (MeanRatio, WelchT)
    test = _stretched((ratio if scale.ratios else difference)(a, b), a, b, case.paired)
    return _beside_floor(case, scale, test)


def _beside_floor(case: Case, scale: Scale, test: ShiftTest) -> ShiftTest:
    """Combine the test with that of the machine's noise floor, if it is known: both must agree, so
    that a difference counts only if it exceeds what two runs of the same thing differ by."""
    if case.floor is None or case.paired:
        return test
    return CombinedTest([test, case.floor.test(case.a, case.b, scale)])


def _stretched(test: ShiftTest, a: Sequence[float], b: Sequence[float], paired: bool) -> ShiftTest:
    """Return the test itself, or one with a larger standard error if successive trials (paired:
    differences of successive pairs) resemble each other. `a` and `b`: values in order of time."""
    series = [[y - x for x, y in zip(a, b, strict=True)]] if paired else [a, b]
    by = stretch(series)
    freedom = sum(map(len, series)) - len(series)
    return test if by.factor == 1 else InflatedTest(test, freedom, by)
