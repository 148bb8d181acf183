"""Findings about primary results whose trials are not independent repetitions of one thing.

One row in a hundred gets a warning by chance alone. The verdict on a run of a hundred rows must not
depend on that: here all primary rows are tested together, and a drift that lies within the interval
is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sfcperf.presentation import units
from sfcperf.presentation.levels import scenario_text
from sfcperf.presentation.wording import first_names
from sfcperf.results.records import Summary

ALPHA = 0.05
"""Probability, for each kind of finding, of reporting a run in which nothing depends on time."""


def time_dependence_findings(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield sentences about drift, about dependence of successive trials, and about trials that
    never become steady."""
    rows = [row for row in summaries if row.primary]
    drifting = [row for row in _significant(rows, lambda row: row.trend_p) if _exceeds(row)]
    if drifting:
        yield (
            "The trials drift with time by more than the half-width of their interval: "
            f"{first_names(list(map(_drift, drifting)))}. Look for what changed during the run."
        )
    correlated = _significant(rows, lambda row: row.autocorrelation_p)
    others = [row_name(row) for row in correlated if row not in drifting]
    if others:
        yield (
            "Successive trials are correlated, so that intervals are narrower than they should be: "
            f"{first_names(others)}."
        )
    moving = _significant(rows, lambda row: row.steady_p)
    unsteady = [row_name(row) for row in moving if row.steady == "never"]
    if unsteady:
        yield (
            "The values never become steady within the trials: "
            f"{first_names(unsteady)}. Longer trials would give other results."
        )


def _significant(rows: Sequence[Summary], p_of: Callable[[Summary], float | None]) -> list[Summary]:
    """Return the rows that are significant among all that were tested, in their order.

    Source: Benjamini & Hochberg, Controlling the false discovery rate, JRSS B 57 (1995). If nothing
    depends on time, it reports something as seldom as Bonferroni's correction does. But a
    permutation test has a smallest p-value, which is above Bonferroni's limit in a large run: then
    no row would ever be reported. Here, several rows with that p-value can be.
    """
    tested = [(row, p) for row in rows if (p := p_of(row)) is not None]
    # scipy.stats.false_discovery_control does the same, but its import takes a second.
    ranked = enumerate(sorted(p for _, p in tested), 1)
    largest = max((p for rank, p in ranked if p <= ALPHA * rank / len(tested)), default=-1.0)
    return [row for row, p in tested if p <= largest]


def _exceeds(row: Summary) -> bool:
    """Whether a row drifts by more than the half-width of its interval; True if either is not
    known, so that no drift is hidden."""
    if row.drift_ratio is None or row.relative_half_width is None:
        return True
    return abs(row.drift_ratio) > row.relative_half_width


def _drift(row: Summary) -> str:
    """Name a row, and its drift if that is known: `ping rtt +12%`."""
    return row_name(row) + ("" if row.drift_ratio is None else f" {row.drift_ratio:+.0%}")


def row_name(row: Summary) -> str:
    """Name a row, such as `iperf3-tcp rate (chain_length 1)`."""
    scenario = f" ({scenario_text(row.scenario)})" if row.scenario else ""
    return f"{row.label} {units.metric_title(row.metric)}{scenario}"
