"""What the user chooses before a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sfcperf.errors import InputError

Test = Literal["rank", "t"]
DEFAULT_MARGIN = 0.05
"""Margin as a ratio of the baseline."""
DEFAULT_RAREST = 0.1
"""Share of trials of the rarest mode that must be seen; it takes 29 trials per side."""
LEAST_ALPHA = 1e-6
"""Smallest alpha that is allowed. Holm's correction divides it further, and the approximations of
distributions are not exact enough for smaller tails."""


@dataclass(frozen=True)
class Margin:
    """Largest difference that does not matter."""

    size: float
    absolute: bool
    """Whether `size` is in the metric's unit; otherwise it is a ratio of the baseline."""


@dataclass(frozen=True)
class Options:
    """Choices of the user, which are valid only if made before looking at the numbers. Raises
    InputError for values out of range."""

    alpha: float = 0.05
    """Probability of finding a difference where there is none, over all rows of the primary metrics
    together; and, for each row, of calling equivalent what differs by the margin. Intervals have
    the confidence 1 - alpha."""
    margin: float = DEFAULT_MARGIN
    """Largest difference that does not matter, relative to the baseline: a ratio."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """Metric -> its own margin, a ratio. A metric is named `rtt_us`, or `ping/rtt_us` for that of
    one probe, which takes precedence."""
    absolute_margins: Mapping[str, float] = field(default_factory=dict)
    """Metric -> its own margin in its unit. A metric whose baseline is 0 has no other margin."""
    test: Test = "rank"
    """`rank`: Wilcoxon's, exact, for any distribution. `t`: Student's, which needs fewer trials
    and assumes that they are nearly normal (docs/explanation/comparing.md)."""
    rarest: float = DEFAULT_RAREST
    """Share of trials, a ratio: a mode that occurs as often as this must not be missed. Nothing is
    called equivalent on fewer trials than show such a mode with a probability of 95 %."""
    all_metrics: bool = False
    """Compare secondary metrics too, as a family of tests of their own."""
    metrics: tuple[str, ...] = ()
    """Compare only these metrics (`rtt_us` or `ping/rtt_us`), primary or not; empty: all primary
    ones."""
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
        """Return the most specific margin that was chosen: for `label/metric`, for `metric`, or for
        all metrics."""
        for name in (f"{label}/{metric}", metric):
            if name in self.absolute_margins:
                return Margin(self.absolute_margins[name], True)
            if name in self.margins:
                return Margin(self.margins[name], False)
        return Margin(self.margin, False)

    def check_names(self, known: Iterable[tuple[str, str]]) -> None:
        """Check that each margin and each chosen metric is about a metric that both sides measured:
        one of the (label, metric) in `known`. Raises InputError."""
        pairs = dict.fromkeys(known)
        names = {name for label, metric in pairs for name in (metric, f"{label}/{metric}")}
        for name in (*self.margins, *self.absolute_margins, *self.metrics):
            if name not in names:
                raise InputError(
                    f"no metric {name!r} was measured by both sides",
                    allowed=", ".join(f"{label}/{metric}" for label, metric in pairs),
                )
