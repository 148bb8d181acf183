"""Several runs per side: the run is the unit of replication.

Trials of a run share what its deployment, its place and the machine's state were; however many
they are, they do not tell how runs differ. A random-effects model has a variance between runs and
one between the trials of a run; the means of the runs carry both, and are tested. Kalibera &
Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013): sections 6 (the model and its
variances), 7 (the number of repetitions at each level).
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
LEAST_ROUNDS = 2
"""Runs of one round do not show what rounds scatter."""
MOST_ROUNDS = 999
"""Of the workflow schema."""

_WORTH = 0.9
"""Another number of rounds is named if it saves more than a tenth."""


@dataclass(frozen=True)
class Costs:
    """Seconds."""

    run_s: float
    """A run besides its rounds: start, warm-up, analysis."""
    round_s: float


@dataclass(frozen=True)
class _Dispersions:
    """What the dispersions of a row follow from, on the tested scale."""

    means: list[float]
    between: float | None
    """Variance between runs, without the trials' share; None for one run."""
    within: float | None
    """Variance of the trials of a run."""
    rounds: float


def run_means(sample: Sample, scale: Scale) -> list[float]:
    """Of each run, on the scale. The mean stands for a run whichever centre its workflow declares:
    the trials' share of its variance is known, and rare losses are in it."""
    return scale.of([_exact(fmean(values)) for values in sample.by_run()])


def _exact(mean: float) -> float:
    """Without the rounding of its computation, which would be taken for dispersion: runs that are
    equal have none."""
    return float(f"{mean:.12g}")


def run_test(a: Sample, b: Sample, scale: Scale, paired: bool) -> ShiftTest | None:
    """Of sides of which at least one has several runs; None if a side has none.

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
    """Of the single run's mean, if it has fewer trials than the others or these scatter more."""
    single_run, group = _seen(single, scale), _seen(several, scale)
    of_group = (group.within or 0.0) / group.rounds
    within = group.within if single_run.within is None else single_run.within
    return (within or 0.0) / single_run.rounds - of_group


def replication(a: Sample, b: Sample, scale: Scale, costs: Costs | None) -> Replication:
    """The dispersions of both sides; what would decide is not known yet."""
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
    dispersions = _seen(sample, scale)
    return RunDispersion(
        runs=len(dispersions.means),
        rounds=dispersions.rounds,
        means=tuple(fmean(values) for values in sample.by_run()),
        between=None if dispersions.between is None else sqrt(dispersions.between),
        within=None if dispersions.within is None else sqrt(dispersions.within),
    )


def _seen(sample: Sample, scale: Scale) -> _Dispersions:
    """Method of moments: the variance of the means is that between runs, and the trials' variance
    over their number (Kalibera & Jones, section 6.2; Searle, Casella & McCulloch, Variance
    Components, section 3.6)."""
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
    """What is to be decided about an undecided row."""

    shift: float
    alpha: float
    alpha_tost: float
    bounds: tuple[float, float] | None
    rarest: float
    paired: bool


def advice(
    found: Replication, a: Sample, b: Sample, scale: Scale, question: Question
) -> tuple[SampleSize, Effort | None, bool]:
    """Runs that would decide with as many rounds as now, the cheapest effort that would, and
    whether more rounds of the same runs could.

    The optimum of rounds per run is sqrt(cost of a run / cost of a round * variance within /
    variance between) (Kalibera & Jones, section 7).
    """
    sides = [_seen(a, scale), _seen(b, scale)]
    # A single run beside others is as dispersed as they are.
    of_runs = [s.between for s in sides if s.between is not None]
    of_trials = [s.within for s in sides if s.within is not None]
    between = fmean(of_runs) if of_runs else 0.0
    within = fmean(of_trials) if of_trials else 0.0
    rounds = max(1, round(harmonic_mean([s.rounds for s in sides])))
    if question.paired:
        # What both variants of a run have in common cancels.
        apart = [y - x for x, y in zip(sides[0].means, sides[1].means, strict=True)]
        between = max(0.0, variance(apart) / 2 - within / rounds)
    ask = _Sizes(between, within, question)
    now = max(len(s.means) for s in sides)
    # These runs have not decided: with as many rounds it takes more of them.
    today = ask.runs(rounds, now + 1)
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
    """Seconds, or trials where these are not known."""
    return effort.seconds or float(effort.runs * effort.rounds)


def _seconds(found: Replication, runs: int, rounds: int) -> float | None:
    if found.run_s is None or found.round_s is None:
        return None
    return runs * (found.run_s + rounds * found.round_s)


@dataclass(frozen=True)
class _Sizes:
    """Numbers of runs per side by the power of t, with these variances."""

    between: float
    within: float
    question: Question

    def runs(self, rounds: int, least: int) -> SampleSize:
        """Of so many rounds each."""
        spread = sqrt(self.between + self.within / rounds)
        # Two values of a side tell the function the dispersion, as two differences do of pairs.
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
            # Enough trials to see rare modes.
            return SampleSize(
                max(size.n, ceil(least_to_see(self.question.rarest) / rounds)), size.purpose
            )
        return size
