"""How often `sfcperf compare` errs, and what it can see (docs/explanation/comparing.md).

.venv/bin/python benchmarks/compare_calibration.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.comparisons import NOISE, family

from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import Row

ROWS = 12
FAMILIES = 300
SINGLE = 1000
ALPHA = 0.05
SEED = 1
TRIALS = (3, 5, 10, 30)


def main() -> int:
    worst = max(_false_alarms())
    edge = max(_false_equivalence())
    _coverage()
    _power()
    # Exact tests hold alpha; three standard errors are the simulation's own.
    allowed = ALPHA + 3 * (ALPHA * (1 - ALPHA) / FAMILIES) ** 0.5
    print(f"largest rate of the rank test: {max(worst, edge):.1%} (budget {allowed:.1%})")
    return int(max(worst, edge) > allowed)


def _false_alarms() -> Iterator[float]:
    """Prints a table per test; gives the rates of the rank test."""
    print(f"families of {ROWS} rows without any difference: share with a false alarm (alpha 5 %)")
    for test in ("rank", "t"):
        for noise, paired in _kinds() if test == "rank" else _kinds()[:3]:
            rates = [_any_alarm(noise, n, paired, test) for n in TRIALS]
            print(f"  {test:4} {_name(noise, paired)} {_line(rates)}")
            if test == "rank":
                yield from rates


def _false_equivalence() -> Iterator[float]:
    print("rows that differ by the margin itself: share called equivalent (alpha 5 %)")
    for noise, paired in _kinds():
        rates = [
            max(_share(noise, n, paired, ratio, _equivalent) for ratio in (0.95, 1.05))
            for n in TRIALS
        ]
        print(f"  rank {_name(noise, paired)} {_line(rates)}")
        yield from rates


def _coverage() -> None:
    print("95 % intervals of the relative difference that hold the true 10 %")
    for noise, paired in _kinds():
        rates = [_share(noise, n, paired, 1.1, _holds) for n in TRIALS]
        print(f"  rank {_name(noise, paired)} {_line(rates)}")


def _power() -> None:
    print("normal noise of 3 %: share of rows decided, in families of 1 and 12 alike rows")
    for ratio, seen in ((1.0, "equivalent"), (1.05, "worse"), (1.1, "worse")):
        for test in ("rank", "t"):
            for rows in (1, ROWS):
                rates = [_decided(n, ratio, rows, test, seen) for n in TRIALS]
                print(
                    f"  {test:4} {100 * (ratio - 1):3.0f} % {seen:10} {rows:2} rows {_line(rates)}"
                )


def _kinds() -> list[tuple[str, bool]]:
    return [(noise, paired) for paired in (False, True) for noise in NOISE]


def _any_alarm(noise: str, n: int, paired: bool, test: str) -> float:
    random = _random(noise, n)
    options = Options(test=test)  # type: ignore[arg-type]
    alarms = [
        any(
            row.p_holm is not None and row.p_holm <= ALPHA
            for row in family(random, noise, n, [1.0] * ROWS, paired=paired, options=options)
        )
        for _ in range(FAMILIES)
    ]
    return sum(alarms) / FAMILIES


def _share(noise: str, n: int, paired: bool, ratio: float, seen: Callable[[Row], bool]) -> float:
    rows = family(_random(noise, n), noise, n, [ratio] * SINGLE, paired=paired)
    return sum(map(seen, rows)) / SINGLE


def _decided(n: int, ratio: float, rows: int, test: str, seen: str) -> float:
    random = _random("normal", n)
    options = Options(test=test)  # type: ignore[arg-type]
    families = 360 // rows
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
