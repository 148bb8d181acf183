"""What SFCPerf claims against what is true: verdicts, simulated through the product's functions.

.venv/bin/python benchmarks/analysis/truth.py [--repeats N] [--only WORD]

Each row draws trials of a known truth, lets SFCPerf judge them, and counts the false claims. A row
holds if its rate is at most alpha and two standard errors of the simulation. Rows of power count
true claims. Rows that say `covers` count the intervals that contain the truth, of those that are
shown: at least 93 %, less two standard errors, and at most 97 %, plus two, unless values are on
ticks or count losses. `was` is the share by the test that decided alone in earlier versions,
`uncorrected` that of today's tests without the correction for autocorrelation. Rows marked `held
back` were not looked at while the methods were chosen; rows marked `limit` are known not to hold
(docs/explanation/comparing.md, statistics.md and noise.md say why). Rows that start with `bound`
say how much power any test can have that is not misled by autocorrelation. Exit status 1 if another
row does not hold.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from math import log1p, sqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np
from _truth import coverage, parts
from _truth.claims import ALPHA, ANY_SHIFT, BETTER_OR_WORSE, EQUIVALENT, Random, normal
from _truth.runs import RunRow, run_rows
from support.records.comparisons import RTT, case

from sfcperf.analysis.comparison import Options
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.statistics import least_to_see
from sfcperf.analysis.two_sample import trials_beside
from sfcperf.analysis.two_sample.combined import RobustRanks
from sfcperf.analysis.two_sample.means import MeanRatio
from sfcperf.analysis.two_sample.ranks import RankSum
from sfcperf.results.values import Metric

LEAST_COVERAGE = 0.93
MOST_COVERAGE = 0.97
REPLAYS = 150
MOST_ROUNDS = 2000
PROMISED = 0.7
"""Less than 4 of 5, by the error of the few trials that the number is computed from."""
Sides = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Row:
    """One truth, and what must not be claimed of it (or, for power, what should be)."""

    name: str
    draw: Callable[[Random], Sides]
    claim: frozenset[str] = EQUIVALENT
    paired: bool = False
    options: Options = field(default_factory=Options)
    power: bool = False
    seed: int = 1
    metric: Metric = RTT
    limit: bool = False
    before: Callable[[Sequence[float], Sequence[float]], bool] | None = None
    """Whether the test of earlier versions made the claim."""
    uncorrected: Callable[[Sequence[float], Sequence[float]], bool] | None = None
    """Whether today's tests make it without the correction for autocorrelation."""


def slow_mode(random: Random, n: int, share: float, times: float, sd: float = 0.02) -> np.ndarray:
    """Trials of which a share, at random, is so many times slower."""
    return normal(random, n, sd) * np.where(random.random(n) < share, times, 1.0)


def planted(random: Random, n: int, count: int, times: float, sd: float = 0.02) -> np.ndarray:
    """Trials of which exactly so many, at random places, are so many times slower."""
    values = normal(random, n, sd)
    values[random.permutation(n)[:count]] *= times
    return values


def ticked(values: np.ndarray, tick: float) -> np.ndarray:
    """As a clock with this step reads them."""
    return np.round(values / tick) * tick


def correlated(random: Random, n: int, r: float, sd: float = 0.02) -> np.ndarray:
    """A stationary AR(1) process around 100."""
    return 100 * (1 + sd * coverage.correlated(random, n, r))


def two(random: Random, make: Callable[[Random], np.ndarray], ratio: float = 1.0) -> Sides:
    """Both sides of one kind, the second one shifted."""
    return make(random), make(random) * ratio


def rank_sum(a: Sequence[float], b: Sequence[float]) -> bool:
    """Wilcoxon's test alone, the only condition for better and worse in earlier versions."""
    return RankSum(a, b).p <= ALPHA


def robust_ranks(a: Sequence[float], b: Sequence[float]) -> bool:
    """Today's tests of a difference, for independent trials."""
    p = RobustRanks(np.log(a), np.log(b)).p
    return p is not None and p <= ALPHA


def both_tosts(a: Sequence[float], b: Sequence[float]) -> bool:
    """Today's tests of equivalence, for independent trials: of the shift and of the means."""
    logs = RobustRanks(np.log(a), np.log(b)).tost_p(log1p(-0.05), log1p(0.05))
    means = MeanRatio(a, b).tost_p(log1p(-0.05), log1p(0.05))
    return logs is not None and means is not None and max(logs, means) <= ALPHA


