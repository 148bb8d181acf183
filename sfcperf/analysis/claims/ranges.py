"""What must be shown of a claim: that a quantity lies in a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from sfcperf.analysis.claims.inference import Inference, Least, OverRounds, RSquared, has_sign
from sfcperf.analysis.claims.rounds import NotMeasured, Points, RoundValues
from sfcperf.workflow.model import Claim


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


def range_of(claim: Claim, values: RoundValues, p: float) -> Range:
    """Return the range of a claim. `p`: one-sided p by which a denominator must be shown to differ
    from 0. Raises NotMeasured, TooFew."""
    if claim.r_squared and claim.of is not None:
        return _fit(claim, values.points(claim.of))
    columns = [values.of(operand) for operand in claim.operands]
    rounds = sorted(set.intersection(*(set(column) for column in columns)))
    if len(rounds) < 2:
        raise TooFew(len(rounds))
    rows = [[column[number] for number in rounds] for column in columns]
    if claim.order:
        return _order(rows, p)
    if claim.to is not None and not has_sign(rows[1], p):
        raise TooFew(len(rounds), "the denominator is not shown to differ from 0")
    return Range(OverRounds(*rows), claim.above, claim.below, len(rounds))


def _order(rows: Sequence[Sequence[float]], p: float) -> Range:
    """Return that the least of the ratios of neighbours, the later and the earlier mean, is above
    1; where an earlier one may be 0 or less, that the least of their differences is above 0."""
    if all(has_sign(row, p) and fmean(row) > 0 for row in rows[:-1]):
        ratios = [OverRounds(later, earlier) for earlier, later in pairwise(rows)]
        return Range(Least(ratios), 1.0, None, len(rows[0]))
    differences = [
        OverRounds([b - a for a, b in zip(earlier, later, strict=True)])
        for earlier, later in pairwise(rows)
    ]
    return Range(Least(differences), 0.0, None, len(rows[0]))


def _fit(claim: Claim, points: Points) -> Range:
    rows = list(points.y.values())
    if len(points.x) < 3:
        raise NotMeasured("R² needs three levels")
    if len(rows) < 2:
        raise TooFew(len(rows))
    return Range(RSquared(points.x, rows), claim.above, claim.below, len(rows))
