"""Whether two sides may be called equivalent, for which a small shift of most trials is not enough.

Two one-sided tests must place both the shift and the ratio of the means within the margin. Then
nothing else may speak against equivalence: a resolution too coarse to tell, modes that so few
trials cannot show, outliers, zeros, different dispersions (docs/explanation/comparing.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import expm1, hypot, inf, log1p
from statistics import fmean, median

from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.replication import run_means
from sfcperf.analysis.comparison.result import Sample
from sfcperf.analysis.statistics import (
    find_outliers,
    least_to_see,
    rarest_mode,
    share_interval,
    tick_of,
)
from sfcperf.analysis.two_sample import Scale, ShiftTest, stdev
from sfcperf.counts import count_text
from sfcperf.results.values import Metric

_ZEROS = 0.2
"""Share of trials that gave 0. From this share on a typical value does not tell how often a trial
gives more than 0."""
_SURELY = 1e-4
"""Level of the outlier test at which chance is ruled out: an outlier at this level is taken for a
second mode, however small."""
_SPREAD_RATIO = 2.0
"""Ratio of two standard deviations above which their difference matters."""
_SPREAD_ALPHA = 0.05


def coarseness(a: Sequence[float], b: Sequence[float], metric: Metric) -> float:
    """Return how far rounding may have moved the difference of the sides, in the metric's unit.

    0 if both sides have a dispersion of a tick or more, which averages the rounding out; also 0 if
    the metric declares no tick and differing values show none. With less dispersion each side may
    be half a tick off, together a tick. Infinite if all values are equal and the metric declares no
    tick: then nothing tells the resolution.
    """
    values = [*a, *b]
    tick = tick_of(values, metric.tick)
    if tick is None:
        return inf if len(set(values)) == 1 else 0.0
    spread = min(stdev(side) if len(side) > 1 else 0.0 for side in (a, b))
    return tick if spread < tick else 0.0


def why_withheld(
    a: Sample,
    b: Sample,
    metric: Metric,
    scale: Scale,
    bounds: tuple[float, float],
    test: ShiftTest,
    options: Options,
) -> tuple[str, ...]:
    """Return the reasons not to call two sides equivalent although their tests say so. `test` is
    the test of the shift; `bounds` are the margin on the scale, narrowed by what rounding may have
    moved the difference. Empty if nothing speaks against equivalence."""
    return (
        *_resolution(a, b, metric, bounds),
        *_zeros(a, b, metric),
        *_packets(a, b, scale, bounds, options),
        *_outliers(a, b, scale, bounds, test, options),
        *_spreads(a, b, scale),
        *_rarity(a, b, options),
    )


def _resolution(a: Sample, b: Sample, metric: Metric, bounds: tuple[float, float]) -> Iterator[str]:
    """Object if the resolution is unknown, or so coarse that it leaves nothing of the margin."""
    coarse = coarseness(a.values, b.values, metric)
    if coarse == inf and a.total is None:
        yield "every trial gave the same value, and the resolution of the metric is not known"
    elif bounds[0] >= bounds[1]:
        yield f"the values come in steps of {coarse:g} {metric.unit}, too coarse for this margin"


def _zeros(a: Sample, b: Sample, metric: Metric) -> Iterator[str]:
    """Object if many trials gave 0 and others did not. Shares are judged by their packets."""
    shares = [sample.values.count(0) / len(sample.values) for sample in (a, b)]
    if max(shares) >= _ZEROS and any((*a.values, *b.values)) and a.total is None:
        yield (
            f"{100 * max(shares):.0f} % of the trials gave 0: a typical value of {metric.name} "
            "does not tell how often there is more"
        )


def _packets(
    a: Sample, b: Sample, scale: Scale, bounds: tuple[float, float], options: Options
) -> Iterator[str]:
    """Object if all packets together are too few to show that the shares of both sides differ by
    less than the margin, judged by the exact (Clopper-Pearson) limits of the shares. Metrics that
    are no shares pass."""
    if a.total is None or b.total is None:
        return
    limits = [
        share_interval(sample.events or 0, sample.total or 0, 1 - 2 * options.alpha)
        for sample in (a, b)
    ]
    # A share of 0 has no logarithm, and thus no ratio.
    if all(low > 0 for low, _ in limits) or not scale.ratios:
        (low_a, high_a), (low_b, high_b) = (scale.of(ends) for ends in limits)
        # The upper bound is at least as near to 0 as the lower one.
        if max(high_b - low_a, high_a - low_b) <= bounds[1]:
            return
    yield f"{a.total} and {b.total} packets are too few to show shares within the margin"


def _within_runs(sample: Sample, scale: Scale) -> list[float]:
    """Return the values of trials on the scale. Of several runs each value is a deviation from the
    mean of its run, so that differences between runs do not count as scatter of trials."""
    runs = [scale.of(values) for values in sample.by_run()]
    if len(runs) < 2:
        return runs[0] if runs else []
    return [value - fmean(values) for values in runs for value in values]


def _outliers(
    a: Sample,
    b: Sample,
    scale: Scale,
    bounds: tuple[float, float],
    test: ShiftTest,
    options: Options,
) -> Iterator[str]:
    """Object if outliers of trials or of runs point to a second mode. Outliers that may be chance
    count only if a mode of their size could move the means out of the margin: one of 50 comparisons
    of normal trials has such outliers."""
    sides = [_within_runs(sample, scale) for sample in (a, b)]
    outlying = [find_outliers(values) for values in sides]
    counts = [len(outliers) for outliers in outlying]
    modes = [
        _moved(values, outliers, scale, 1 - 2 * options.alpha)
        for values, outliers in zip(sides, outlying, strict=True)
        if outliers
    ]
    # Outliers that cannot be chance count whatever the size of the mode.
    surely = any(find_outliers(values, _SURELY) for values in sides)
    if surely or (modes and not _harmless(modes, bounds, test, 1 - 2 * options.alpha)):
        yield (
            f"{counts[0]} of {len(a.values)} and {counts[1]} of {len(b.values)} trials are "
            "outliers: a second mode may have been hit"
        )
    runs = [run_means(sample, scale) for sample in (a, b)]
    odd = [len(find_outliers(means)) for means in runs]
    if any(odd):
        yield (
            f"{odd[0]} of {len(runs[0])} and {odd[1]} of {len(runs[1])} runs are outliers: "
            "a second mode may have been hit"
        )


def _moved(
    values: Sequence[float], outliers: Sequence[int], scale: Scale, confidence: float
) -> tuple[float, float]:
    """Return how far a mode of the outliers' size moves the mean of a side, on the scale: first if
    the mode is as frequent as the outliers are, then if it is as frequent as the upper confidence
    limit of their share. `values`: those of the trials; `outliers`: places of the outliers among
    them."""
    _, most = share_interval(len(outliers), len(values), confidence)
    centre = median(values)
    sizes = [values[place] - centre for place in outliers]

    def by(share: float) -> float:
        """Return how far the mean is moved by a mode that this share of the trials has."""
        if not scale.ratios:
            return share * max(map(abs, sizes))
        return max(abs(log1p(share * expm1(size))) for size in sizes)

    return by(len(outliers) / len(values)), by(most)


def _harmless(
    modes: Sequence[tuple[float, float]],
    bounds: tuple[float, float],
    test: ShiftTest,
    confidence: float,
) -> bool:
    """Whether the shift and these modes together are within the margin, whichever way the modes
    move the means. `modes`: of each side that has outliers, what `_moved` returns. Limits of sums
    are by Zou & Donner, "Construction of confidence limits about effect measures", Statistics in
    Medicine 27, 2008."""
    ends = test.interval(confidence)
    if ends is None:
        return False
    moved = sum(usual for usual, _ in modes)
    unsure = [most - usual for usual, most in modes]
    low = test.shift - moved - hypot(test.shift - ends[0], *unsure)
    high = test.shift + moved + hypot(ends[1] - test.shift, *unsure)
    return bounds[0] <= low and high <= bounds[1]


def _spreads(a: Sample, b: Sample, scale: Scale) -> Iterator[str]:
    """Object if the dispersions of trials differ, or, if both sides have several runs, the
    dispersions of runs."""
    yield from _spread("", _within_runs(a, scale), _within_runs(b, scale))
    if min(len(a.by_run()), len(b.by_run())) > 1:
        yield from _spread(" of the runs", run_means(a, scale), run_means(b, scale))


def _spread(what: str, a: Sequence[float], b: Sequence[float]) -> Iterator[str]:
    """Object if the dispersions differ by Brown & Forsythe's test (JASA 69, 1974), and by a ratio
    that matters. Fewer than three values on a side are not tested. `what` follows the word
    dispersion in the sentence; it is empty for trials."""
    from scipy.stats import levene

    if min(len(a), len(b)) < 3:
        return
    low, high = sorted((stdev(a), stdev(b)))
    if high <= _SPREAD_RATIO * low:
        return
    if low == 0 or levene(a, b, center="median").pvalue <= _SPREAD_ALPHA:
        times = f"{high / low:.1f} times that of" if low else "there, and there is none in"
        yield f"the dispersion{what} of one side is {times} the other"


def _rarity(a: Sample, b: Sample, options: Options) -> Iterator[str]:
    """Object if the trials are too few to show a mode that occurs as often as `options.rarest`."""
    few, least = min(len(a.values), len(b.values)), least_to_see(options.rarest)
    if few < least:
        misses = "misses" if few == 1 else "miss"
        yield (
            f"{count_text(few, 'trial')} {misses} a mode that occurs in up to "
            f"{100 * rarest_mode(few):.0f} % of all; "
            f"{least} per side would see any in {100 * options.rarest:g} % (--rarest)"
        )