def rank_tost(a: Sequence[float], b: Sequence[float]) -> bool:
    """Wilcoxon's test of the shift of logarithms alone, the condition for equivalent then."""
    found = RankSum(np.log(a), np.log(b)).tost_p(log1p(-0.05), log1p(0.05))
    return found is not None and found <= ALPHA


def rows() -> Iterator[Row | RunRow]:
    """All of them."""
    yield from _shapes()
    yield from _resolution()
    yield from _null()
    yield from _power()
    yield from run_rows()


def _shapes() -> Iterator[Row]:
    for n, share, times, seed in (
        (10, 0.1, 10, 1), (20, 0.1, 10, 1), (30, 0.1, 10, 1), (10, 0.1, 1.5, 1), (30, 0.1, 1.5, 1),
        (15, 0.15, 5, 91), (40, 0.12, 1.6, 91),
    ):  # fmt: skip
        yield Row(
            f"{100 * share:g} % of trials x{times:g}, n = {n}",
            lambda r, n=n, s=share, t=times: (normal(r, n, 0.02), slow_mode(r, n, s, t)),
            seed=seed,
        )
    for n, count, times, seed in ((20, 2, 10, 1), (20, 4, 1 / 3, 1), (10, 1, 1.5, 1),
                                  (30, 3, 1.5, 1), (50, 5, 1.5, 92), (36, 6, 0.6, 92)):  # fmt: skip
        yield Row(
            f"{count} of {n} trials x{times:.2g}",
            lambda r, n=n, c=count, t=times: (normal(r, n, 0.02), planted(r, n, c, t)),
            seed=seed,
        )
    for n, ratio, seed in ((30, 1.05, 1), (30, 0.95, 1), (60, 1.05, 93)):
        yield Row(
            f"shift by the margin ({ratio:g}), n = {n}",
            lambda r, n=n, q=ratio: two(r, lambda r: normal(r, n, 0.03), q),
            seed=seed,
        )
        yield Row(
            f"lognormal, sd 30 %, shift by the margin ({ratio:g}), n = {n}",
            lambda r, n=n, q=ratio: two(r, lambda r: 100 * r.lognormal(0, 0.3, n), q),
            seed=seed,
        )


def _resolution() -> Iterator[Row]:
    for n, a, b, tick, sd, seed in (
        (5, 3.0, 3.3, 1.0, 0.02, 1), (20, 3.0, 3.3, 1.0, 0.02, 1), (40, 3.0, 3.3, 1.0, 0.05, 1),
        (40, 250, 275, 100.0, 0.02, 1), (40, 250, 275, 100.0, 0.1, 1),
        (33, 710, 770, 50.0, 0.03, 94),
    ):  # fmt: skip
        yield Row(
            f"{a:g} against {b:g} on ticks of {tick:g}, sd {100 * sd:g} %, n = {n}",
            lambda r, n=n, a=a, b=b, t=tick, s=sd: (
                ticked(normal(r, n, s, a), t),
                ticked(normal(r, n, s, b), t),
            ),
            seed=seed,
        )
    loss = Metric("loss_ratio", "1", "losses", "lower", True)
    margin = Options(absolute_margins={"loss_ratio": 0.001})
    for n, k in ((20, 5), (40, 4)):
        yield Row(
            f"loss 0 against half in {k} of {n} trials",
            lambda r, n=n, k=k: (np.zeros(n), 0.5 * (r.permutation(n) < k)),
            options=margin,
            metric=loss,
        )
    yield Row(
        "loss 0 against half in 5 of 20 trials",
        lambda r: (np.zeros(20), 0.5 * (r.permutation(20) < 5)),
        frozenset({"worse"}),
        options=margin,
        metric=loss,
        power=True,
    )


