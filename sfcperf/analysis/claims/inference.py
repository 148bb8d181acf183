"""What the rounds of a run say about a quantity: an estimate, one-sided tests, an interval.

A round repeats the whole experiment, so the rounds are the units of replication: each gives one
value of the quantity, or one of its numerator and one of its denominator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from math import exp, inf, log, sqrt
from statistics import fmean

from sfcperf.analysis.statistics import stretch
from sfcperf.analysis.two_sample import CombinedTest, InflatedTest, PairedT, ShiftTest, SignedRank
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

    @abstractmethod
    def interval(self, alpha: float) -> tuple[float, float]:
        """Bounds that the quantity is above and below, each with a one-sided p of at most `alpha`;
        infinite where no bound is."""

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
    What varies from round to round alike in a and b so cancels. Two tests must agree: the paired t,
    which is about means, and Wilcoxon's signed rank, which needs no normal distribution; both are
    corrected if successive rounds resemble each other (CombinedTest, InflatedTest).
    """

    def __init__(self, values: Sequence[float], below: Sequence[float] | None = None) -> None:
        """`values`: of each round, in order of time. `below`: the denominators, all of which have a
        mean that is shown to differ from 0 (`has_sign`); None: the quantity is no ratio."""
        ones = [1.0] * len(values)
        sign = 1.0 if below is None or fmean(below) > 0 else -1.0
        self._values = [sign * value for value in values]
        self._below = ones if below is None else [sign * value for value in below]
        self._is_ratio = below is not None
        self.estimate = fmean(self._values) / fmean(self._below)

    def p_above(self, bound: float) -> float:
        """Larger p of both tests that the mean of a - c·b is above 0."""
        return _p(self._test(bound).p_above(0.0))

    def p_below(self, bound: float) -> float:
        """Larger p of both tests that the mean of a - c·b is below 0."""
        return _p(self._test(bound).p_below(0.0))

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the bounds where the p of the tests passes `alpha`, by bisection."""
        if len(self._values) < least_rounds(alpha):
            return -inf, inf
        # Without dispersion there is still rounding.
        step = self._spread or 1e-9 * abs(self.estimate) or 1e-9
        low = _end(lambda c: self.p_above(c) <= alpha, self.estimate, -step)
        high = _end(lambda c: self.p_below(c) <= alpha, self.estimate, step)
        return low, high

    def rounds_to_place(self, bound: float, alpha: float) -> int | None:
        """Count by the paired t, from the least that ranks need on."""
        differences = self._differences(bound)
        mean, spread = abs(fmean(differences)), stdev(differences)
        return _rounds(mean, spread, alpha)

    @cached_property
    def _spread(self) -> float:
        return stdev(self._differences(self.estimate)) / abs(fmean(self._below))

    def _differences(self, bound: float) -> list[float]:
        return [a - bound * b for a, b in zip(self._values, self._below, strict=True)]

    def _test(self, bound: float) -> ShiftTest:
        differences = self._differences(bound)
        zeros = [0.0] * len(differences)
        members: list[ShiftTest] = [SignedRank(zeros, differences), PairedT(zeros, differences)]
        by = stretch([differences])
        if by.factor != 1:
            members = [InflatedTest(member, len(differences) - 1, by) for member in members]
        return CombinedTest(members)


def has_sign(values: Sequence[float], alpha: float) -> bool:
    """Whether the mean of the rounds' values is shown to differ from 0, so that they may be the
    denominator of a ratio."""
    mean = OverRounds(values)
    return min(mean.p_above(0.0), mean.p_below(0.0)) <= alpha


class RSquared(Inference):
    """R² of a line through the means of all rounds at each x, by the jackknife of the rounds.

    The jackknife works on log(1 - R²), whose distribution is less skewed. Source: Efron &
    Tibshirani, An Introduction to the Bootstrap, chapter 11.
    """

    def __init__(self, rows: Sequence[Sequence[float]], r_squared: RSquaredOf) -> None:
        """`rows`: of each round, y at each x. `r_squared`: R² of the means of rows; may be 1."""
        count = len(rows)
        whole = _unexplained(r_squared(rows))
        without = [_unexplained(r_squared([*rows[:i], *rows[i + 1 :]])) for i in range(count)]
        pseudo = [count * whole - (count - 1) * value for value in without]
        self.estimate = r_squared(rows)
        self._pseudo = pseudo
        self._test = Student(fmean(pseudo), stdev(pseudo) / sqrt(count), count - 1)

    def p_above(self, bound: float) -> float:
        """A higher R² leaves less unexplained."""
        return _p(self._test.p_below(_unexplained(bound)))

    def p_below(self, bound: float) -> float:
        """A lower R² leaves more unexplained."""
        return _p(self._test.p_above(_unexplained(bound)))

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the t interval, as R²."""
        least, most = self._test.interval(1 - 2 * alpha) or (-inf, inf)
        # The exponential of a wide interval's end would be beyond all numbers.
        return 1 - exp(min(0.0, most)), 1 - exp(min(0.0, least))

    def rounds_to_place(self, bound: float, alpha: float) -> int | None:
        """Count by t."""
        distance = abs(fmean(self._pseudo) - _unexplained(bound))
        return _rounds(distance, stdev(self._pseudo), alpha)


RSquaredOf = Callable[[Sequence[Sequence[float]]], float]


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
