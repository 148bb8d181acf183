"""Several runs per side: the run is the unit of replication.

All trials of a run share its deployment, its place and the state of the machine. However many they
are, they do not show how runs differ. A random-effects model has two variances: between runs, and
between the trials of a run. The means of runs contain both, so the tests are about these means.
Source: Kalibera & Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013): sections 6 (the
model and its variances), 7 (the number of repetitions at each level).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import fmean, harmonic_mean

from sfcperf.analysis.comparison.result import Effort, Replication, RunDispersion, Sample
from sfcperf.analysis.statistics import least_to_see
from sfcperf.analysis.two_sample import (
    ObservedTrials,
    OneAgainstRuns,
    PairedT,
    RunLevelT,
    SampleSize,
    Scale,
    ShiftTest,
    needed,
    variance,
)

MOST_RUNS = 1000
"""More runs per side are not advised: nobody makes them."""
LEAST_ROUNDS = 2
"""Fewest rounds per run that are advised: a run of one round does not show how rounds scatter."""
MOST_ROUNDS = 999
"""Most rounds that the workflow schema allows."""

_WORTH = 0.9
"""Another number of rounds is advised only if it saves more than a tenth of the effort."""


@dataclass(frozen=True)
class Costs:
    """What a run costs, in seconds; `costs_of` takes it from the runs' manifests and trials."""

    run_s: float
    """Time that a run takes besides its rounds: start, warm-up, analysis."""
    round_s: float
    """Time that a round takes."""


@dataclass(frozen=True)
class _Dispersions:
    """Means and variances of the runs of one side, on the tested scale."""

    means: list[float]
    """Mean of each run."""
    between: float | None
    """Variance between runs, without what the scatter of trials adds; None for one run."""
    within: float | None
    """Variance between the trials of a run; None if no run has two."""
    rounds: float
    """Trials of a run, the harmonic mean over runs."""


def run_means(sample: Sample, scale: Scale) -> list[float]:
    """Return the mean of each run, on the scale. The mean is taken whichever centre the workflow
    declares: how much the scatter of trials adds to its variance is known, and it contains rare
    losses, which a median misses."""
    return scale.of([_exact(fmean(values)) for values in sample.by_run()])


def _exact(mean: float) -> float:
    """Round a mean to 12 digits. The rounding errors of its computation would otherwise make equal
    runs differ, and count as dispersion."""
    return float(f"{mean:.12g}")


def run_test(a: Sample, b: Sample, scale: Scale, paired: bool) -> ShiftTest | None:
    """Return the test of the shift between sides of which at least one has several runs. None if a
    side has no run, or if one run alone has both variants.

    `paired`: both sides are variants of the same runs.
    """
    of_a, of_b = run_means(a, scale), run_means(b, scale)
    few = min(len(of_a), len(of_b))
    if few == 0 or (paired and few < 2):
        return None
    if paired:
        return PairedT(of_a, of_b)
    if few > 1:
        return RunLevelT(of_a, of_b)
    single, several = (a, b) if len(of_a) == 1 else (b, a)
    return OneAgainstRuns(of_a, of_b, _further_variance(single, several, scale))


def _further_variance(single: Sample, several: Sample, scale: Scale) -> float:
    """Return the variance that a single run's mean has beyond the variance of a mean of the group,
    because the run has fewer trials or they scatter more; negative in the opposite case."""
    single_run, group = _dispersions_of(single, scale), _dispersions_of(several, scale)
    of_group = (group.within or 0.0) / group.rounds
    within = group.within if single_run.within is None else single_run.within
    return (within or 0.0) / single_run.rounds - of_group


def replication(a: Sample, b: Sample, scale: Scale, costs: Costs | None) -> Replication:
    """Describe the dispersions of both sides. What would decide the row (`advice`) is left None."""
    return Replication(
        ratios=scale.ratios,
        a=_dispersion(a, scale),
        b=_dispersion(b, scale),
        run_s=None if costs is None else round(costs.run_s, 1),
        round_s=None if costs is None else round(costs.round_s, 1),
        cheapest=None,
        rounds_alone=None,
    )


def _dispersion(sample: Sample, scale: Scale) -> RunDispersion:
    """Return the dispersion of a side as its row has it: variances as standard deviations, means in
    the unit."""
    dispersions = _dispersions_of(sample, scale)
    return RunDispersion(
        runs=len(dispersions.means),
        rounds=dispersions.rounds,
        means=tuple(fmean(values) for values in sample.by_run()),
        between=None if dispersions.between is None else sqrt(dispersions.between),
        within=None if dispersions.within is None else sqrt(dispersions.within),
    )


def _dispersions_of(sample: Sample, scale: Scale) -> _Dispersions:
    """Estimate the variances of a side on the scale, by the method of moments: the variance of the
    means is the variance between runs, plus the variance of trials over their number (Kalibera &
    Jones, section 6.2; Searle, Casella & McCulloch, Variance Components, section 3.6)."""
    runs = sample.by_run()
    means = run_means(sample, scale)
    freedom = sum(len(values) - 1 for values in runs)
    squares = sum(
        (len(values) - 1) * variance(scale.of(values)) for values in runs if len(values) > 1
    )
    within = squares / freedom if freedom else None
    rounds = float(harmonic_mean([len(values) for values in runs])) if runs else 0.0
    between = None
    if len(means) > 1:
        between = max(0.0, variance(means) - (within or 0.0) / rounds)
    return _Dispersions(means, between, within, rounds)


