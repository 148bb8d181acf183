"""What runs cost: the time of a round, and the time that a run takes besides its rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import Any

from sfcperf.analysis.comparison.replication import Costs
from sfcperf.analysis.comparison.sides import MeasuredSide
from sfcperf.results.records import TrialRecord


def costs_of(sides: Sequence[MeasuredSide]) -> Costs | None:
    """Return the mean costs of the runs that were complete in one session; None without such a run.
    A resumed run is left out: its pause is not a cost."""
    costs = [cost for side in sides for cost in _costs(side)]
    if not costs:
        return None
    return Costs(fmean(c.run_s for c in costs), fmean(c.round_s for c in costs))


def _costs(side: MeasuredSide) -> Iterator[Costs]:
    """Yield the costs of each run of a side that was complete in one session."""
    for number, manifest in enumerate(side.manifests):
        trials = [r for m in side.measurements if m.run == number for r in m.trials]
        if trials and manifest["status"] == "complete" and not manifest["resumed_at"]:
            yield _cost(manifest, trials)


def _cost(manifest: Mapping[str, Any], trials: Sequence[TrialRecord]) -> Costs:
    """Split the duration of a run: its rounds take the time from its first trial, warm-up left out,
    to its last; the time before and after is what the run takes besides them."""
    begin, end = min(r.started_at for r in trials), max(r.ended_at for r in trials)
    rounds = len({record.round for record in trials})
    in_rounds = _seconds(begin, end)
    whole = _seconds(manifest["started_at"], manifest["ended_at"])
    return Costs(max(0.0, whole - in_rounds), in_rounds / rounds)


def _seconds(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
