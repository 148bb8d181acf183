"""What the user chooses before a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sfcperf.errors import InputError

Test = Literal["rank", "t"]
DEFAULT_MARGIN = 0.05
"""Ratio of the baseline."""
DEFAULT_RAREST = 0.1
"""Ratio: 29 trials per side."""
LEAST_ALPHA = 1e-6
"""The distributions' approximations cannot tell less, and the correction divides it further."""


@dataclass(frozen=True)
class Margin:
    """Largest difference that does not matter."""

    size: float
    absolute: bool
    """In the metric's unit; otherwise a ratio of the baseline."""


@dataclass(frozen=True)
class Options:
    """Choices that are valid only if made before looking at the numbers. Raises InputError for
    values out of range."""

    alpha: float = 0.05
    """Probability of finding a difference where there is none, over all rows of the primary metrics
    together; and, for each row, of calling equivalent what differs by the margin. Intervals have
    the confidence 1 - alpha."""
    margin: float = DEFAULT_MARGIN
    """Largest difference that does not matter, relative to the baseline: a ratio."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """The same for one metric: `rtt_us`, or `ping/rtt_us`, which takes precedence -> a ratio."""
    absolute_margins: Mapping[str, float] = field(default_factory=dict)
    """As `margins`, in the metric's unit; the only ones for metrics with a baseline of 0."""
    test: Test = "rank"
    """`rank`: Wilcoxon's, exact, for any distribution. `t`: Student's, which needs fewer trials
    and assumes that they are nearly normal (docs/explanation/comparing.md)."""
    rarest: float = DEFAULT_RAREST
    """Smallest share of trials that a mode may have and not be missed: a ratio. Nothing is called
    equivalent on fewer trials than show such a mode with 95 %."""
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
        if not 0 < self.rarest < 1:
            raise InputError(
                f"the rarest mode is {100 * self.rarest:g} %", allowed="above 0 % and below 100 %"
            )
        for name, value in self.absolute_margins.items():
            if not 0 < value < float("inf"):
                raise InputError(f"the margin of {name} is {value:g}", allowed="a number above 0")

    def margin_for(self, label: str, metric: str) -> Margin:
        """The most specific one: for `label/metric`, for `metric`, for all."""
        for name in (f"{label}/{metric}", metric):
            if name in self.absolute_margins:
                return Margin(self.absolute_margins[name], True)
            if name in self.margins:
                return Margin(self.margins[name], False)
        return Margin(self.margin, False)

    def check_names(self, known: Iterable[tuple[str, str]]) -> None:
        """Raises InputError for a margin or a metric that is not among the rows; `known` are their
        (label, metric)."""
        pairs = dict.fromkeys(known)
        names = {name for label, metric in pairs for name in (metric, f"{label}/{metric}")}
        for name in (*self.margins, *self.absolute_margins, *self.metrics):
            if name not in names:
                raise InputError(
                    f"no metric {name!r} was measured by both sides",
                    allowed=", ".join(f"{label}/{metric}" for label, metric in pairs),
                )
