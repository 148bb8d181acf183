"""What the rounds of a run say about a quantity: an estimate, one-sided tests, an interval.

A round repeats the whole experiment, so the rounds are the units of replication: each gives one
value of the quantity, or one of its numerator and one of its denominator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log, sqrt
from statistics import fmean

from sfcperf.analysis.statistics import stretch
from sfcperf.analysis.statistics.scaling import scaled
from sfcperf.analysis.two_sample import (
    CombinedTest,
    InflatedTest,
    PairedT,
    ShiftTest,
    SignedRank,
    SkewedT,
)
from sfcperf.analysis.two_sample.shift import stdev
from sfcperf.analysis.two_sample.student import Student

MOST_ROUNDS = 1000
"""Most rounds that `rounds_to_place` counts to."""
_DOUBLINGS = 12
_HALVINGS = 24
"""Steps by which an end of an interval is found and bisected: to seven digits of its distance from
the estimate."""


class Inference(ABC):
    """An estimate of a quantity, and how surely it lies above or below a bound."""

    estimate: float
    """The quantity, in its unit."""

    @abstractmethod
    def p_above(self, bound: float) -> float:
        """One-sided p that is small if the quantity is above `bound`."""

    @abstractmethod
    def p_below(self, bound: float) -> float:
        """One-sided p that is small if the quantity is below `bound`."""

    @property
    @abstractmethod
    def step(self) -> float:
        """First step from the estimate to an end of the interval; not 0."""

    def interval(self, alpha: float) -> tuple[float, float]:
        """Bounds that the quantity is above and below, each with a one-sided p of at most `alpha`;
        infinite where no bound is."""
        low = _end(lambda c: self.p_above(c) <= alpha, self.estimate, -self.step)
        high = _end(lambda c: self.p_below(c) <= alpha, self.estimate, self.step)
        return low, high

    @abstractmethod
    def rounds_to_place(self, bound: float, alpha: float) -> int | None:
        """Rounds that show on which side of `bound` the quantity is, if further rounds resemble
        those measured. None if more than MOST_ROUNDS are needed, or the estimate is the bound."""


def least_rounds(alpha: float) -> int:
    """Fewest rounds by which ranks can give a one-sided p of `alpha`: 2^-n of the signed rank."""
    rounds = 1
    while 0.5**rounds > alpha * (1 + 1e-9):
        rounds += 1
    return rounds


class OverRounds(Inference):
    """The mean of a value of each round, or the ratio of two such means.

    A bound c of a ratio is tested by the rounds' values a - c·b, whose mean is 0 if c is the ratio
    (Fieller, "Some problems in interval estimation", J. Royal Statistical Society B 16, 1954).
    What varies from round to round alike in a and b so cancels. Three tests must agree: the paired
    t, which is about means, with and without a correction for skewness, and Wilcoxon's signed rank,
    which needs no normal distribution. All are corrected if successive rounds resemble each other
    (CombinedTest, InflatedTest).
    """

    def __init__(self, values: Sequence[float], below: Sequence[float] | None = None) -> None:
        """`values`: of each round, in order of time. `below`: the denominators, all of which have a
        mean that is shown to differ from 0 (`has_sign`); None: the quantity is no ratio."""
        ones = [1.0] * len(values)
        sign = 1.0 if below is None or fmean(below) > 0 else -1.0
        self._values = [sign * value for value in values]
        self._below = ones if below is None else [sign * value for value in below]
        self.estimate = fmean(self._values) / fmean(self._below)

    def p_above(self, bound: float) -> float:
        """Largest p of the tests that the mean of a - c·b is above 0."""
        return _p(self._test(bound).p_above(0.0))

    def p_below(self, bound: float) -> float:
        """Largest p of the tests that the mean of a - c·b is below 0."""
        return _p(self._test(bound).p_below(0.0))

    @cached_property
    def step(self) -> float:
        """Standard deviation of the quantity. Without dispersion there is still rounding."""
        spread = stdev(self._differences(self.estimate)) / abs(fmean(self._below))
        return spread or 1e-9 * abs(self.estimate) or 1e-9

    def interval(self, alpha: float) -> tuple[float, float]:
        """As of all; without a search where ranks show nothing, whatever the values."""
        few = len(self._values) < least_rounds(alpha)
        return (-inf, inf) if few else super().interval(alpha)

    def rounds_to_place(self, bound: float, alpha: float) -> int | None:
        """Count by the paired t, from the least that ranks need on."""
        differences = self._differences(bound)
        mean, spread = abs(fmean(differences)), stdev(differences)
        return _rounds(mean, spread, alpha)

    def _differences(self, bound: float) -> list[float]:
        return [a - bound * b for a, b in zip(self._values, self._below, strict=True)]

    def _test(self, bound: float) -> ShiftTest:
        differences = self._differences(bound)
        zeros = [0.0] * len(differences)
        tests = (SignedRank, PairedT, SkewedT)
        members: list[ShiftTest] = [test(zeros, differences) for test in tests]
        by = stretch([differences])
        if by.factor != 1:
            members = [InflatedTest(member, len(differences) - 1, by) for member in members]
        return CombinedTest(members)


def has_sign(values: Sequence[float], alpha: float) -> bool:
    """Whether the mean of the rounds' values is shown to differ from 0, so that they may be the
    denominator of a ratio."""
    mean = OverRounds(values)
    return min(mean.p_above(0.0), mean.p_below(0.0)) <= alpha


class Least(Inference):
    """The least of several quantities, such as the steps of an order.

    It is above a bound if all are, so that none needs a correction (intersection-union: Berger,
    Technometrics 24, 1982). It is below if any is; any may seem so by chance, so each has its share
    of the error.
    """

    def __init__(self, members: Sequence[Inference]) -> None:
        self._members = members
        self.estimate = min(each.estimate for each in members)

    def p_above(self, bound: float) -> float:
        """Largest p of the members."""
        return max(each.p_above(bound) for each in self._members)

    def p_below(self, bound: float) -> float:
        """Smallest p of the members, times their number."""
        return min(1.0, len(self._members) * min(each.p_below(bound) for each in self._members))

    @property
    def step(self) -> float:
        """That of the member with the least estimate."""
        return min(self._members, key=lambda each: each.estimate).step

    def rounds_to_place(self, bound: float, alpha: float) -> int | None:
        """Rounds that place all members above the bound; if one of them is below, those that place
        one there."""
        share = alpha / len(self._members)
        below = [each for each in self._members if each.estimate <= bound]
        if below:
            counts = [each.rounds_to_place(bound, share) for each in below]
            return min((count for count in counts if count is not None), default=None)
        counts = [each.rounds_to_place(bound, alpha) for each in self._members]
        return None if None in counts else max(count for count in counts if count is not None)


class RSquared(Inference):
    """R² of a line through the means of all rounds at each x, by the jackknife of the rounds.

    Two tests must agree, because noise misleads each to another side. That of log(1 - R²), whose
    distribution is less skewed than that of R², often finds R² too low: noise lowers the R² of
    means. That of explained - c·total sum of squares, which is 0 if R² is c, does not, because the
    jackknife takes from both sums what noise adds to them, but may find R² too high. Source: Efron
    & Tibshirani, An Introduction to the Bootstrap, chapter 11.
    """

    def __init__(self, x: Sequence[float], rows: Sequence[Sequence[float]]) -> None:
        """`rows`: of each of two or more rounds, y at each x."""
        import numpy as np

        # R² has neither location nor scale, and squares of the largest values do not fit a float.
        deviations = scaled(np.asarray(rows, float))
        y = [[0.0] * len(x)] * len(rows) if deviations is None else deviations.tolist()
        count = len(rows)
        sums = _SumsOfSquares.of(x, y)
        without = [_SumsOfSquares.of(x, [*y[:i], *y[i + 1 :]]) for i in range(count)]

        def pseudo(value: Callable[[_SumsOfSquares], float]) -> list[float]:
            return [count * value(sums) - (count - 1) * value(each) for each in without]

        self.estimate = sums.r_squared
        self._logs = pseudo(lambda each: _unexplained(each.r_squared))
        self._explained = pseudo(lambda each: each.explained)
        self._total = pseudo(lambda each: each.total)

    def p_above(self, bound: float) -> float:
        """Larger p of both tests; a higher R² leaves less unexplained."""
        logs = self._of_logs.p_below(_unexplained(bound))
        return max(self._of_sums(bound).p_above(0.0), logs or 0.0)

    def p_below(self, bound: float) -> float:
        """Larger p of both tests; a lower R² leaves more unexplained."""
        logs = self._of_logs.p_above(_unexplained(bound))
        return max(self._of_sums(bound).p_below(0.0), logs or 0.0)

    @property
    def step(self) -> float:
        """Small, as many values are near 1."""
        return 1e-4

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the ends between 0 and 1."""
        low, high = super().interval(alpha)
        return max(0.0, low), min(1.0, high)

    def rounds_to_place(self, bound: float, alpha: float) -> int | None:
        """The larger count of both tests."""
        distance = abs(fmean(self._logs) - _unexplained(bound))
        counts = (
            _rounds(distance, stdev(self._logs), alpha),
            self._of_sums(bound).rounds_to_place(0.0, alpha),
        )
        return None if None in counts else max(count for count in counts if count is not None)

    @cached_property
    def _of_logs(self) -> Student:
        count = len(self._logs)
        return Student(fmean(self._logs), stdev(self._logs) / sqrt(count), count - 1)

    def _of_sums(self, bound: float) -> OverRounds:
        pairs = zip(self._explained, self._total, strict=True)
        return OverRounds([explained - bound * total for explained, total in pairs])


