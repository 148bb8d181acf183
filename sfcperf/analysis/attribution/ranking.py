"""Which VNF of a chain takes most time, and whether the trials show it.

Two VNFs are compared within trials, which share a deployment and a moment: Wilcoxon's signed-rank
test of the differences of their means in each trial, with Holm's correction for all pairs of VNFs.
What slows a trial as a whole slows both VNFs, and cancels in their difference. Differences in
successive trials therefore count as independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sfcperf.analysis.attribution.path_times import TrialTimes
from sfcperf.analysis.statistics import Centre, Rules, at_most, estimate_of, holm
from sfcperf.analysis.two_sample import (
    ObservedTrials,
    SignedRank,
    least_trials,
    needed,
)

_METHOD = "Wilcoxon signed-rank within trials, Holm's correction for {pairs} of VNFs"


@dataclass(frozen=True)
class RankedFunction:
    """Processing time of one VNF, in us, and the CPU that it used."""

    name: str
    centre_us: float
    """Declared centre (mean or median) of the means of trials."""
    ci_low_us: float | None
    """None, like `ci_high_us`, where the centre has no interval
    (analysis.statistics.estimates)."""
    ci_high_us: float | None
    cpu_cores: float | None
    """CPU cores that the VNF used, mean over trials; None without the monitor cpu."""


@dataclass(frozen=True)
class PairedDifference:
    """Time of `more` minus that of `less` in the same trials, us."""

    more: str
    less: str
    shift_us: float
    """Hodges-Lehmann estimate."""
    ci_low_us: float | None
    """Low end of an interval with confidence 1 - alpha / pairs (Bonferroni), so that the intervals
    of all pairs hold together with 1 - alpha. None if there are too few trials for one."""
    ci_high_us: float | None
    p: float
    """p-value after Holm's correction for all pairs."""


@dataclass(frozen=True)
class Ranking:
    """The VNFs that pptmon sees, those with most time first."""

    trials: int
    """Number of trials with samples of each of these VNFs; other trials are left out."""
    centre: Centre
    method: str
    """Name of the method of comparison; empty with one VNF."""
    functions: tuple[RankedFunction, ...]
    differences: tuple[PairedDifference, ...]
    """One difference per pair of VNFs."""
    most: tuple[str, ...]
    """The VNF with the largest centre, and all VNFs that it was not shown to exceed. One name
    answers which VNF takes most time; several leave it open."""
    trials_needed: int | None
    """Trials that would show that the first VNF exceeds all others, if differences are as seen.
    None if that is shown already, if there is one trial only, which has no dispersion, or if no
    number of trials would do."""
    least_trials: int
    """Fewest trials with which differences between so many VNFs can be shown at all."""


def ranking(times: Sequence[TrialTimes], names: Sequence[str], rules: Rules) -> Ranking | None:
    """Rank the VNFs `names` by their times. `times`: trials in order of time. None without a trial
    that has samples of each of the VNFs."""
    complete = [trial for trial in times if all(name in trial.functions for name in names)]
    if not complete or not names:
        return None
    values = {name: [trial.functions[name] for trial in complete] for name in names}
    functions = sorted(
        (_ranked(name, values[name], complete, rules) for name in names),
        key=lambda function: function.centre_us,
        reverse=True,
    )
    alpha = 1 - rules.confidence
    differences = _differences(values, [function.name for function in functions], alpha)
    first, *others = (function.name for function in functions)
    # VNFs that were shown to take less time than the first one.
    cheaper = {
        d.less for d in differences if d.more == first and d.shift_us > 0 and at_most(d.p, alpha)
    }
    undecided = [name for name in others if name not in cheaper]
    per_pair = alpha / max(1, len(differences))
    return Ranking(
        trials=len(complete),
        centre=rules.centre,
        method=_METHOD.format(pairs=_pairs_text(len(differences))) if differences else "",
        functions=tuple(functions),
        differences=tuple(differences),
        most=(first, *undecided),
        trials_needed=_needed(values, first, undecided, per_pair),
        least_trials=least_trials(per_pair, paired=True),
    )


def _pairs_text(pairs: int) -> str:
    return "the one pair" if pairs == 1 else f"all {pairs} pairs"


def _ranked(
    name: str, values: Sequence[float], trials: Sequence[TrialTimes], rules: Rules
) -> RankedFunction:
    """Estimate the time of a VNF from its means in the trials (`values`, us), and the CPU that it
    used."""
    estimate = estimate_of(values, rules)
    low, high = (
        (None, None)
        if estimate.interval is None
        else (estimate.interval.low, estimate.interval.high)
    )
    cores = [trial.cpu_cores[name] for trial in trials if name in trial.cpu_cores]
    assert estimate.value is not None  # there are trials
    return RankedFunction(
        name, estimate.value, low, high, sum(cores) / len(cores) if cores else None
    )


def _differences(
    values: Mapping[str, Sequence[float]], names: Sequence[str], alpha: float
) -> list[PairedDifference]:
    """Test all pairs of VNFs. `values`: VNF -> its time in each trial, us; `names`: the VNFs in
    descending order of time, so that the first of a pair is `more`."""
    pairs = list(combinations(names, 2))
    # The shift of SignedRank(a, b) is that of b against a.
    tests = [SignedRank(values[less], values[more]) for more, less in pairs]
    corrected = holm([test.p for test in tests])
    differences = []
    for (more, less), test, p in zip(pairs, tests, corrected, strict=True):
        low, high = test.interval(1 - alpha / len(pairs)) or (None, None)
        differences.append(PairedDifference(more, less, test.shift, low, high, p))
    return differences


def _needed(
    values: Mapping[str, Sequence[float]], first: str, undecided: Sequence[str], alpha: float
) -> int | None:
    """Return how many trials would decide all pairs of the VNF `first` with those that are
    `undecided`: the most that one of these pairs needs. None with a single trial, without such a
    pair, and if no number of trials would decide one of them. `alpha`: level of the test of one
    pair."""
    sizes = []
    if len(values[first]) < 2:
        return None
    for name in undecided:
        test = SignedRank(values[name], values[first])
        trials = ObservedTrials(
            a=values[name],
            b=values[first],
            paired=True,
            ranks=True,
            shift=test.shift,
            alpha=alpha,
            alpha_tost=alpha,
            bounds=None,
        )
        sizes.append(needed(trials).n)
    return None if not sizes or None in sizes else max(n for n in sizes if n is not None)
