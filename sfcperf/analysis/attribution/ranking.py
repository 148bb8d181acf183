"""Which VNF of a chain takes most time, and whether the trials show it.

Two VNFs are compared within trials, which share a deployment and a moment: Wilcoxon's signed-rank
test of the differences of their means in each trial, with Holm's correction for all pairs of VNFs.
What slows a trial as a whole is in both and cancels: successive differences count as independent.
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
    """One VNF; times in us."""

    name: str
    centre_us: float
    """Of the means of trials."""
    ci_low_us: float | None
    """None where the centre has no interval (analysis.statistics.estimates)."""
    ci_high_us: float | None
    cpu_cores: float | None
    """CPU cores that it used meanwhile, mean over trials; None without the monitor cpu."""


@dataclass(frozen=True)
class PairedDifference:
    """Time of `more` minus that of `less` in the same trials, us."""

    more: str
    less: str
    shift_us: float
    """Hodges-Lehmann estimate."""
    ci_low_us: float | None
    """Of an interval with confidence 1 - alpha / pairs: all of them hold together."""
    ci_high_us: float | None
    p: float
    """With Holm's correction."""


@dataclass(frozen=True)
class Ranking:
    """The VNFs that pptmon sees, those with most time first."""

    trials: int
    """Those with samples of each of these VNFs; nothing else is counted here."""
    centre: Centre
    method: str
    """Of the comparisons; empty with one VNF."""
    functions: tuple[RankedFunction, ...]
    differences: tuple[PairedDifference, ...]
    """Of all pairs."""
    most: tuple[str, ...]
    """VNFs that none was shown to exceed, of all that the first one was not shown to exceed: one
    name is an answer, several are none."""
    trials_needed: int | None
    """To tell the first one from the others, if differences are as seen; None if it is told, if
    one trial shows no dispersion, or if no number of trials would."""
    least_trials: int
    """Fewest with which differences between so many VNFs can be shown at all."""


def ranking(times: Sequence[TrialTimes], names: Sequence[str], rules: Rules) -> Ranking | None:
    """None without a trial that has samples of each of `names`. `times`: trials in order of time,
    `names`: VNFs."""
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
    found = estimate_of(values, rules)
    low, high = (
        (None, None) if found.interval is None else (found.interval.low, found.interval.high)
    )
    cores = [trial.cpu_cores[name] for trial in trials if name in trial.cpu_cores]
    assert found.value is not None  # there are trials
    return RankedFunction(name, found.value, low, high, sum(cores) / len(cores) if cores else None)


def _differences(
    values: Mapping[str, Sequence[float]], names: Sequence[str], alpha: float
) -> list[PairedDifference]:
    pairs = list(combinations(names, 2))
    tests = [SignedRank(values[less], values[more]) for more, less in pairs]
    corrected = holm([test.p for test in tests])
    found = []
    for (more, less), test, p in zip(pairs, tests, corrected, strict=True):
        low, high = test.interval(1 - alpha / len(pairs)) or (None, None)
        found.append(PairedDifference(more, less, test.shift, low, high, p))
    return found


def _needed(
    values: Mapping[str, Sequence[float]], first: str, undecided: Sequence[str], alpha: float
) -> int | None:
    """For all pairs of the first VNF that are not decided: the most."""
    found = []
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
        found.append(needed(trials).n)
    return None if not found or None in found else max(n for n in found if n is not None)