def _null() -> Iterator[Row]:
    for n, m, sd_a, sd_b, seed in (
        (20, 5, 0.02, 0.1, 1), (5, 5, 0.02, 0.1, 1), (10, 10, 0.02, 0.1, 1), (20, 20, 0.02, 0.1, 1),
        (30, 10, 0.02, 0.06, 1), (25, 6, 0.03, 0.12, 95), (12, 9, 0.01, 0.05, 95),
    ):  # fmt: skip
        yield Row(
            f"no difference, sd {100 * sd_a:g} and {100 * sd_b:g} %, n = {n} and {m}",
            lambda r, n=n, m=m, s=sd_a, t=sd_b: (normal(r, n, s), normal(r, m, t)),
            BETTER_OR_WORSE,
            options=ANY_SHIFT,
            before=rank_sum,
            seed=seed,
        )
    for n, r1, seed in (
        (20, 0.6, 1), (30, 0.6, 1), (20, 0.3, 1), (10, 0.6, 1), (20, 0.15, 1), (25, 0.5, 96),
    ):  # fmt: skip
        yield Row(
            f"no difference, AR(1) {r1:g}, n = {n}",
            lambda r, n=n, c=r1: two(r, lambda r: correlated(r, n, c)),
            BETTER_OR_WORSE,
            options=ANY_SHIFT,
            before=rank_sum,
            seed=seed,
            limit=n == 10 or r1 == 0.15,  # so few trials, or so weak a correlation, do not show it
        )
    yield Row(
        "12 % of trials x1.42, sd 8 %, n = 60",
        lambda r: (normal(r, 60, 0.08), slow_mode(r, 60, 0.12, 1.42, 0.08)),
        seed=94,
    )
    for n in (5, 8, 20):
        yield Row(
            f"no difference, normal, n = {n}",
            lambda r, n=n: two(r, lambda r: normal(r, n, 0.03)),
            BETTER_OR_WORSE,
            options=ANY_SHIFT,
        )


def _power() -> Iterator[Row]:
    for n, ratio, sd in ((5, 1.08, 0.03), (10, 1.06, 0.05), (20, 1.04, 0.05), (30, 1.03, 0.04)):
        yield Row(
            f"shift of {100 * (ratio - 1):.0f} %, sd {100 * sd:g} %, n = {n}",
            lambda r, n=n, q=ratio, s=sd: two(r, lambda r: normal(r, n, s), q),
            BETTER_OR_WORSE,
            options=ANY_SHIFT,
            power=True,
            before=rank_sum,
            uncorrected=robust_ranks,
        )
    for n, ratio, sd in ((30, 1.0, 0.03), (30, 1.02, 0.03), (60, 1.0, 0.08)):
        yield Row(
            f"shift of {100 * (ratio - 1):.0f} % within 5 %, sd {100 * sd:g} %, n = {n}",
            lambda r, n=n, q=ratio, s=sd: two(r, lambda r: normal(r, n, s), q),
            power=True,
            before=rank_tost,
            uncorrected=both_tosts,
        )


def rates(row: Row | RunRow, repeats: int) -> list[float | None]:
    """Share of the draws of which the claim is made: now, by the earlier test, and without the
    correction for autocorrelation; None where the row does not ask."""
    random = np.random.default_rng(row.seed)
    if isinstance(row, RunRow):
        drawn = (row.case(random) for _ in range(repeats))
        found = (evaluate([one], row.options, sizes=False)[0].verdict for one in drawn)
        return [sum(verdict in row.claim for verdict in found) / repeats, None, None]
    claims = [_claims(row, *row.draw(random)) for _ in range(repeats)]
    return [
        None if each[0] is None else sum(map(bool, each)) / repeats
        for each in zip(*claims, strict=True)
    ]


def _claims(row: Row, a: np.ndarray, b: np.ndarray) -> list[bool | None]:
    drawn = case(a, b, paired=row.paired, metric=row.metric)
    verdict = evaluate([drawn], row.options, sizes=False)[0].verdict
    others = (row.before, row.uncorrected)
    return [verdict in row.claim, *(o and o(a.tolist(), b.tolist()) for o in others)]


