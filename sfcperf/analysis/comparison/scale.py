"""The scale on which a row is judged: ratios where all values are positive, else differences.

Dispersion of rates and delays grows with their size, and "5 % of the baseline" is a ratio. On
logarithms a shift is a ratio, and its interval knows that the baseline is measured, too. Where a
value is 0 (losses, errors) there is no ratio: the difference is judged, and taken relative to the
baseline's centre as if that were known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, log, log1p

from sfcperf.analysis.comparison.result import Estimate


@dataclass(frozen=True)
class Scale:
    """Values go in, shifts come out as ratios of the baseline."""

    ratios: bool
    centre: float
    """Magnitude of the baseline's centre, in the unit."""

    def of(self, values: Sequence[float]) -> list[float]:
        """Values as they are tested."""
        return [log(value) for value in values] if self.ratios else list(values)

    def bounds(self, margin: float, absolute: bool) -> tuple[float, float] | None:
        """The margin around no shift; None when there is none (a share of 0)."""
        share = margin / self.centre if absolute and self.centre else margin
        if self.ratios:
            return (log1p(-share), log1p(share)) if share < 1 else (-log1p(share), log1p(share))
        size = margin if absolute else margin * self.centre
        return (-size, size) if size > 0 else None

    def relative(self, estimate: Estimate) -> Estimate | None:
        """A shift of this scale as a ratio of the baseline (0.03: 3 % more)."""
        if not self.ratios and not self.centre:
            return None

        def ratio(shift: float | None) -> float | None:
            if shift is None:
                return None
            return expm1(shift) if self.ratios else shift / self.centre

        value = ratio(estimate.value)
        assert value is not None
        kind = " of logarithms" if self.ratios else ""
        return Estimate(
            value, ratio(estimate.low), ratio(estimate.high), estimate.confidence,
            f"{estimate.method}{kind}",
        )  # fmt: skip


def scale_of(a: Sequence[float], b: Sequence[float], centre: float) -> Scale:
    """For these values; `centre` is the baseline's median or mean."""
    return Scale(all(value > 0 for value in (*a, *b)), abs(centre))
