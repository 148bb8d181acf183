"""A row before it is evaluated, and the tests of its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.analysis.comparison.result import Sample
from sfcperf.analysis.statistics import stretch
from sfcperf.analysis.two_sample import (
    MeanRatio,
    PairedMeanRatio,
    PairedT,
    RobustRanks,
    Scale,
    ShiftTest,
    SignedRank,
    Stretched,
    WelchT,
)
from sfcperf.results.values import Metric


@dataclass(frozen=True)
class Case:
    """A row before it is evaluated."""

    candidate: str
    scenario: Mapping[str, Any]
    label: str
    metric: Metric
    a: Sample
    b: Sample
    paired: bool
    warnings: tuple[str, ...] = ()


def shift_test(case: Case, scale: Scale, ranks: bool) -> ShiftTest | None:
    """Of the shift on this scale; None if there are too few trials."""
    a, b = scale.of(case.a.values), scale.of(case.b.values)
    if min(len(a), len(b)) < (1 if ranks else 2):
        return None
    if ranks:
        return _stretched(SignedRank(a, b) if case.paired else RobustRanks(a, b), a, b, case.paired)
    return _stretched(PairedT(a, b) if case.paired else WelchT(a, b), a, b, case.paired)


def mean_test(case: Case, scale: Scale) -> ShiftTest | None:
    """Of the ratio of the means, or of their difference where a value is 0; None for fewer than two
    trials on a side."""
    a, b = case.a.values, case.b.values
    if min(len(a), len(b)) < 2:
        return None
    ratio, difference = (PairedMeanRatio, PairedT) if case.paired else (MeanRatio, WelchT)
    return _stretched((ratio if scale.ratios else difference)(a, b), a, b, case.paired)


def _stretched(test: ShiftTest, a: Sequence[float], b: Sequence[float], paired: bool) -> ShiftTest:
    """The test itself, unless successive trials (or differences of pairs) resemble each other."""
    pairs = [[y - x for x, y in zip(a, b, strict=True)]] if paired else [a, b]
    by = stretch(pairs)
    freedom = sum(map(len, pairs)) - len(pairs)
    return test if by.factor == 1 else Stretched(test, freedom, by)
