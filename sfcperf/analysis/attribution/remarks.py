"""Warnings about an attribution, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfcperf.analysis.attribution.estimates import Estimate
from sfcperf.analysis.attribution.path_times import ROUND_TRIP, PathTimes
from sfcperf.counts import count_text


def remarks(
    times: PathTimes,
    seen: Sequence[str],
    residual: Estimate | None,
    end_to_end: object | None,
    withheld: str,
) -> Iterator[str]:
    """Yield warnings, the most important first. `seen`: VNFs that pptmon can observe; `residual`
    and `end_to_end`: estimates over the trials, None where there is none; `withheld`: why means
    have no interval, empty if they have one."""
    yield from _of_residual(residual)
    if withheld:
        yield f"The means have no intervals: {withheld}."
    unseen = sorted({name for trial in times.trials for name in trial.unseen})
    if unseen:
        # With the monitor sff, the time of such a VNF is a part together with its links.
        known = any(trial.parts for trial in times.trials)
        where = "shown together with the links" if known else "in the residual"
        are, its = ("is", "its") if len(unseen) == 1 else ("are", "their")
        yield (
            f"{', '.join(unseen)} {are} not seen by pptmon, because packets pass no tc hook there; "
            f"{its} time is {where}."
        )
    sampled = any(trial.sampled for trial in times.trials)
    # Without pptmon nobody expects times of VNFs by themselves, nor their sum.
    without = [
        name
        for name in seen
        if not any(t.has([name]) if sampled else t.explains([name]) for t in times.trials)
    ]
    if without:
        yield f"There is no sum of the chain, because no sample has {', '.join(without)}."
    if end_to_end is None and times.path != ROUND_TRIP:
        hint = (
            '; pptmon measures it in every other sample with "metrics": ["time", "delay"]'
            if sampled
            else ""
        )
        yield f"No end-to-end time was measured{hint}."
    if sampled:
        yield from _of_samples(times)
    if any(trial.parts for trial in times.trials):
        without_parts = [t.record.trial_id for t in times.trials if not t.parts]
        yield from _missing([*times.unobserved, *without_parts], times, "time of an SFF")


def _of_residual(residual: Estimate | None) -> Iterator[str]:
    """Warn of a residual that is negative, which it cannot truly be, or not different from 0."""
    if residual is None:
        return
    low, high = residual.ci_low_us, residual.ci_high_us
    if low is None or high is None:
        if residual.mean_us < 0:
            yield f"{_NEGATIVE} Without an interval nothing tells whether that is chance."
    elif high < 0:
        yield f"{_NEGATIVE} That is not chance: the interval is below 0."
    elif low <= 0:
        sign = "negative, but " if residual.mean_us < 0 else ""
        yield f"The residual is {sign}not significantly different from 0."


_NEGATIVE = (
    "The residual is negative: the times of the VNFs add up to more than the end-to-end time, "
    "which was measured with other packets."
)


def _of_samples(times: PathTimes) -> Iterator[str]:
    """Warn of samples of pptmon that do not cover the whole path, and of trials without samples."""
    total = {
        name: sum(trial.counts[name] for trial in times.trials) for name in times.trials[0].counts
    }
    count = total["samples"]
    if truncated := total["truncated_samples"]:
        yield (
            f"{truncated} of {count} samples are truncated (the packet had no room for another "
            "VNF); they count for the VNFs that they have."
        )
    if saturated := total["saturated_samples"]:
        yield (
            f"{saturated} of {count} samples have a time of more than 24 bits (16.8 s); these "
            "times are left out, so the means are too small."
        )
    if incomplete := total["incomplete_samples"]:
        yield f"{incomplete} of {count} samples lack a VNF although there was room for it."
    empty = [t.record.trial_id for t in times.trials if not t.functions]
    yield from _missing([*times.unobserved, *empty], times, "sample")


def _missing(trials: Sequence[str], times: PathTimes, what: str) -> Iterator[str]:
    """Warn that these trials have no `what`, so that the means lack them."""
    if trials:
        have = "has" if len(trials) == 1 else "have"
        total = count_text(len(times.trials) + len(times.unobserved), "trial")
        yield f"{len(trials)} of {total} {have} no {what}, e.g. {trials[0]}."
