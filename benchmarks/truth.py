"""What SFCPerf claims against what is true: verdicts, simulated through the product's functions.

.venv/bin/python benchmarks/truth.py [--repeats N] [--only WORD]

Each row draws trials of a known truth, lets SFCPerf judge them, and counts the false claims. A row
holds if its rate is at most alpha and two standard errors of the simulation. Rows of power count
true claims. `was` is the share by the test that decided alone in earlier versions. Rows marked
`held back` were not looked at while the methods were chosen. Exit status 1 if a row does not hold.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from math import log1p, sqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from support.records.comparisons import RTT, case, kept_floor, runs_case

from sfcperf.analysis.comparison import Options
from sfcperf.analysis.comparison.case import Case
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.statistics import least_to_see
from sfcperf.analysis.two_sample import trials_beside
from sfcperf.analysis.two_sample.ranks import RankSum
from sfcperf.results.values import Metric

ALPHA = 0.05
REPLAYS = 150
MOST_ROUNDS = 2000
PROMISED = 0.7
"""Less than 4 of 5, by the error of the few trials that the number is computed from."""
Random = np.random.Generator
Sides = tuple[np.ndarray, np.ndarray]
BETTER_OR_WORSE = frozenset({"better", "worse", "different"})
ANY_SHIFT = Options(margin=1e-4)
"""A difference within the margin is not called better or worse: here all are to be."""
EQUIVALENT = frozenset({"equivalent"})
MARGIN = Options()


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
    before: Callable[[Sequence[float], Sequence[float]], bool] | None = None
    """Whether the test of earlier versions made the claim."""


@dataclass(frozen=True)
class RunRow:
    """The same of several runs per side, or of one run per side beside the A/A runs of a noise
    floor. Has what `main` needs of a Row."""

    name: str
    runs: tuple[int, int]
    rounds: int
    claim: frozenset[str] = BETTER_OR_WORSE
    ratio: float = 1.0
    between: tuple[float, float] = (0.02, 0.02)
    """Relative dispersion of the runs of either side."""
    within: float = 0.02
    floor: int = 0
    """A/A runs that are known beforehand."""
    modes: bool = False
    """Runs land in one of two places, of which one is a tenth slower."""
    paired: bool = False
    """Both sides are variants of the same runs."""
    options: Options = field(default_factory=lambda: ANY_SHIFT)
    power: bool = False
    seed: int = 1

    def case(self, random: Random) -> Case:
        """Of this truth."""
        states = [
            _states(random, n, sd, self.modes)
            for n, sd in zip(self.runs, self.between, strict=True)
        ]
        if self.paired:
            states[1] = states[0] * _states(random, self.runs[1], self.between[1], modes=False)
        a = _runs(random, states[0], self)
        b = _runs(random, states[1] * self.ratio, self)
        if not self.floor:
            return runs_case(a, b, paired=self.paired)
        known = _runs(random, _states(random, self.floor, self.between[0], self.modes), self)
        return replace(case(a[0], b[0]), floor=kept_floor(known))


def _states(random: Random, n: int, sd: float, modes: bool) -> np.ndarray:
    slow = np.where(random.random(n) < 0.5, 1.1, 1.0) if modes else 1.0
    return slow * (1 + sd * random.standard_normal(n))


def _runs(random: Random, states: np.ndarray, row: RunRow) -> list[np.ndarray]:
    return [normal(random, row.rounds, row.within, 100.0 * state) for state in states]


def normal(random: Random, n: int, sd: float, mean: float = 100.0) -> np.ndarray:
    """Trials with a relative dispersion."""
    return mean * (1 + sd * random.standard_normal(n))


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
    noise = random.standard_normal(n)
    state = noise.copy()
    for place in range(1, n):
        state[place] = r * state[place - 1] + sqrt(1 - r * r) * noise[place]
    return 100 * (1 + sd * state)


def two(random: Random, make: Callable[[Random], np.ndarray], ratio: float = 1.0) -> Sides:
    """Both sides of one kind, the second one shifted."""
    return make(random), make(random) * ratio


def rank_sum(a: Sequence[float], b: Sequence[float]) -> bool:
    """Wilcoxon's test alone, the only condition for better and worse in earlier versions."""
    return RankSum(a, b).p <= ALPHA


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
    for n, r1, seed in ((20, 0.6, 1), (30, 0.6, 1), (20, 0.3, 1), (10, 0.6, 1), (25, 0.5, 96)):
        yield Row(
            f"no difference, AR(1) {r1:g}, n = {n}",
            lambda r, n=n, c=r1: two(r, lambda r: correlated(r, n, c)),
            BETTER_OR_WORSE,
            options=ANY_SHIFT,
            before=rank_sum,
            seed=seed,
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
        )
    for n, ratio, sd in ((30, 1.0, 0.03), (30, 1.02, 0.03), (60, 1.0, 0.08)):
        yield Row(
            f"shift of {100 * (ratio - 1):.0f} % within 5 %, sd {100 * sd:g} %, n = {n}",
            lambda r, n=n, q=ratio, s=sd: two(r, lambda r: normal(r, n, s), q),
            power=True,
            before=rank_tost,
        )


