"""What the user chooses before a comparison is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sfcperf.errors import InputError

Test = Literal["rank", "t"]
DEFAULT_MARGIN = 0.05
"""Ratio of the baseline."""
LEAST_ALPHA = 1e-6
"""Less is below what approximations of the distributions can tell, and rows divide it further."""


@dataclass(frozen=True)
class Options:
    """Choices that must be made before looking at the numbers, or they lose their meaning."""

    alpha: float = 0.05
    """Probability, over all rows of the primary metrics together, of calling a difference where
    there is none; and, for each row by itself, of calling equivalent what differs by the margin.
    Intervals have the confidence 1 - alpha."""
    margin: float = DEFAULT_MARGIN
    """Largest difference that does not matter, relative to the baseline: a ratio."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """The same for one metric: `rtt_us` or `ping/rtt_us` (which wins) -> a ratio."""
    absolute_margins: Mapping[str, float] = field(default_factory=dict)
    """As `margins`, in the metric's unit; for metrics whose baseline is 0 the only ones."""
    test: Test = "rank"
    """`rank`: Wilcoxon's, exact, for any distribution. `t`: Student's, which needs fewer trials
    and assumes that trials are near normal (docs/explanation/comparing.md)."""
    all_metrics: bool = False
    """Secondary metrics too, as a family of their own."""
    metrics: tuple[str, ...] = ()
    """Only these, `rtt_us` or `ping/rtt_us`, primary or not; empty: all primary ones."""
    match: tuple[str, ...] = ()
    """Match scenarios by these factors only; empty: by all."""
    ignore: tuple[str, ...] = ()
    """Match scenarios by all factors but these."""

    def __post_init__(self) -> None:
        if not LEAST_ALPHA <= self.alpha < 0.5:
            raise InputError(
                f"alpha is {self.alpha:g}", allowed=f"from {LEAST_ALPHA:g}, and below 0.5"
            )
        for name, value in {"": self.margin, **self.margins}.items():
            if not 0 < value < 1:
                of = f" of {name}" if name else ""
                raise InputError(
                    f"the margin{of} is {100 * value:g} %", allowed="above 0 % and below 100 %"
                )
        for name, value in self.absolute_margins.items():
            if not 0 < value < float("inf"):
                raise InputError(f"the margin of {name} is {value:g}", allowed="a number above 0")
