"""Sequential stopping: enough rounds, when every primary metric is known well enough.

The rule is that of fixed-width sequential intervals (Chow & Robbins 1965): go on until the
half-width of the mean's interval, relative to the mean, is at most what was asked. Looking again
after every round makes it more likely to stop on an interval that is narrow by luck; hence it is
the wider one for repeated looks that decides here and that is reported in the end
(sfcperf.analysis.intervals.confidence_per_look; docs/explanation/statistics.md gives figures).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from sfcperf.analysis.confidence import first_look
from sfcperf.analysis.intervals import mean_interval, relative_half_width
from sfcperf.workflow.model import Design, StopWhen

PLANNED_ROUNDS_DONE = "planned rounds done"


def stop_reason(
    design: Design, rounds_done: int, values: Mapping[tuple[str, str], Sequence[float]]
) -> str | None:
    """Why one scenario needs no more rounds; None when it does.

    `values`: (probe label, primary metric) -> one number per valid trial, in the metric's unit; a
    metric without a valid trial is given with an empty sequence, so that it is waited for. Without
    `stop_when`, or without any primary metric, the planned rounds are all there is.

    A metric that is constantly the same, 0 included, is known (half-width 0). A metric with fewer
    valid trials than `design.rounds` is not (nor with fewer than two), nor is one whose mean is 0
    though its values are not: such a scenario ends at `max_rounds`.
    """
    if rounds_done < design.rounds:
        return None
    if design.stop_when is None or not values:
        return PLANNED_ROUNDS_DONE
    looks = first_look(design.rounds, design.stop_when.max_rounds)
    widths = {
        # The share of alpha for each look is that of looks at `design.rounds` trials and more.
        key: None
        if looks is not None and len(numbers) < design.rounds
        else _relative(numbers, design.confidence, looks)
        for key, numbers in values.items()
    }
    return _judge(design.stop_when, rounds_done, widths)


def _judge(
    stop_when: StopWhen, rounds_done: int, widths: Mapping[tuple[str, str], float | None]
) -> str | None:
    key, width = max(widths.items(), key=_by_width)
    target = stop_when.relative_half_width
    if width is not None and width <= target:
        return f"half-width {width:.3g} <= {target:g} after {rounds_done} rounds"
    if rounds_done < stop_when.max_rounds:
        return None
    label, metric = key
    found = "without a half-width" if width is None else f"at half-width {width:.3g}"
    return f"max_rounds {stop_when.max_rounds} reached {found} ({metric} of {label})"


def _relative(values: Sequence[float], confidence: float, looks: int | None) -> float | None:
    interval = mean_interval(values, confidence, looks)
    return None if interval is None else relative_half_width(mean(values), interval)


def _by_width(item: tuple[tuple[str, str], float | None]) -> float:
    """The least known metric decides; one without a half-width is less known than any other."""
    width = item[1]
    return float("inf") if width is None else width