@dataclass(frozen=True)
class Question:
    """What further runs are to decide about an undecided row; `evaluation` asks it of `advice`."""

    shift: float
    """Shift that was observed, on the scale."""
    alpha: float
    """Level of the test of a difference."""
    alpha_tost: float
    """Level of the two one-sided tests of equivalence."""
    bounds: tuple[float, float] | None
    """The margin on the scale; None if equivalence is not asked for."""
    rarest: float
    """Smallest share of trials of a mode that must not be missed."""
    paired: bool


def advice(
    found: Replication, a: Sample, b: Sample, scale: Scale, question: Question
) -> tuple[SampleSize, Effort | None, bool]:
    """Return three things about an undecided row: how many runs would decide it with as many rounds
    as now; the cheapest effort that would (None if there is none); and whether more rounds of the
    same runs could have decided it. `found`: the row's dispersions and costs.

    The optimum of rounds per run is sqrt(cost of a run / cost of a round * variance within /
    variance between) (Kalibera & Jones, section 7).
    """
    sides = [_dispersions_of(a, scale), _dispersions_of(b, scale)]
    # The dispersion of a single run cannot be seen: it is taken to be that of the other side's.
    of_runs = [s.between for s in sides if s.between is not None]
    of_trials = [s.within for s in sides if s.within is not None]
    between = fmean(of_runs) if of_runs else 0.0
    within = fmean(of_trials) if of_trials else 0.0
    rounds = max(1, round(harmonic_mean([s.rounds for s in sides])))
    if question.paired:
        # What both variants of a run have in common cancels in their difference. That has twice the
        # variance of a side, hence / 2.
        apart = [y - x for x, y in zip(sides[0].means, sides[1].means, strict=True)]
        between = max(0.0, variance(apart) / 2 - within / rounds)
    ask = _Sizes(between, within, question)
    now = max(len(s.means) for s in sides)
    # These runs have not decided, so with as many rounds it takes at least one more.
    today = ask.runs(rounds, now + 1)
    # Without costs: as many rounds as now, twice as many, and half as many.
    choices = {rounds, 2 * rounds, max(LEAST_ROUNDS, rounds // 2)}
    if found.run_s is not None and found.round_s:
        optimum = MOST_ROUNDS
        if between:
            optimum = ceil(sqrt(found.run_s / found.round_s * within / between))
        choices = {rounds, min(MOST_ROUNDS, max(LEAST_ROUNDS, optimum))}
    efforts = [
        Effort(runs.n, many, _seconds(found, runs.n, many))
        for many in sorted(choices)
        if (runs := today if many == rounds else ask.runs(many, 3)).n is not None
    ]
    cheapest = min(efforts, key=_effort, default=None)
    same = next((effort for effort in efforts if effort.rounds == rounds), None)
    if cheapest and same and _effort(cheapest) > _WORTH * _effort(same):
        cheapest = same
    alone = ask.runs(MOST_ROUNDS, 2).n
    return today, cheapest, alone is not None and alone <= min(len(s.means) for s in sides)


def _effort(effort: Effort) -> float:
    """Return what an effort costs: seconds, or the number of trials where seconds are not known."""
    return effort.seconds or float(effort.runs * effort.rounds)


def _seconds(found: Replication, runs: int, rounds: int) -> float | None:
    """Return the time that so many runs take; None if the costs are not known."""
    if found.run_s is None or found.round_s is None:
        return None
    return runs * (found.run_s + rounds * found.round_s)


@dataclass(frozen=True)
class _Sizes:
    """Computes numbers of runs per side from the power of t tests, given these variances."""

    between: float
    """Variance between runs, on the tested scale."""
    within: float
    """Variance between the trials of a run."""
    question: Question

    def runs(self, rounds: int, least: int) -> SampleSize:
        """Return how many runs of `rounds` rounds would decide, `least` or more; no size if it is
        more than MOST_RUNS."""
        spread = sqrt(self.between + self.within / rounds)
        # `needed` takes observed trials and uses only their dispersion. Two made-up values per side
        # have the dispersion `spread`; of pairs, the two differences have sqrt(2) times it, as the
        # difference of two sides has.
        high = [spread / sqrt(2), -spread / sqrt(2)]
        a = [0.0, 0.0] if self.question.paired else high
        size = needed(
            ObservedTrials(
                a,
                [sqrt(2) * v for v in high] if self.question.paired else high,
                paired=self.question.paired,
                ranks=False,
                shift=self.question.shift,
                alpha=self.question.alpha,
                alpha_tost=self.question.alpha_tost,
                bounds=self.question.bounds,
            ),
            least=least,
        )
        if size.n is None or size.n > MOST_RUNS:
            return SampleSize(None, "")
        if size.purpose == "equivalence":
            # All runs together need enough trials to see rare modes.
            return SampleSize(
                max(size.n, ceil(least_to_see(self.question.rarest) / rounds)), size.purpose
            )
        return size
