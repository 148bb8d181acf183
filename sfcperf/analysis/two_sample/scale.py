"""The scale on which both sides are tested: logarithms if all values are positive, else the values.

Dispersion of rates and delays grows with their size, and "5 % of the baseline" is a ratio. A shift
of logarithms is a ratio, and its interval includes the uncertainty of the baseline. If a value is
0 (losses, errors) there is no ratio: the difference is tested and divided by the baseline's centre
as if that were known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import expm1, log, log1p

from sfcperf.analysis.two_sample.shift import Estimate


@dataclass(frozen=True)
class Scale:
    """Transforms values for the test, and shifts back to ratios of the baseline."""

    ratios: bool
    """Whether logarithms are tested, whose shifts are ratios; otherwise the values themselves."""
    centre: float
    """Magnitude of the baseline's centre, in the unit."""

    def of(self, values: Sequence[float]) -> list[float]:
        """Return the values as they are tested: on a scale of ratios their logarithms."""
        return [log(value) for value in values] if self.ratios else list(values)

    def bounds(self, margin: float, absolute: bool) -> tuple[float, float] | None:
        """Return the margin around no shift, on this scale. `absolute`: whether `margin` is in the
        unit, not a ratio of the baseline. None for a relative margin and a baseline of 0."""
        # A scale of ratios takes the margin as a ratio of the baseline.
        share = margin / self.centre if absolute and self.centre else margin
        if self.ratios:
            # A margin of 100 % or more has no lower ratio, and is made symmetric.
            return (log1p(-share), log1p(share)) if share < 1 else (-log1p(share), log1p(share))
        size = margin if absolute else margin * self.centre
        return (-size, size) if size > 0 else None

    def share(self, size: float) -> float:
        """Convert a small difference in the unit to this scale: a small shift of logarithms is a
        share of the centre."""
        return size / self.centre if self.ratios and self.centre else size

    def relative(self, estimate: Estimate) -> Estimate | None:
        """Convert a shift on this scale to a ratio of the baseline (0.03: 3 % more); None for a
        baseline of 0, which has no ratio."""
        if not self.ratios and not self.centre:
            return None

        def ratio(shift: float) -> float:
            return expm1(shift) if self.ratios else shift / self.centre

        return replace(
            estimate,
            value=ratio(estimate.value),
            low=None if estimate.low is None else ratio(estimate.low),
            high=None if estimate.high is None else ratio(estimate.high),
            method=estimate.method + (" of logarithms" if self.ratios else ""),
        )


def scale_of(a: Sequence[float], b: Sequence[float], centre: float) -> Scale:
    """Choose the scale for these values: ratios if all are positive. `centre` is the baseline's
    median or mean."""
    return Scale(all(value > 0 for value in (*a, *b)), abs(centre))
