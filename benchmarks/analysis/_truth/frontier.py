"""How often any test could find a shift if it is not to be misled by autocorrelation.

A test that finds differences between sides without one in at most 5 % of the cases, whatever lag-1
correlation from a given list the trials have, cannot find a shift of independent trials more often
than the most powerful test against a mixture of these nulls does: the Neyman-Pearson lemma, with
the least favourable mixture (Lehmann & Romano, Testing Statistical Hypotheses, 3rd ed., theorem
3.8.1). The bound is for normal trials (here: logarithms), and for tests that treat both sides and
all locations and scales alike. The least power over all of these that other tests reach is no
larger (Hunt & Stein; the same book, theorem 8.5.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log, sqrt

import numpy as np
from _runner import Row
from scipy.special import gammaln
from support.records.comparisons import case

from _truth.claims import ALPHA, ANY_SHIFT, BETTER_OR_WORSE, Random
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.two_sample.ranks import RankSum

DRAWS = 100
"""Of the bound, for each draw that SFCPerf judges."""
TOLERATED = ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / 1000)
"""What rows of benchmarks/analysis/truth.py allow with 1,000 draws."""
_STEPS = 60
_NODES = np.linspace(-6, 6, 49)
"""Standard deviations around the mode of the scale."""


@dataclass(frozen=True)
class FrontierRow:
    """A shift of independent trials, and the correlations that must not look like one."""

    n: int
    """Trials per side."""
    ratio: float
    sd: float
    nulls: tuple[float, ...]
    """Lag-1 correlations of an AR(1) process, of both sides."""
    seed: int = 1


_SHIFTS = ((10, 1.06, 0.05), (20, 1.04, 0.05), (30, 1.03, 0.04))
ROWS = tuple(
    FrontierRow(*shift, nulls)
    for shift in _SHIFTS
    for nulls in ((0.0,), (0.0, 0.6), (0.0, 0.3, 0.6), (0.0, 0.15, 0.3, 0.45, 0.6))
)


def name_of(row: FrontierRow) -> str:
    """What is simulated."""
    nulls = ", ".join(f"{r:g}" for r in row.nulls)
    return (
        f"bound: shift of {100 * (row.ratio - 1):.0f} %, sd {100 * row.sd:g} %, n = {row.n}, "
        f"5 % at AR(1) {nulls}"
    )


def judge(row: FrontierRow, repeats: int) -> list[Row]:
    """The bound at 5 %, and at what 1,000 draws tolerate, beside Wilcoxon's test and SFCPerf."""
    found = Frontier(row, DRAWS * repeats)
    bound, error = found.bound(ALPHA)
    tolerated, _ = found.bound(TOLERATED)
    sides = [np.exp(row.sd * values) for values in np.split(found.shifted[:repeats], 2, axis=1)]
    wilcoxon = here = 0
    for a, b in zip(*sides, strict=True):
        wilcoxon += RankSum(a.tolist(), b.tolist()).p <= ALPHA
        here += evaluate([case(a, b)], ANY_SHIFT, sizes=False)[0].verdict in BETTER_OR_WORSE
    remarks = (
        f"+- {100 * error:.1f} ({100 * tolerated:.1f} % at {100 * TOLERATED:.1f} %); Wilcoxon "
        f"alone {100 * wilcoxon / repeats:.1f} %"
    )
    return [Row(f"{name_of(row)}: at most", bound, "%", "here", here / repeats, remarks=remarks)]


