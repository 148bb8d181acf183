"""The packets or requests behind a metric that is a share of them, such as a loss ratio."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.analysis.statistics import EventCounts
from sfcperf.results.records import TrialRecord


def counted(
    records: Sequence[TrialRecord], values: Sequence[float], out_of: str
) -> EventCounts | None:
    """Return how many packets or requests each trial had, and how many of them its share counts.
    `values`: the share of each trial; `out_of`: the note with its total (Metric.out_of). None for a
    metric that is no share, without trials, or if a trial lacks the total."""
    totals = [record.notes.get(out_of) for record in records]
    known = [total for total in totals if isinstance(total, int) and total > 0]
    if not out_of or not known or len(known) < len(totals):
        return None
    return EventCounts([round(v * total) for v, total in zip(values, known, strict=True)], known)
