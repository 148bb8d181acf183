"""Simulated comparisons with a known truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any

import numpy as np

from sfcperf.analysis.comparison import Options, Row, Sample
from sfcperf.analysis.comparison.case import Case
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.comparison.noise_floor import FloorRecord, RunMean
from sfcperf.results.values import Metric

RTT = Metric("rtt_us", "us", "round-trip time", "lower", True)

Noise = Callable[[np.random.Generator, int], np.ndarray]

NOISE: Mapping[str, Noise] = {
    "normal": lambda random, n: random.normal(1, 0.03, n),
    "lognormal": lambda random, n: random.lognormal(0, 0.3, n),
    # Where a thread lands decides: a tenth slower, or not.
    "bimodal": lambda random, n: (
        np.where(random.random(n) < 0.5, 1.0, 1.1) + random.normal(0, 0.004, n)
    ),
}
"""Factors of the true value, one per trial."""


def sample(values: Sequence[float]) -> Sample:
    """Trials r001, r002, ... with these values."""
    numbers = tuple(map(float, values))
    ids = tuple(f"r{number:03d}" for number in range(1, len(numbers) + 1))
    if not numbers:
        return Sample((), (), None, None, ())
    return Sample(ids, numbers, float(median(numbers)), fmean(numbers), ())


def case(
    a: Sequence[float], b: Sequence[float], *, paired: bool = False, metric: Metric = RTT
) -> Case:
    """A row to be judged."""
    return Case("candidate", {}, "ping", metric, sample(a), sample(b), paired)


def runs_sample(runs: Sequence[Sequence[float]]) -> Sample:
    """Trials `1/r001`, ... of several runs with these values."""
    one = sample([value for run in runs for value in run])
    return replace(
        one,
        trials=tuple(f"{n}/r{i:03d}" for n, run in enumerate(runs, 1) for i in range(len(run))),
        runs=tuple(number for number, run in enumerate(runs) for _ in run),
    )


def runs_case(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    *,
    paired: bool = False,
    metric: Metric = RTT,
    **more: Any,
) -> Case:
    """A row of several runs per side, to be judged."""
    samples = runs_sample(a), runs_sample(b)
    return Case("candidate", {}, "ping", metric, *samples, paired, **more)


def runs_row(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    options: Options | None = None,
    **more: Any,
) -> Row:
    """A family of one."""
    return evaluate([runs_case(a, b, **more)], options or Options())[0]


def kept_floor(runs: Sequence[Sequence[float]]) -> FloorRecord:
    """The A/A runs of a machine with these trials."""
    means = tuple(
        RunMean(len(run), fmean(run), float(np.std(run, ddof=1)) if len(run) > 1 else 0.0)
        for run in runs
    )
    return FloorRecord((means,), tuple(f"run-{number}" for number in range(len(runs))))


def row(
    a: Sequence[float], b: Sequence[float], options: Options | None = None, **more: object
) -> Row:
    """A family of one."""
    return evaluate([case(a, b, **more)], options or Options())[0]  # type: ignore[arg-type]


def family(
    random: np.random.Generator,
    noise: str,
    n: int,
    ratios: Sequence[float],
    *,
    paired: bool,
    options: Options | None = None,
) -> list[Row]:
    """Rows with n trials per side and these true ratios of candidate to baseline; paired trials
    share the state that the machine is in during their round."""
    cases = []
    for ratio in ratios:
        a, b = (100 * NOISE[noise](random, n) for _ in range(2))
        state = random.lognormal(0, 0.1, n) if paired else 1.0
        cases.append(case(a * state, b * state * ratio, paired=paired))
    return evaluate(cases, options or Options(), sizes=False)
