"""Whether two sides may be called equivalent: more than a small shift of most trials.

Two one-sided tests must place both the shift and the ratio of the means within the margin; then
nothing else may speak against it: a resolution too coarse to tell, modes that so few trials cannot
show, outliers, zeros, dispersions that differ. docs/explanation/comparing.md gives the reasons.
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
"""Share of zeros from which a typical value hides how often there is something else."""
_SURELY = 1e-4
"""Probability of an outlier among normal trials below which it is no trial like the others."""
_SPREAD_RATIO = 2.0
_SPREAD_ALPHA = 0.05


def coarseness(a: Sequence[float], b: Sequence[float], metric: Metric) -> float:
    """How far the resolution may have moved a difference of these values, in their unit.

    Dispersion of a tick or more averages the rounding out; with less, each side may be half a tick
    off. Infinite if all values are equal and the metric declares no tick.
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
    """Reasons not to call two sides equivalent whose tests say so; `test`: that of the shift;
    `bounds`: the margin on the scale, without what the resolution takes from it."""
    return (
        *_resolution(a, b, metric, bounds),
        *_zeros(a, b, metric),
        *_packets(a, b, scale, bounds, options),
        *_outliers(a, b, scale, bounds, test, options),
        *_spreads(a, b, scale),
        *_rarity(a, b, options),
    )


def _resolution(a: Sample, b: Sample, metric: Metric, bounds: tuple[float, float]) -> Iterator[str]:
    coarse = coarseness(a.values, b.values, metric)
    if coarse == inf and a.total is None:
        yield "every trial gave the same value, and the resolution of the metric is not known"
    elif bounds[0] >= bounds[1]:
        yield f"the values come in steps of {coarse:g} {metric.unit}, too coarse for this margin"


def _zeros(a: Sample, b: Sample, metric: Metric) -> Iterator[str]:
    shares = [sample.values.count(0) / len(sample.values) for sample in (a, b)]
    if max(shares) >= _ZEROS and any((*a.values, *b.values)) and a.total is None:
        yield (
            f"{100 * max(shares):.0f} % of the trials gave 0: a typical value of {metric.name} "
            "does not tell how often there is more"
        )


def _packets(
    a: Sample, b: Sample, scale: Scale, bounds: tuple[float, float], options: Options
) -> Iterator[str]:
    """By exact (Clopper-Pearson) limits of the shares of all trials together."""
    if a.total is None or b.total is None:
        return
    limits = [
        share_interval(sample.events or 0, sample.total or 0, 1 - 2 * options.alpha)
        for sample in (a, b)
    ]
    if all(low > 0 for low, _ in limits) or not scale.ratios:
        (low_a, high_a), (low_b, high_b) = (scale.of(ends) for ends in limits)
        if max(high_b - low_a, high_a - low_b) <= bounds[1]:
            return
    yield f"{a.total} and {b.total} packets are too few to show shares within the margin"


def _within_runs(sample: Sample, scale: Scale) -> list[float]:
    """What the trials scatter, on the scale: without what runs differ by."""
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
    """Those that chance may make count only if a mode of their size could move the means out of the
    margin: one of 50 comparisons of normal trials has such outliers."""
    sides = [_within_runs(sample, scale) for sample in (a, b)]
    places = [find_outliers(values) for values in sides]
    found = [len(outliers) for outliers in places]
    modes = [
        _moved(values, outliers, scale, 1 - 2 * options.alpha)
        for values, outliers in zip(sides, places, strict=True)
        if outliers
    ]
    surely = any(find_outliers(values, _SURELY) for values in sides)
    if surely or (modes and not _harmless(modes, bounds, test, 1 - 2 * options.alpha)):
        yield (
            f"{found[0]} of {len(a.values)} and {found[1]} of {len(b.values)} trials are outliers: "
            "a second mode may have been hit"
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
    """How far a mode as far off as these outliers moves the mean of a side, on the scale: if it is
    as frequent as they are, and if it is as frequent as their number allows."""
    _, most = share_interval(len(outliers), len(values), confidence)
    centre = median(values)
    sizes = [values[place] - centre for place in outliers]

    def by(share: float) -> float:
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
    move the means. Limits of sums are those of Zou & Donner, "Construction of confidence limits
    about effect measures", Statistics in Medicine 27, 2008."""
    ends = test.interval(confidence)
    if ends is None:
        return False
    moved = sum(usual for usual, _ in modes)
    unsure = [most - usual for usual, most in modes]
    low = test.shift - moved - hypot(test.shift - ends[0], *unsure)
    high = test.shift + moved + hypot(ends[1] - test.shift, *unsure)
    return bounds[0] <= low and high <= bounds[1]


def _spreads(a: Sample, b: Sample, scale: Scale) -> Iterator[str]:
    yield from _spread("", _within_runs(a, scale), _within_runs(b, scale))
    if min(len(a.by_run()), len(b.by_run())) > 1:
        yield from _spread(" of the runs", run_means(a, scale), run_means(b, scale))


def _spread(what: str, a: Sequence[float], b: Sequence[float]) -> Iterator[str]:
    """Brown & Forsythe's test (JASA 69, 1974), and a ratio that matters."""
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
    few, least = min(len(a.values), len(b.values)), least_to_see(options.rarest)
    if few < least:
        misses = "misses" if few == 1 else "miss"
        yield (
            f"{count_text(few, 'trial')} {misses} a mode that occurs in up to "
            f"{100 * rarest_mode(few):.0f} % of all; "
            f"{least} per side would see any in {100 * options.rarest:g} % (--rarest)"
        )
