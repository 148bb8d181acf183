"""Findings about primary numbers whose trials are not independent repetitions of one thing.

Beside one row in a hundred a warning stands without any cause. The verdict on a run of a hundred
rows must not depend on that: here all primary rows are judged together, and a drift that the
interval covers anyway is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sfcperf.figures.plot import scenario_text
from sfcperf.presentation.units import metric_title
from sfcperf.results.records import Summary

ALPHA = 0.05
"""Probability that a run in which nothing depends on time is reported, per kind of finding."""
_MOST_NAMED = 4


def dependent_numbers(summaries: Sequence[Summary]) -> Iterator[str]:
    """Drift, dependence of successive trials, and trials that never become steady."""
    rows = [row for row in summaries if row.primary]
    drifting = [row for row in _significant(rows, lambda row: row.trend_p) if _exceeds(row)]
    if drifting:
        yield (
            f"The trials drift with time, further than their interval reaches: "
            f"{_some([_drift(row) for row in drifting])}. Look for what changed during the run."
        )
    clinging = _significant(rows, lambda row: row.autocorrelation_p)
    others = [row for row in clinging if row not in drifting]
    if others:
        yield (
            f"Successive trials resemble each other, so that intervals are narrower than they "
            f"should be: {_some([_name(row) for row in others])}."
        )
    moving = _significant(rows, lambda row: row.steady_p)
    restless = [row for row in moving if row.steady == "never"]
    if restless:
        yield (
            f"Within the trials the values never become steady: "
            f"{_some([_name(row) for row in restless])}. Longer trials would give other numbers."
        )


def _significant(rows: Sequence[Summary], p_of: Callable[[Summary], float | None]) -> list[Summary]:
    """Rows that are significant among all that were tested, in their order.

    Source: Benjamini & Hochberg, Controlling the false discovery rate, JRSS B 57 (1995). With
    nothing to be found it finds something as seldom as Bonferroni; but the smallest p-value that a
    permutation test can give does not hide all rows of a large run, as it would from Bonferroni.
    """
    tested = [(p, row) for row in rows if (p := p_of(row)) is not None]
    ordered = sorted(p for p, _ in tested)
    bounds = (ALPHA * rank / len(ordered) for rank in range(1, len(ordered) + 1))
    passed = [p for p, bound in zip(ordered, bounds, strict=True) if p <= bound]
    return [row for p, row in tested if passed and p <= passed[-1]]


def _exceeds(row: Summary) -> bool:
    if row.drift_ratio is None or row.relative_half_width is None:
        return True
    return abs(row.drift_ratio) > row.relative_half_width


def _drift(row: Summary) -> str:
    return _name(row) + ("" if row.drift_ratio is None else f" {row.drift_ratio:+.0%}")


def _name(row: Summary) -> str:
    scenario = f" ({scenario_text(row.scenario)})" if row.scenario else ""
    return f"{row.label} {metric_title(row.metric)}{scenario}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
