"""The packets or requests behind a metric that is a share of them, such as a loss ratio."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.analysis.statistics import EventCounts
from sfcperf.results.records import TrialRecord


def counted(
    records: Sequence[TrialRecord], values: Sequence[float], out_of: str
) -> EventCounts | None:
    """Return the packets or requests behind a metric that is a share of them: of each trial all of
    them (`totals`), and those that the share stands for (`events`), such as the lost ones.

    `values`: the share in each trial, 0 to 1. `out_of`: name of the note with a trial's total
    (Metric.out_of); empty for a metric that is no share. None for such a metric, without trials,
    and if a trial's total is missing or 0.
    """
    totals = [record.notes.get(out_of) for record in records]
    known = [total for total in totals if isinstance(total, int) and total > 0]
    if not out_of or not known or len(known) < len(totals):
        return None
    return EventCounts([round(v * total) for v, total in zip(values, known, strict=True)], known)