def run_rows() -> Iterator[RunRow]:
    """Rows in which runs differ."""
    null = "no difference, runs sd 2 %, trials 2 %"
    for k, rounds in ((3, 5), (5, 5), (8, 5), (3, 20), (5, 20), (8, 20)):
        runs = f"{k} runs of {rounds}"
        yield RunRow(f"runs: {null}, {runs}", (k, k), rounds)
        yield RunRow(
            f"runs: shift by the margin, {runs}",
            (k, k), rounds, EQUIVALENT, 1.05, options=MARGIN,
        )  # fmt: skip
        yield RunRow(f"runs: shift of 10 %, {runs}", (k, k), rounds, ratio=1.1, power=True)
    for a, b, sd_a, sd_b, seed in (
        (2, 2, 0.02, 0.02, 1), (2, 5, 0.02, 0.02, 1), (3, 8, 0.02, 0.02, 1), (5, 5, 0.01, 0.04, 1),
        (3, 8, 0.04, 0.01, 1), (8, 3, 0.04, 0.01, 1), (1, 5, 0.02, 0.02, 1),
        (4, 4, 0.03, 0.03, 97), (2, 6, 0.03, 0.01, 97), (4, 9, 0.05, 0.02, 97),
        (1, 7, 0.03, 0.03, 97),
    ):  # fmt: skip
        name = f"{a} and {b} runs of 10, runs sd {100 * sd_a:g} and {100 * sd_b:g} %"
        between = (sd_a, sd_b)
        yield RunRow(f"runs: no difference, {name}", (a, b), 10, between=between, seed=seed)
        yield RunRow(
            f"runs: shift by the margin, {name}",
            (a, b), 10, EQUIVALENT, 1.05, between, options=MARGIN, seed=seed,
        )  # fmt: skip
    for k, within, seed in ((3, 0.02, 1), (6, 0.1, 98)):
        yield RunRow(
            f"runs: no difference, places that differ by 10 %, {k} runs of 10",
            (k, k), 10, between=(0.005, 0.005), within=within, modes=True, seed=seed,
        )  # fmt: skip
    for k, seed in ((3, 1), (6, 98)):
        name = f"variants of {k} runs of 10, runs sd 2 %, and 1 % between variants"
        yield RunRow(
            f"runs: no difference, {name}",
            (k, k), 10, between=(0.02, 0.01), paired=True, seed=seed,
        )  # fmt: skip
    yield RunRow(
        "runs: shift of 0 % within 5 %, runs sd 1 %, 8 runs of 5",
        (8, 8), 5, EQUIVALENT, between=(0.01, 0.01), options=MARGIN, power=True,
    )  # fmt: skip
    yield from _floor_rows()


def _floor_rows() -> Iterator[RunRow]:
    for known, rounds, sd, seed in (
        (3, 10, 0.02, 1), (5, 10, 0.02, 1), (10, 20, 0.02, 1), (10, 5, 0.02, 1),
        (4, 12, 0.05, 99), (8, 30, 0.01, 99),
    ):  # fmt: skip
        name = f"runs sd {100 * sd:g} %, 1 and 1 run of {rounds}, {known} A/A runs"
        between = (sd, sd)
        yield RunRow(
            f"floor: no difference, {name}", (1, 1), rounds, between=between, floor=known, seed=seed
        )
        yield RunRow(
            f"floor: shift by the margin, {name}",
            (1, 1), max(rounds, 30), EQUIVALENT, 1.05, between, floor=known, options=MARGIN,
            seed=seed,
        )  # fmt: skip
    yield RunRow(
        "floor: shift of 10 %, runs sd 2 %, 1 and 1 run of 10, 10 A/A runs",
        (1, 1), 10, ratio=1.1, floor=10, power=True,
    )  # fmt: skip
    for rounds in (10, 20, 40):
        yield RunRow(
            f"no floor: no difference, runs sd 2 %, 1 and 1 run of {rounds} (what floors are for)",
            (1, 1), rounds, power=True,
        )  # fmt: skip


def rates(row: Row | RunRow, repeats: int) -> tuple[float, float | None]:
    """Share of the draws of which the claim is made, now and by the earlier test."""
    random = np.random.default_rng(row.seed)
    if isinstance(row, RunRow):
        drawn = (row.case(random) for _ in range(repeats))
        found = (evaluate([one], row.options, sizes=False)[0].verdict for one in drawn)
        return sum(verdict in row.claim for verdict in found) / repeats, None
    now = earlier = 0
    for _ in range(repeats):
        a, b = row.draw(random)
        drawn = case(a, b, paired=row.paired, metric=row.metric)
        now += evaluate([drawn], row.options, sizes=False)[0].verdict in row.claim
        earlier += row.before is not None and row.before(a.tolist(), b.tolist())
    return now / repeats, earlier / repeats if row.before else None


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
    wanted = [i for i, row in enumerate(rows()) if chosen.only in row.name]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(_rate, wanted, [chosen.repeats] * len(wanted)))
    failed = 0
    for i, (share, earlier) in zip(wanted, found, strict=True):
        row = list(rows())[i]
        at = max(share, ALPHA)
        error = sqrt(at * (1 - at) / chosen.repeats)
        said = "equivalent" if row.claim is EQUIVALENT else "better or worse"
        held = " (held back)" if row.seed > 1 else ""
        holds = row.power or share <= ALPHA + 2 * error
        failed += not holds
        was = "" if earlier is None else f", was {100 * earlier:.1f} %"
        judged = "power" if row.power else "holds" if holds else "FAILS"
        print(
            f"{judged}  {said:16}{100 * share:6.1f} % +- {100 * error:.1f}{was}  {row.name}{held}"
        )
    for name, share in replays() if chosen.only in "replay" else ():
        holds = share >= PROMISED
        failed += not holds
        print(
            f"{'holds' if holds else 'FAILS'}  replay decided  {100 * share:6.1f} % +- "
            f"{100 * sqrt(share * (1 - share) / REPLAYS):.1f}  {name}"
        )
    return int(failed > 0)


def _rate(index: int, repeats: int) -> tuple[float, float | None]:
    return rates(list(rows())[index], repeats)


if __name__ == "__main__":
    raise SystemExit(main())
