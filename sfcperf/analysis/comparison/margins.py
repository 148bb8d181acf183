"""Which margin holds for a metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sfcperf.analysis.comparison.options import Options
from sfcperf.errors import InputError


@dataclass(frozen=True)
class Margin:
    """What does not matter."""

    size: float
    absolute: bool
    """In the metric's unit; else a ratio of the baseline."""


def margin_for(label: str, metric: str, options: Options) -> Margin:
    """The most specific one: of `label/metric`, of `metric`, of all."""
    for name in (f"{label}/{metric}", metric):
        if name in options.absolute_margins:
            return Margin(options.absolute_margins[name], True)
        if name in options.margins:
            return Margin(options.margins[name], False)
    return Margin(options.margin, False)


def check_names(options: Options, known: Iterable[tuple[str, str]]) -> None:
    """Raises InputError for a margin or a metric asked for that no row has; `known` are (label,
    metric)."""
    pairs = dict.fromkeys(known)
    names = {name for label, metric in pairs for name in (metric, f"{label}/{metric}")}
    for name in (*options.margins, *options.absolute_margins, *options.metrics):
        if name not in names:
            raise InputError(
                f"no metric {name!r} was measured by both sides",
                allowed=", ".join(f"{label}/{metric}" for label, metric in pairs),
            )
