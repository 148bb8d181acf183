"""How often `sfcperf compare` errs, and what it can see (docs/explanation/comparing.md).

.venv/bin/python benchmarks/analysis/compare_calibration.py         # a minute at most
.venv/bin/python benchmarks/analysis/compare_calibration.py --long  # figures of the docs: 5 minutes
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Parameter, Row, Run
from support.records.comparisons import NOISE, family

from sfcperf.analysis.comparison import Options
from sfcperf.analysis.comparison import Row as Compared
from sfcperf.analysis.statistics import confidence_per_look, t_quantile
from sfcperf.analysis.two_sample import PairedT, RobustRanks, SignedRank, WelchT

ROWS = 12
ALPHA = 0.05
SEED = 1
TRIALS = (3, 5, 10, 30)


def false_alarms(run: Run) -> Iterator[Row]:
    """Share of families of rows without any difference that have an alarm, at alpha 5 %."""
    families = 300 if run.parameters.long else run.repetitions
    for test in ("rank", "t"):
        for noise, paired in _kinds() if test == "rank" else _kinds()[:3]:
            rates = [_any_alarm(noise, n, paired, test, families) for n in TRIALS]
            budget = _budget(families) if test == "rank" else None
            name = f"false alarms in a family of {ROWS}, {test}, {_name(noise, paired)}"
            yield Row(name, max(rates), "%", budget=budget, remarks=_line(rates))


def false_equivalence(run: Run) -> Iterator[Row]:
    """Share of rows that differ by the margin and are called equivalent, at alpha 5 %."""
    count = 1000 if run.parameters.long else run.repetitions
    for noise, paired in _kinds():
        rates = [
            max(_share(noise, n, paired, ratio, count, _equivalent) for ratio in (0.95, 1.05))
            for n in TRIALS
        ]
        name = f"false equivalence, {_name(noise, paired)}"
        yield Row(name, max(rates), "%", budget=_budget(count), remarks=_line(rates))


def coverage(run: Run) -> Iterator[Row]:
    """Share of the 95 % intervals of the relative difference that hold the true 10 %."""
    count = 1000 if run.parameters.long else run.repetitions
    for noise, paired in _kinds():
        rates = [_share(noise, n, paired, 1.1, count, _holds) for n in TRIALS]
        yield Row(f"covers, {_name(noise, paired)}", min(rates), "%", remarks=_line(rates))


def power(run: Run) -> Iterator[Row]:
    """Share of rows decided under normal noise of 3 %, in families of 1 and 12 alike rows."""
    count = 360 if run.parameters.long else run.repetitions
    for ratio, seen in ((1.0, "equivalent"), (1.05, "worse"), (1.1, "worse")):
        for test in ("rank", "t"):
            for rows in (1, ROWS):
                rates = [_decided(n, ratio, rows, test, seen, count) for n in TRIALS]
                name = f"{100 * (ratio - 1):.0f} % {seen}, {test}, families of {rows}"
                yield Row(name, max(rates), "%", remarks=_line(rates))


def stopped(run: Run) -> Iterator[Row]:
    """Runs of the same thing that were ended by `stop_when` (half-width 5 %, max_rounds 20), tested
    as if they were not: share called different at alpha 5 %, and as the first of 12 rows."""
    count = 10_000 if run.parameters.long else run.repetitions
    for dispersion in (0.05, 0.1):
        for least in (3, 5, 10):
            random = numpy.random.default_rng([SEED, least, round(100 * dispersion)])
            p_values = numpy.array([_p_of_stopped(random, dispersion, least) for _ in range(count)])
            shares = [(p_values <= alpha).mean(axis=0) for alpha in (ALPHA, ALPHA / ROWS)]
            names = ("rank", "t", "rank, pairs", "t, pairs")
            for name, one, many in zip(names, *shares, strict=True):
                case = f"stopped, dispersion {dispersion:.0%}, from {least} rounds, {name}"
                yield Row(case, one, "%", remarks=f"at {ALPHA / ROWS:.2%}: {many:.2%}")


def _budget(count: int) -> Budget:
    """Exact tests hold alpha; three standard errors are the simulation's own."""
    return Budget(high=ALPHA + 3 * (ALPHA * (1 - ALPHA) / count) ** 0.5)