@dataclass(frozen=True)
class _SumsOfSquares:
    """Of a line through means."""

    explained: float
    total: float

    @classmethod
    def of(cls, x: Sequence[float], rows: Sequence[Sequence[float]]) -> _SumsOfSquares:
        """The line through the means of these rows."""
        means = [fmean(column) for column in zip(*rows, strict=True)]
        centre_x, centre_y = fmean(x), fmean(means)
        dx, dy = [value - centre_x for value in x], [value - centre_y for value in means]
        products = sum(a * b for a, b in zip(dx, dy, strict=True))
        return cls(products**2 / sum(a * a for a in dx), sum(b * b for b in dy))

    @property
    def r_squared(self) -> float:
        """1 if the means do not vary."""
        return self.explained / self.total if self.total else 1.0


def _unexplained(r_squared: float) -> float:
    """Log of the share of the variance that the line leaves; a perfect line leaves a little, so
    that there is a logarithm."""
    return log(max(1 - r_squared, 1e-12))


def _p(p: float | None) -> float:
    """A test that could not be made shows nothing."""
    return 1.0 if p is None else p


def _end(passes: Callable[[float], bool], start: float, step: float) -> float:
    """Return the bound nearest to `start`, in the direction of `step`, that passes; infinite if
    none is found within so many doublings of the step."""
    near, far = start, start + step
    for _ in range(_DOUBLINGS):
        if passes(far):
            break
        near, far = far, far + 2 * (far - start)
    else:
        return inf if step > 0 else -inf
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        near, far = (near, middle) if passes(middle) else (middle, far)
    return far


def _rounds(distance: float, spread: float, alpha: float) -> int | None:
    from scipy.special import stdtrit

    for rounds in range(max(2, least_rounds(alpha)), MOST_ROUNDS + 1):
        if float(stdtrit(rounds - 1, 1 - alpha)) * spread / sqrt(rounds) < distance:
            return rounds
    return None
