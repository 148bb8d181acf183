"""What a figure says about itself: the meaning of its error bars, boxes, marks and curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from sfcperf.analysis.statistics.typical import samples_needed
from sfcperf.counts import count_text
from sfcperf.figures.distribution import MIN_TRIALS_FOR_BOX
from sfcperf.figures.plot import Plot
from sfcperf.presentation import units
from sfcperf.presentation.levels import level_text

TIME_LABEL = units.axis_label("Time within the trial", "s")
_BOX = (
    "Boxes: quartiles and median of the trials, whiskers to the furthest within 1.5 interquartile "
    "ranges; marks: single trials"
)
"""What boxes are, in words."""


def note(plot: Plot, fits: Collection[object], *, printed: bool = True) -> str:
    """Return the note under a figure, which is also part of its caption. `printed`: whether the
    figure is a file; on the screen no cross is drawn where there is no number."""
    parts = [interval_note(plot)]
    if plot.spec.kind == "box" and plot.summaries:
        enough = all(len(p.valid_trials) >= MIN_TRIALS_FOR_BOX for p in plot.points)
        parts.append(_BOX + ("." if enough else f" (no box for fewer than {MIN_TRIALS_FOR_BOX})."))
    if fits:
        parts.append("Lines: least-squares fits to the trials.")
    if plot.published:
        parts.append("Stars: published values, of a series as a dotted line.")
    if untrusted := plot.count("untrusted"):
        parts.append(f"{_untrusted(plot)} ({count_text(untrusted, 'point')}).")
    if missing := plot.count("missing"):
        mark = "No curve" if plot.is_per_scenario else "×" if printed else "No mark"
        parts.append(f"{mark}: no valid trial ({count_text(missing, 'point')}).")
    return " ".join(parts)


def interval_note(plot: Plot) -> str:
    """Say what the error bars are, over how many trials, and why they are missing where they
    are."""
    rows = plot.summaries
    if not rows:
        return "No valid trial."
    counts = sorted({row.n for row in rows})
    trials = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"
    if plot.is_distribution:
        return _distributions(plot, trials)
    if plot.spec.kind == "time":
        return _curves(plot, trials)
    estimates = [plot.estimate(row) for row in rows]
    what = "Medians. " if plot.centre == "median" else "Means. "
    reasons = Counter(estimate.withheld for estimate in estimates if estimate.withheld)
    reason = reasons.most_common(1)[0][0] if reasons else ""
    if reasons.total() == len(rows):
        return f"{what}No error bars ({trials}): {reason}."
    methods = ", ".join(sorted({e.method for e in estimates if e.half_width is not None}))
    text = f"{what}Error bars: {_levels(plot)} confidence interval, {methods}, {trials} trials."
    if reasons:
        text += f" None at {count_text(reasons.total(), 'point')}: {reason}."
    return text


def _distributions(plot: Plot, trials: str) -> str:
    """Say what the lines of a distribution are, and its bands. `trials`: number of trials, as
    `n = 5`."""
    if plot.is_of_trials:
        what = "means" if plot.spec.kind == "ecdf-trials" else "values, of which each has one"
        return f"Distribution of the valid trials' {what} ({trials})."
    sizes = sorted({len(trial) for point in plot.points for trial in plot.samples(point)})
    samples = count_text(sizes[-1], "sample")
    if len(sizes) > 1:
        samples = f"{sizes[0]} to {samples}"
    of = "trial" if trials == "n = 1" else "trials"
    return (
        f"Thick lines: distribution of all samples of the valid trials ({trials} {of} of "
        f"{samples}). Thin lines: single trials. {_bands(plot)}"
    )


def _curves(plot: Plot, trials: str) -> str:
    """Say what curves over time are, and their bands. `trials`: number of trials, as `n = 5`."""
    what = f"{plot.centre.capitalize()} of the valid trials in each step of time ({trials})."
    shown = [point for point in plot.points if point.state != "missing"]
    curves = [point.curve(plot.spec.metric, plot.centre) for point in shown]
    if empty := sum(not steps for steps in curves):
        what += f" No curve for {count_text(empty, 'scenario')}: the trials kept no even steps."
    if not any(step.low is not None for steps in curves for step in steps):
        return what + " No bands: no step has an interval."
    return (
        f"{what} Bands: {_levels(plot)} confidence interval of each step that has one (pointwise, "
        "over trials)."
    )


def _levels(plot: Plot) -> str:
    """Return the confidence of the intervals, for instance `95 %`; several if they differ."""
    levels = sorted({row.confidence for row in plot.summaries})
    return " / ".join(f"{100 * level:g} %" for level in levels)


def _bands(plot: Plot) -> str:
    """Say what the bands of a distribution are, or why there are none."""
    points = [point for point in plot.points if point.state != "missing"]
    bare = sum(not plot.band(point) for point in points)
    if bare == len(points):
        return (
            f"No band: it needs six trials or more with at least {samples_needed(50)} samples each,"
            " which do not drift with time."
        )
    text = (
        f"Bands: {_levels(plot)} confidence interval of each percentile within a typical trial "
        "(pointwise, over trials)."
    )
    return text + (f" None at {count_text(bare, 'point')}." if bare else "")


def curve_names(plot: Plot) -> list[str]:
    """List the names in the legend: one per series, or, for distributions and curves over time, one
    per scenario."""
    if not plot.is_per_scenario:
        return [series.name for series in plot.series]
    x = plot.spec.x.replace("_", " ")
    names = [
        (series.name, f"{x} {level_text(point.level)}" if x else "")
        for series in plot.series
        for point in series.points
    ]
    return [", ".join(filter(None, parts)) for parts in names]


def _untrusted(plot: Plot) -> str:
    """Say how points are drawn that have untrusted or failed trials."""
    if plot.is_per_scenario:
        return "Without untrusted and failed trials"
    mark = "Red ×" if plot.spec.kind == "box" else "Hollow"
    return f"{mark}: some trials untrusted or failed"
