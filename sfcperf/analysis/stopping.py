"""Sequential stopping: a scenario needs no more rounds if all primary metrics are precise enough.

The rule is that of fixed-width sequential intervals (Chow & Robbins 1965): continue until the
half-width of the declared centre's interval, relative to the centre, is at most the requested one.
Looking again after every round makes it more likely to stop on an interval that is narrow by
chance. Therefore the wider interval for repeated looks decides, and is reported in the end
(statistics.intervals.confidence_per_look; docs/explanation/statistics.md has figures).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from sfcperf.analysis.planned import rules_for
from sfcperf.analysis.statistics import Rules, estimate_of, relative_half_width
from sfcperf.counts import count_text
from sfcperf.workflow.model import Design, StopWhen

PLANNED_ROUNDS_DONE = "planned rounds done"


def stop_reason(
    design: Design, rounds_done: int, values: Mapping[tuple[str, str], Sequence[float]]
) -> str | None:
    """Why one scenario needs no more rounds; None if it needs more.

    `values`: (probe label, primary metric) -> one number per valid trial, in the metric's unit and
    in order of time; a metric without a valid trial has an empty sequence. Without `stop_when`, or
    without primary metrics, only the planned rounds are run.

    A constant metric, also one that is always 0, has a half-width of 0. A metric has no half-width
    with fewer valid trials than `design.rounds`, if its centre is 0, or while its interval is
    withheld; its scenario may then go on until `max_rounds`.
    """
    if rounds_done < design.rounds:
        return None
    if design.stop_when is None or not values:
        return PLANNED_ROUNDS_DONE
    rules = rules_for(design)
    widths = {
        # The confidence per look is computed for looks at `design.rounds` trials and more, so fewer
        # valid trials are not looked at.
        key: None
        if rules.first_look is not None and len(numbers) < design.rounds
        else _declared_width(numbers, rules)
        for key, numbers in values.items()
    }
    return _reason(design.stop_when, rounds_done, widths)


def _reason(
    stop_when: StopWhen, rounds_done: int, widths: Mapping[tuple[str, str], float | None]
) -> str | None:
    """Say why a scenario stops, by the relative half-width of each metric (None: it has none);
    None if it goes on."""
    # The least precise metric decides; one without a half-width is less precise than any other.
    (label, metric), width = max(
        widths.items(), key=lambda item: inf if item[1] is None else item[1]
    )
    target = stop_when.relative_half_width
    if width is not None and width <= target:
        rounds = count_text(rounds_done, "round")
        return f"half-width {width:.3g} <= {target:g} after {rounds}"
    if rounds_done < stop_when.max_rounds:
        return None
    precision = "without a half-width" if width is None else f"at half-width {width:.3g}"
    return f"max_rounds {stop_when.max_rounds} reached {precision} ({metric} of {label})"


def _declared_width(values: Sequence[float], rules: Rules) -> float | None:
    """Return the relative half-width of the declared centre's interval; None if it has none."""
    estimate = estimate_of(values, rules)
    return relative_half_width(values, estimate.value, estimate.interval)
