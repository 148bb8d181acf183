"""What a reader must know of an attribution, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from sfcperf.analysis.attribution_data import ROUND_TRIP, PathTimes


class Interval(Protocol):
    """An estimate with its interval, us."""

    @property
    def mean_us(self) -> float:
        """Mean of trials."""

    @property
    def ci_low_us(self) -> float | None:
        """None for one trial."""

    @property
    def ci_high_us(self) -> float | None:
        """None for one trial."""


def remarks(
    times: PathTimes, seen: Sequence[str], residual: Interval | None, end_to_end: object | None
) -> Iterator[str]:
    """In the order in which they matter."""
    yield from _of_residual(residual)
    unseen = sorted({name for trial in times.trials for name in trial.unseen})
    if unseen:
        are = "is" if len(unseen) == 1 else "are"
        yield (
            f"{', '.join(unseen)} {are} not seen: packets pass no tc hook there. What "
            f"{'it takes' if len(unseen) == 1 else 'they take'} is in the residual."
        )
    silent = [name for name in seen if not any(name in t.functions for t in times.trials)]
    if silent:
        yield f"No sample has {', '.join(silent)}: there is no sum of the chain."
    if end_to_end is None and times.path != ROUND_TRIP:
        yield (
            'No end-to-end time: with "metrics": ["time", "delay"] the monitor measures it '
            "in every other sample."
        )
    yield from _of_samples(times)


def _of_residual(residual: Interval | None) -> Iterator[str]:
    if residual is None:
        return
    low, high = residual.ci_low_us, residual.ci_high_us
    if low is None or high is None:
        if residual.mean_us < 0:
            yield f"{_NEGATIVE} One trial does not say whether that is chance."
    elif high < 0:
        yield f"{_NEGATIVE} It is not chance: the interval is below 0."
    elif low <= 0:
        sign = "negative, but" if residual.mean_us < 0 else ""
        yield f"The residual is {sign} not told apart from 0.".replace("  ", " ")


_NEGATIVE = (
    "The residual is negative: the VNFs' times add up to more than the end-to-end time, which was "
    "measured in other packets."
)


def _of_samples(times: PathTimes) -> Iterator[str]:
    total = {
        name: sum(trial.counts[name] for trial in times.trials) for name in times.trials[0].counts
    }
    count = total["samples"]
    if truncated := total["truncated_samples"]:
        yield (
            f"{truncated} of {count} samples are truncated (a VNF had no room in the packet to add "
            "itself): they count for the VNFs that are in them."
        )
    if saturated := total["saturated_samples"]:
        yield (
            f"{saturated} of {count} samples have a time beyond what 24 bits hold (16.8 s): these "
            "times are left out, so that means are too small."
        )
    if incomplete := total["incomplete_samples"]:
        yield f"{incomplete} of {count} samples lack a VNF though there was room."
    empty = [t.record.trial_id for t in times.trials if not t.functions]
    if empty:
        yield f"No sample in {len(empty)} of {len(times.trials)} trials, e.g. {empty[0]}."
