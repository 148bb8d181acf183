"""How often `sfcperf compare` errs, and what it can see (docs/explanation/comparing.md).

.venv/bin/python benchmarks/analysis/compare_calibration.py         # a minute at most
.venv/bin/python benchmarks/analysis/compare_calibration.py --long  # figures of the docs: 5 minutes
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.records.comparisons import NOISE, family

from sfcperf.analysis.comparison import Options, Row
from sfcperf.analysis.statistics import confidence_per_look, t_quantile
from sfcperf.analysis.two_sample import PairedT, RobustRanks, SignedRank, WelchT

ROWS = 12
ALPHA = 0.05
SEED = 1
TRIALS = (3, 5, 10, 30)


@dataclass(frozen=True)
class Size:
    """How much is simulated."""

    families: int
    single: int
    """Rows where they are looked at one by one."""
    decided: int
    """Rows for the power."""
    stopped: int
    """Pairs of runs that were ended by their results."""


SHORT = Size(families=60, single=250, decided=120, stopped=1000)
LONG = Size(families=300, single=1000, decided=360, stopped=10_000)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="as many as the docs' figures rest on")
    size = LONG if parser.parse_args().long else SHORT
    alarms = max(_false_alarms(size))
    edge = max(_false_equivalence(size))
    _coverage(size)
    _power(size)
    _stopped(size)
    # Exact tests hold alpha; three standard errors are the simulation's own.
    over = 0
    for name, rate, count in (
        ("false alarms in a family", alarms, size.families),
        ("false equivalence", edge, size.single),
    ):
        allowed = ALPHA + 3 * (ALPHA * (1 - ALPHA) / count) ** 0.5
        print(f"largest rate of the rank test, {name}: {rate:.1%} (budget {allowed:.1%})")
        over += rate > allowed
    return int(over > 0)


def _false_alarms(size: Size) -> Iterator[float]:
    """Prints a table per test; gives the rates of the rank test."""
    print(f"families of {ROWS} rows without any difference: share with a false alarm (alpha 5 %)")
    for test in ("rank", "t"):
        for noise, paired in _kinds() if test == "rank" else _kinds()[:3]:
            rates = [_any_alarm(noise, n, paired, test, size.families) for n in TRIALS]
            print(f"  {test:4} {_name(noise, paired)} {_line(rates)}")
            if test == "rank":
                yield from rates


def _false_equivalence(size: Size) -> Iterator[float]:
    print("rows that differ by the margin itself: share called equivalent (alpha 5 %)")
    for noise, paired in _kinds():
        rates = [
            max(_share(noise, n, paired, ratio, size.single, _equivalent) for ratio in (0.95, 1.05))
            for n in TRIALS
        ]
        print(f"  rank {_name(noise, paired)} {_line(rates)}")
        yield from rates


def _coverage(size: Size) -> None:
    print("95 % intervals of the relative difference that hold the true 10 %")
    for noise, paired in _kinds():
        rates = [_share(noise, n, paired, 1.1, size.single, _holds) for n in TRIALS]
        print(f"  rank {_name(noise, paired)} {_line(rates)}")


def _power(size: Size) -> None:
    print("normal noise of 3 %: share of rows decided, in families of 1 and 12 alike rows")
    for ratio, seen in ((1.0, "equivalent"), (1.05, "worse"), (1.1, "worse")):
        for test in ("rank", "t"):
            for rows in (1, ROWS):
                rates = [_decided(n, ratio, rows, test, seen, size.decided) for n in TRIALS]
                print(
                    f"  {test:4} {100 * (ratio - 1):3.0f} % {seen:10} {rows:2} rows {_line(rates)}"
                )


def _stopped(size: Size) -> None:
    """Runs of the same thing that were ended by `stop_when`, tested as if they were not."""
    print(
        "runs of the same thing ended by stop_when (half-width 5 %, max_rounds 20): share called "
        f"different at alpha 5 %, and at 0.42 % (the first of {ROWS} rows)"
    )
    for dispersion in (0.05, 0.1):
        for least in (3, 5, 10):
            random = numpy.random.default_rng([SEED, least, round(100 * dispersion)])
            p_values = numpy.array(
                [_p_of_stopped(random, dispersion, least) for _ in range(size.stopped)]
            )
            shares = [(p_values <= alpha).mean(axis=0) for alpha in (ALPHA, ALPHA / ROWS)]
            names = ("rank", "t", "rank, pairs", "t, pairs")
            told = "  ".join(
                f"{name}: {one:.1%}, {many:.2%}"
                for name, one, many in zip(names, *shares, strict=True)
            )
            print(f"  dispersion {dispersion:3.0%}, at least {least:2} rounds  {told}")


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
    noise: str, n: int, paired: bool, ratio: float, count: int, seen: Callable[[Row], bool]
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


def _equivalent(row: Row) -> bool:
    return row.tost_p is not None and row.tost_p <= ALPHA


def _holds(row: Row) -> bool:
    found = row.relative
    return (
        found is not None
        and found.low is not None
        and found.high is not None
        and (found.low <= 0.1 <= found.high)
    )


def _name(noise: str, paired: bool) -> str:
    return f"{noise:9} {'paired  ' if paired else 'unpaired'}"


def _line(rates: Sequence[float]) -> str:
    return "  ".join(f"n={n}: {rate:6.1%}" for n, rate in zip(TRIALS, rates, strict=True))


if __name__ == "__main__":
    sys.exit(main())