def replays() -> Iterator[tuple[str, float]]:
    """How often the rounds that a replay asks for decide beside a package: in 4 of 5 cases
    if difference and dispersion are as measured, and they are measured with error."""
    random = np.random.default_rng(5)
    for packaged, here, sd, ratio in (
        (40, 10, 0.08, 1.0), (40, 10, 0.05, 1.01), (40, 20, 0.05, 1.15), (30, 5, 0.03, 1.1),
    ):  # fmt: skip
        decided = asked = 0
        while asked < REPLAYS:
            a, b = normal(random, packaged, sd), normal(random, here, sd) * ratio
            n = _rounds(a, b)
            if n is None or n > MOST_ROUNDS:
                continue
            asked += 1
            again = normal(random, n, sd) * ratio
            found = evaluate([case(a, again)], Options(), sizes=False)[0]
            beyond = found.beyond_p is not None and found.beyond_p <= ALPHA
            decided += found.verdict == "equivalent" or (
                beyond and found.verdict in BETTER_OR_WORSE
            )
        name = f"{packaged} packaged, {here} here, sd {100 * sd:g} %, ratio {ratio:g}"
        yield name, decided / asked


def _rounds(a: np.ndarray, b: np.ndarray) -> int | None:
    logs = [np.log(side).tolist() for side in (a, b)]
    shift = float(np.median(logs[1]) - np.median(logs[0]))
    bounds = (log1p(-0.05), log1p(0.05))
    return trials_beside(logs[0], logs[1], shift, bounds, ALPHA, least_to_see(0.1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a row does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    chosen = parser.parse_args(arguments)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        lines = [
            *_verdicts(pool, chosen.repeats, chosen.only),
            *_coverages(pool, chosen.repeats, chosen.only),
            *parts.judged(pool, chosen.repeats, chosen.only),
            *(_replays() if chosen.only in "replay" else ()),
        ]
    return int(any(line.startswith("FAILS") for line in lines))


def _verdicts(pool: ProcessPoolExecutor, repeats: int, only: str) -> Iterator[str]:
    wanted = [i for i, row in enumerate(rows()) if only in row.name]
    found = pool.map(_rate, wanted, [repeats] * len(wanted))
    for i, (share, earlier, uncorrected) in zip(wanted, found, strict=True):
        row = list(rows())[i]
        at = max(share, ALPHA)
        error = sqrt(at * (1 - at) / repeats)
        said = "equivalent" if row.claim is EQUIVALENT else "better or worse"
        was = "" if earlier is None else f", was {100 * earlier:.1f} %"
        if uncorrected is not None:
            was += f", uncorrected {100 * uncorrected:.1f} %"
        state = "power" if row.power else _state(share <= ALPHA + 2 * error, row.limit)
        rate = f"{100 * share:6.1f} % +- {100 * error:.1f}{was}"
        yield _printed(f"{state}  {said:16}{rate}  {row.name}", row.seed)


def _coverages(pool: ProcessPoolExecutor, repeats: int, only: str) -> Iterator[str]:
    wanted = [i for i, row in enumerate(coverage.rows()) if only in row.name]
    found = pool.map(_coverage, wanted, [repeats] * len(wanted))
    for i, (share, shown) in zip(wanted, found, strict=True):
        row = list(coverage.rows())[i]
        error = sqrt(ALPHA * (1 - ALPHA) / max(repeats * shown, 1))
        least, most = LEAST_COVERAGE - 2 * error, MOST_COVERAGE + 2 * error
        holds = least <= share and (share <= most or row.discrete or not shown)
        state = _state(holds, row.limit)
        rate = f"{100 * share:6.1f} % of {100 * shown:5.1f} % shown" if shown else "withheld"
        yield _printed(f"{state}  covers          {rate:25}  {row.name}", row.seed)


def _replays() -> Iterator[str]:
    for name, share in replays():
        error = sqrt(share * (1 - share) / REPLAYS)
        state = _state(share >= PROMISED, False)
        yield _printed(
            f"{state}  replay decided  {100 * share:6.1f} % +- {100 * error:.1f}  {name}", 1
        )


def _state(holds: bool, limit: bool) -> str:
    return "holds" if holds else "limit" if limit else "FAILS"


def _printed(line: str, seed: int) -> str:
    print(line + (" (held back)" if seed > 1 else ""), flush=True)
    return line


def _rate(index: int, repeats: int) -> list[float | None]:
    return rates(list(rows())[index], repeats)


def _coverage(index: int, repeats: int) -> tuple[float, float]:
    return coverage.coverage(list(coverage.rows())[index], repeats)


if __name__ == "__main__":
    raise SystemExit(main())