def _p_of_stopped(random: numpy.random.Generator, dispersion: float, least: int) -> list[float]:
    """Of rank and t tests, of two runs and of two variants of a run, which stop together."""
    a, b = random.normal(1, dispersion, (2, 20))
    narrow_a, narrow_b = (_narrow(values, least) for values in (a, b))
    n, m, both = (_first(x) + least for x in (narrow_a, narrow_b, narrow_a & narrow_b))
    return [
        RobustRanks(a[:n].tolist(), b[:m].tolist()).p or 0.0,
        WelchT(a[:n], b[:m]).p or 0.0,
        SignedRank(a[:both], b[:both]).p,
        PairedT(a[:both], b[:both]).p or 0.0,
    ]


def _narrow(values: numpy.ndarray, least: int) -> numpy.ndarray:
    """After each round from the least on: whether the mean's interval is narrow enough."""
    n = numpy.arange(least, len(values) + 1)
    confidence = confidence_per_look(1 - ALPHA, least)
    t = numpy.array([t_quantile(int(count) - 1, confidence) for count in n])
    spread = numpy.array([values[:count].std(ddof=1) for count in n])
    centre = numpy.array([values[:count].mean() for count in n])
    narrow: numpy.ndarray = t * spread / n**0.5 <= 0.05 * abs(centre)
    return narrow


def _first(narrow: numpy.ndarray) -> int:
    """Place of the first; of the last round when there is none."""
    return int(narrow.argmax()) if narrow.any() else len(narrow) - 1


def _kinds() -> list[tuple[str, bool]]:
    return [(noise, paired) for paired in (False, True) for noise in NOISE]


def _any_alarm(noise: str, n: int, paired: bool, test: str, families: int) -> float:
    random = _random(noise, n)
    options = Options(test=test)  # type: ignore[arg-type]
    alarms = [
        any(
            row.p_holm is not None and row.p_holm <= ALPHA
            for row in family(random, noise, n, [1.0] * ROWS, paired=paired, options=options)
        )
        for _ in range(families)
    ]
    return sum(alarms) / families


def _share(
    noise: str, n: int, paired: bool, ratio: float, count: int, seen: Callable[[Compared], bool]
) -> float:
    rows = family(_random(noise, n), noise, n, [ratio] * count, paired=paired)
    return sum(map(seen, rows)) / count


def _decided(n: int, ratio: float, rows: int, test: str, seen: str, count: int) -> float:
    random = _random("normal", n)
    # What the tests can show; fewer than 29 trials are not called equivalent by default.
    options = Options(test=test, rarest=0.7)  # type: ignore[arg-type]
    families = count // rows
    verdicts = [
        row.verdict
        for _ in range(families)
        for row in family(random, "normal", n, [ratio] * rows, paired=False, options=options)
    ]
    return verdicts.count(seen) / len(verdicts)


def _random(noise: str, n: int) -> numpy.random.Generator:
    """The same for both tests, so that they see the same trials."""
    return numpy.random.default_rng([SEED, list(NOISE).index(noise), n])


def _equivalent(row: Compared) -> bool:
    return row.tost_p is not None and row.tost_p <= ALPHA


def _holds(row: Compared) -> bool:
    found = row.relative
    return (
        found is not None
        and found.low is not None
        and found.high is not None
        and (found.low <= 0.1 <= found.high)
    )


def _name(noise: str, paired: bool) -> str:
    return f"{noise}, {'paired' if paired else 'unpaired'}"


def _line(rates: Sequence[float]) -> str:
    return "  ".join(f"n={n}: {rate:.1%}" for n, rate in zip(TRIALS, rates, strict=True))


if __name__ == "__main__":
    Benchmark(
        __doc__,
        {false_alarms: 60, false_equivalence: 250, coverage: 250, power: 120, stopped: 1000},
        {"long": Parameter(False, "as many as the docs' figures rest on")},
    ).main()