class Frontier:
    """Draws of a row, with their likelihoods."""

    def __init__(self, row: FrontierRow, draws: int) -> None:
        self._row = row
        random = np.random.default_rng(row.seed)
        self._shift = log(row.ratio) / row.sd
        self.shifted = _sides(random, draws, row.n, 0.0)
        """Draws x trials of both sides, in standard deviations."""
        self.shifted[:, row.n :] += self._shift
        self._same = [_sides(random, draws, row.n, r) for r in row.nulls]

    @cached_property
    def _likelihoods(self) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms: shifted (world x draw), and of each null (null x world x draw). The first
        world is that of a shift, the others are the nulls."""
        worlds = [self.shifted, *self._same]
        shifted = [log_likelihood(values, 0.0, self._shift) for values in worlds]
        nulls = [[log_likelihood(values, r) for values in worlds] for r in self._row.nulls]
        return np.array(shifted), np.array(nulls)

    def bound(self, level: float) -> tuple[float, float]:
        """The power that no test exceeds that errs in at most this share of the cases at each of
        the nulls; and its standard error.

        Every mixture of the nulls gives a bound; the best one found on half of the draws is
        evaluated on the other half, lest chance make it too low.
        """
        weights = np.full(len(self._row.nulls), 1 / len(self._row.nulls))
        best, least = weights, 2.0
        for step in range(_STEPS):
            power, errors, _ = self._most_powerful(weights, level, 0)
            if power < least:
                best, least = weights, power
            weights = weights * np.exp(6 * (errors - level) / (1 + step / 30))
            weights /= weights.sum()
        power, _, ratio = self._most_powerful(best, level, 1)
        # The ratio is also what a larger level adds to the power: the limit has an error, too.
        variance = power * (1 - power) + ratio**2 * level * (1 - level)
        return power, sqrt(variance / (self.shifted.shape[0] / 2))

    def _most_powerful(
        self, weights: np.ndarray, level: float, half: int
    ) -> tuple[float, np.ndarray, float]:
        """Of the test against this mixture: power, how often it errs at each of the nulls, and the
        likelihood ratio from which on it finds a shift."""
        shifted, nulls = (found[..., half::2] for found in self._likelihoods)
        ratios = shifted - np.logaddexp.reduce(nulls + np.log(weights)[:, None, None], axis=0)
        limit = _upper_quantile(ratios[1:], weights, level)
        beyond = (ratios > limit).mean(axis=1)
        return float(beyond[0]), beyond[1:], exp(limit)


def _upper_quantile(values: np.ndarray, weights: np.ndarray, level: float) -> float:
    """What a share of `level` exceeds, of rows that have weights."""
    order = np.argsort(-values, axis=None)
    shares = np.repeat(weights / values.shape[1], values.shape[1])[order].cumsum()
    return float(values.ravel()[order[np.searchsorted(shares, level)]])


def _sides(random: Random, draws: int, n: int, r: float) -> np.ndarray:
    """Two independent stationary AR(1) processes each, side by side, of mean 0 and variance 1."""
    values = random.standard_normal((draws, 2, n))
    for place in range(1, n):
        values[..., place] = r * values[..., place - 1] + sqrt(1 - r * r) * values[..., place]
    return values.reshape(draws, 2 * n)


def log_likelihood(values: np.ndarray, r: float, shift: float = 0.0) -> np.ndarray:
    """Of each row (both sides, one after the other), up to a constant that depends on their number:
    the density of what is left of normal AR(1) trials when location and scale are unknown, with a
    shift of the second side, in standard deviations, up or down with equal probability.

    Location is integrated out exactly, and so is scale without a shift; with one, scale takes a
    sum around the mode of the integrand.
    """
    count = values.shape[1]
    inverse = np.kron(np.eye(2), _inverse_correlations(count // 2, r))
    of_all = inverse.sum(axis=1)
    inverse -= np.outer(of_all, of_all) / of_all.sum()
    constant = -(count // 2 - 1) * log(1 - r * r) - log(of_all.sum()) / 2
    squares = np.einsum("ij,ij->i", values @ inverse, values)
    if not shift:
        power = (count - 1) / 2
        found: np.ndarray = constant + gammaln(power) - log(2) - power * np.log(squares / 2)
        return found
    moved = inverse @ np.repeat([0.0, shift], count // 2)
    along, length = values @ moved, moved[count // 2 :].sum() * shift
    both = [_over_scales(count - 1, squares, sign * along) for sign in (1, -1)]
    return constant - length / 2 - log(2) + np.logaddexp(*both)


def _over_scales(power: int, squares: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Log of the integral of s^(power - 1) exp(along s - squares s^2 / 2) over s > 0."""
    mode = (along + np.sqrt(along**2 + 4 * squares * power)) / (2 * squares)
    steps = _NODES / sqrt(power)
    scale = mode[:, None] * np.exp(steps)
    logs = power * np.log(scale) + along[:, None] * scale - squares[:, None] * scale**2 / 2
    found: np.ndarray = np.logaddexp.reduce(logs, axis=1) + log(steps[1] - steps[0])
    return found


def _inverse_correlations(n: int, r: float) -> np.ndarray:
    """Of a stationary AR(1) process: tridiagonal."""
    found = (1 + r * r) * np.eye(n) - r * (np.eye(n, k=1) + np.eye(n, k=-1))
    found[0, 0] = found[-1, -1] = 1.0
    return found / (1 - r * r)
