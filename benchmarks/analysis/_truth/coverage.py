"""How often the interval of a run's mean or median contains the true one, or is withheld.

Each row draws the trials of one scenario and estimates their declared centre by `estimate_of`, as
summaries do, or stops a run by `stop_reason`. The true median of a mixture is that of two million
draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import exp, inf, sqrt

import numpy as np
from _runner import Budget, Row

from _truth.claims import ALPHA, LEAST_COVERAGE, MOST_COVERAGE
from sfcperf.analysis.statistics import EventCounts, Rules, estimate_of
from sfcperf.analysis.stopping import stop_reason
from sfcperf.workflow.model import Design, StopWhen

Random = np.random.Generator
MEAN = Rules(centre="mean")
PACKETS = 1000
"""Of a trial with losses."""


@dataclass(frozen=True)
class Drawn:
    """Trials of which the truth is known."""

    values: Sequence[float]
    truth: float
    counted: EventCounts | None = None
    rules: Rules | None = None
    """Of this draw alone."""


@dataclass(frozen=True)
class CoverageRow:
    """One truth, whose interval is to contain it."""

    name: str
    draw: Callable[[Random], Drawn]
    rules: Rules = field(default_factory=Rules)
    tick: float | None = None
    seed: int = 1
    """Rows with another seed than 1 are held back."""
    limit: bool = False
    """Known not to hold."""
    discrete: bool = False
    """Values on ticks or counts of losses: an interval cannot have just the coverage that is asked,
    and has more."""


def rows() -> Iterator[CoverageRow]:
    """All of them."""
    yield from _shapes()
    yield from _modes()
    yield from (replace(row, discrete=True) for row in _resolution())
    yield from _dependence()
    yield from _stopping()


def _fixed(
    name: str, draw: Callable[[Random, int], np.ndarray], truth: float, sizes: Sequence[int],
    rules: Rules | None = None, tick: float | None = None, seed: int = 1,
) -> Iterator[CoverageRow]:  # fmt: skip
    for n in sizes:
        yield CoverageRow(
            f"{name}, n = {n}",
            lambda r, n=n: Drawn(draw(r, n).tolist(), truth),
            rules or Rules(),
            tick,
            seed,
        )


def _shapes() -> Iterator[CoverageRow]:
    yield from _fixed("median, normal", lambda r, n: r.normal(100, 2, n), 100, (3, 6, 9, 20, 50))
    yield from _fixed(
        "median, t3", lambda r, n: 100 + 2 * r.standard_t(3, n), 100, (7, 15), seed=71
    )
    yield from _fixed("median, exponential", lambda r, n: r.exponential(1, n), np.log(2), (6, 20))
    yield from _fixed("median, lognormal 80 %", lambda r, n: r.lognormal(0, 0.8, n), 1, (8, 33),
                      seed=72)  # fmt: skip
    few = Rules(centre="mean", rarest_mode=0.64)
    yield from _fixed("mean declared without modes, normal", lambda r, n: r.normal(100, 2, n), 100,
                      (3, 5, 10), few)  # fmt: skip
    yield from _fixed("mean declared without modes, lognormal 40 %",
                      lambda r, n: r.lognormal(0, 0.4, n), exp(0.08), (3, 10), few)  # fmt: skip
    yield from _fixed("mean declared without modes, gamma, sd 50 %",
                      lambda r, n: r.gamma(4, 0.25, n), 1, (4, 12), few, seed=73)  # fmt: skip
    yield from _fixed("mean, normal", lambda r, n: r.normal(100, 2, n), 100, (20, 30), MEAN)
    yield from _fixed("mean, lognormal 40 %", lambda r, n: r.lognormal(0, 0.4, n), exp(0.08),
                      (40,), MEAN, seed=74)  # fmt: skip


def _mixture(share: float, times: float, sd: float = 0.02) -> Callable[[Random, int], np.ndarray]:
    return lambda r, n: r.normal(1, sd, n) * np.where(r.random(n) < share, times, 1.0)


@cache
def _median_of(share: float, times: float) -> float:
    return float(np.median(_mixture(share, times)(np.random.default_rng(0), 2_000_000)))


def _modes() -> Iterator[CoverageRow]:
    for share, times, sizes, seed in (
        (0.1, 1.5, (3, 5, 10, 20, 30), 1), (0.05, 3.0, (5, 20), 1), (0.5, 1.5, (3,), 1),
        (0.3, 0.7, (6, 15), 75), (0.15, 4.0, (8, 40), 75),
    ):  # fmt: skip
        for centre, rules in (("median", Rules()), ("mean", MEAN)):
            mean = 1 + share * (times - 1)
            truth = mean if centre == "mean" else _median_of(share, times)
            name = f"{centre}, {100 * share:g} % of trials x{times:g}"
            yield from _fixed(name, _mixture(share, times), truth, sizes, rules, seed=seed)


def _resolution() -> Iterator[CoverageRow]:
    for true, tick, sd, sizes, seed in (
        (3.3, 1.0, 0.06, (3, 6, 20), 1), (3.3, 1.0, 0.5, (6, 20), 1), (3.3, 1.0, 2.0, (10,), 1),
        (710.0, 50.0, 20.0, (12,), 76),
    ):  # fmt: skip
        yield from _fixed(
            f"median, {true:g} on declared ticks of {tick:g}, sd {sd:g}",
            lambda r, n, m=true, t=tick, s=sd: np.round(r.normal(m, s, n) / t) * t,
            true, sizes, tick=tick, seed=seed,
        )  # fmt: skip
        yield from _fixed(
            f"median, {true:g} on unknown ticks of {tick:g}, sd {sd:g}",
            lambda r, n, m=true, t=tick, s=sd: np.round(r.normal(m, s, n) / t) * t,
            true, sizes, seed=seed,
        )  # fmt: skip
    for share, n, seed in ((1e-4, 3, 1), (1e-3, 3, 1), (1e-4, 20, 1), (5e-3, 8, 77)):
        yield CoverageRow(
            f"loss {share:g} of {PACKETS} packets, n = {n}",
            lambda r, n=n, p=share: _lossy(r, np.full(n, p), p),
            seed=seed,
        )
    for n, seed in ((3, 1), (20, 1), (9, 78)):
        yield CoverageRow(
            f"half lost in a quarter of the trials, n = {n}",
            lambda r, n=n: _lossy(r, 0.5 * (r.random(n) < 0.25), 0.0),
            seed=seed,
        )


def _lossy(random: Random, shares: np.ndarray, truth: float) -> Drawn:
    lost = random.binomial(PACKETS, shares)
    counted = EventCounts(lost.tolist(), [PACKETS] * len(lost))
    return Drawn((lost / PACKETS).tolist(), truth, counted)


def correlated(random: Random, n: int, r: float) -> np.ndarray:
    """A stationary AR(1) process with mean 0 and variance 1."""
    noise = random.standard_normal(n)
    for place in range(1, n):
        noise[place] = r * noise[place - 1] + sqrt(1 - r * r) * noise[place]
    return noise


def _dependence() -> Iterator[CoverageRow]:
    for r, sizes, seed in ((0.3, (20, 50), 1), (0.6, (10, 20, 50), 1), (0.45, (25,), 79)):
        for row in _fixed(f"median, AR(1) {r:g}", lambda random, n, r=r: 100 + 2 * correlated(
                random, n, r), 100, sizes, seed=seed):  # fmt: skip
            # Ten trials cannot show such a correlation.
            yield replace(row, limit="n = 10" in row.name)
    yield from _fixed("mean, AR(1) 0.6", lambda random, n: 100 + 2 * correlated(random, n, 0.6),
                      100, (30,), MEAN)  # fmt: skip


def _stopping() -> Iterator[CoverageRow]:
    for rounds, sd, target, drift, seed in (
        (3, 0.05, 0.05, 0, 1), (6, 0.1, 0.05, 0, 1), (6, 0.05, 0.02, 0, 1), (10, 0.08, 0.04, 0, 80),
        (6, 0.05, 0.05, 2, 1), (10, 0.02, 0.01, 2, 1), (8, 0.05, 0.03, 3, 80),
    ):  # fmt: skip
        moved = f", drift of {drift} sd over 20 rounds" if drift else ""
        yield CoverageRow(
            f"median, stopped from {rounds} rounds at {target:g}, sd {sd:g}{moved}",
            lambda r, m=rounds, s=sd, t=target, d=drift: _stopped(r, m, s, t, d),
            seed=seed,
        )


def _stopped(random: Random, rounds: int, sd: float, target: float, drift: float) -> Drawn:
    """The truth is the level during the rounds that were measured."""
    most = 20
    level = 1 + sd * drift * np.linspace(-0.5, 0.5, most)
    values = (level + sd * random.standard_normal(most)).tolist()
    design = Design(rounds, 0, "sequential", 1, 0.95, StopWhen(target, most), 0)
    done = next(
        n for n in range(rounds, most + 1) if stop_reason(design, n, {("p", "m"): values[:n]})
    )
    rules = Rules(first_look=rounds)
    return Drawn(values[:done], float(level[:done].mean()), rules=rules)


ROWS = tuple(rows())


def name_of(row: CoverageRow) -> str:
    """What is simulated."""
    return row.name


def judge(row: CoverageRow, repeats: int) -> list[Row]:
    """Share of the draws whose interval contains the truth, of those with an interval."""
    random = np.random.default_rng(row.seed)
    shown = covered = 0
    for _ in range(repeats):
        drawn = row.draw(random)
        rules = drawn.rules or row.rules
        found = estimate_of(drawn.values, rules, tick=row.tick, counted=drawn.counted).interval
        shown += found is not None
        covered += found is not None and found.low <= drawn.truth <= found.high
    error = sqrt(ALPHA * (1 - ALPHA) / max(shown, 1))
    high = MOST_COVERAGE + 2 * error if shown and not row.discrete else inf
    return [
        Row(
            f"{row.name}: covers", covered / shown if shown else 1.0, "%",
            budget=Budget(LEAST_COVERAGE - 2 * error, high),
            remarks=f"of {100 * shown / repeats:.1f} % shown" if shown else "withheld",
            tolerated="limit" if row.limit else "",
        )
    ]  # fmt: skip
