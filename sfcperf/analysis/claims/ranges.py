"""What must be shown of a claim: that quantities lie in ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from sfcperf.analysis.claims.inference import Inference, OverRounds, RSquared, has_sign
from sfcperf.analysis.claims.rounds import NotMeasured, Points, RoundValues
from sfcperf.analysis.statistics import fit_line
from sfcperf.workflow.model import Claim

LEAST_ROUNDS_OF_FIT = 3
"""Fewest rounds for R²: the jackknife leaves one out."""


class TooFew(Exception):
    """There are values, but too few for an estimate with an error. `rounds`: how many."""

    def __init__(self, rounds: int, message: str = "") -> None:
        super().__init__(message)
        self.rounds = rounds


@dataclass(frozen=True)
class Range:
    """A quantity that a claim says is above and below certain values."""

    inference: Inference
    above: float | None
    below: float | None
    rounds: int
    """Rounds in which all that the quantity needs was valid."""

    def holds(self, p: float) -> bool:
        """Whether the quantity is shown to lie in the range, each end with this one-sided p."""
        shown = self.inference
        return (self.above is None or shown.p_above(self.above) <= p) and (
            self.below is None or shown.p_below(self.below) <= p
        )

    def fails(self, p: float) -> bool:
        """Whether the quantity is shown to lie outside the range, on either side with this
        one-sided p."""
        shown = self.inference
        return (self.above is not None and shown.p_below(self.above) <= p) or (
            self.below is not None and shown.p_above(self.below) <= p
        )

    def rounds_needed(self, p: float) -> int | None:
        """Rounds that would show whether the quantity lies in the range, if they resemble those
        measured; None for too many."""
        value = self.inference.estimate
        wrong = [
            end
            for end, outside in (
                (self.above, self.above is not None and value <= self.above),
                (self.below, self.below is not None and value >= self.below),
            )
            if outside
        ]
        ends = [end for end in (wrong or (self.above, self.below)) if end is not None]
        counts = [self.inference.rounds_to_place(end, p) for end in ends]
        return None if None in counts else max(count for count in counts if count is not None)


def ranges_of(claim: Claim, values: RoundValues, p: float) -> list[Range]:
    """Return the ranges of a claim, all of which must hold; for an order, one for each pair of
    neighbours. `p`: one-sided p by which a denominator must be shown to differ from 0. Raises
    NotMeasured, TooFew."""
    if claim.r_squared and claim.of is not None:
        return [_fit(claim, values.points(claim.of))]
    columns = [values.of(operand) for operand in claim.operands]
    rounds = sorted(set.intersection(*(set(column) for column in columns)))
    if len(rounds) < 2:
        raise TooFew(len(rounds))
    rows = [[column[number] for number in rounds] for column in columns]
    if claim.order:
        return list(_neighbours(rows, p))
    if claim.to is not None and not has_sign(rows[1], p):
        raise TooFew(len(rounds), "the denominator is not shown to differ from 0")
    return [Range(OverRounds(*rows), claim.above, claim.below, len(rounds))]


def _neighbours(rows: Sequence[Sequence[float]], p: float) -> Iterator[Range]:
    """Yield, for each pair, that the ratio of the later and the earlier mean is above 1; where the
    earlier one may be 0 or less, that their difference is above 0."""
    for earlier, later in pairwise(rows):
        if has_sign(earlier, p) and fmean(earlier) > 0:
            yield Range(OverRounds(later, earlier), 1.0, None, len(later))
        else:
            differences = [b - a for a, b in zip(earlier, later, strict=True)]
            yield Range(OverRounds(differences), 0.0, None, len(later))


def _fit(claim: Claim, points: Points) -> Range:
    rows = list(points.y.values())
    if len(points.x) < 3:
        raise NotMeasured("R² needs three levels")
    if len(rows) < LEAST_ROUNDS_OF_FIT:
        raise TooFew(len(rows))

    def r_squared(some: Sequence[Sequence[float]]) -> float:
        """R² of the line through the means of these rounds; 1 if these do not vary."""
        means = [fmean(column) for column in zip(*some, strict=True)]
        line = fit_line(points.x, means, 0.95)
        return 1.0 if line is None or line.r_squared is None else line.r_squared

    return Range(RSquared(rows, r_squared), claim.above, claim.below, len(rows))
