"""What verdicts of `sfcperf compare` claim of trials of a known truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log1p, sqrt

import numpy as np
from _runner import Budget, Row
from support.records.comparisons import RTT, case

from _truth import coverage
from _truth.claims import ALPHA, ANY_SHIFT, BETTER_OR_WORSE, EQUIVALENT, Random, normal
from _truth.runs import RunRow, run_rows
from sfcperf.analysis.comparison import Options
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.two_sample.combined import RobustRanks
from sfcperf.analysis.two_sample.means import MeanRatio
from sfcperf.analysis.two_sample.ranks import RankSum
from sfcperf.results.values import Metric

Sides = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class VerdictRow:
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
    wilcoxon: Callable[[Sequence[float], Sequence[float]], bool] | None = None
    """Whether Wilcoxon's test alone makes the claim."""
    uncorrected: Callable[[Sequence[float], Sequence[float]], bool] | None = None
    """Whether the tests make the claim without the correction for autocorrelation."""


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
    """Wilcoxon's test of a difference alone."""
    return RankSum(a, b).p <= ALPHA


def rank_tost(a: Sequence[float], b: Sequence[float]) -> bool:
    """Wilcoxon's test of equivalence alone, of the shift of logarithms."""
    found = RankSum(np.log(a), np.log(b)).tost_p(log1p(-0.05), log1p(0.05))
    return found is not None and found <= ALPHA


def robust_ranks(a: Sequence[float], b: Sequence[float]) -> bool:
    """The tests of a difference, for independent trials."""
    p = RobustRanks(np.log(a), np.log(b)).p
    return p is not None and p <= ALPHA


def both_tosts(a: Sequence[float], b: Sequence[float]) -> bool:
    """The tests of equivalence, for independent trials: of the shift and of the means."""
    logs = RobustRanks(np.log(a), np.log(b)).tost_p(log1p(-0.05), log1p(0.05))
    means = MeanRatio(a, b).tost_p(log1p(-0.05), log1p(0.05))
    return logs is not None and means is not None and max(logs, means) <= ALPHA


def rows() -> Iterator[VerdictRow | RunRow]:
    """All of them."""
    yield from _shapes()
    yield from _resolution()
    yield from _null()
    yield from _power()
    yield from run_rows()


def _shapes() -> Iterator[VerdictRow]:
    for n, share, times, seed in (
        (10, 0.1, 10, 1), (20, 0.1, 10, 1), (30, 0.1, 10, 1), (10, 0.1, 1.5, 1), (30, 0.1, 1.5, 1),
        (15, 0.15, 5, 91), (40, 0.12, 1.6, 91),
    ):  # fmt: skip
        yield VerdictRow(
            f"{100 * share:g} % of trials x{times:g}, n = {n}",
            lambda r, n=n, s=share, t=times: (normal(r, n, 0.02), slow_mode(r, n, s, t)),
            seed=seed,
        )
    for n, count, times, seed in ((20, 2, 10, 1), (20, 4, 1 / 3, 1), (10, 1, 1.5, 1),
                                  (30, 3, 1.5, 1), (50, 5, 1.5, 92), (36, 6, 0.6, 92)):  # fmt: skip
        yield VerdictRow(
            f"{count} of {n} trials x{times:.2g}",
            lambda r, n=n, c=count, t=times: (normal(r, n, 0.02), planted(r, n, c, t)),
            seed=seed,
        )
    for n, ratio, seed in ((30, 1.05, 1), (30, 0.95, 1), (60, 1.05, 93)):
        yield VerdictRow(
            f"shift by the margin ({ratio:g}), n = {n}",
            lambda r, n=n, q=ratio: two(r, lambda r: normal(r, n, 0.03), q),
            seed=seed,
        )
        yield VerdictRow(
            f"lognormal, sd 30 %, shift by the margin ({ratio:g}), n = {n}",
            lambda r, n=n, q=ratio: two(r, lambda r: 100 * r.lognormal(0, 0.3, n), q),
            seed=seed,
        )


def _resolution() -> Iterator[VerdictRow]:
    for n, a, b, tick, sd, seed in (
        (5, 3.0, 3.3, 1.0, 0.02, 1), (20, 3.0, 3.3, 1.0, 0.02, 1), (40, 3.0, 3.3, 1.0, 0.05, 1),
        (40, 250, 275, 100.0, 0.02, 1), (40, 250, 275, 100.0, 0.1, 1),
        (33, 710, 770, 50.0, 0.03, 94),
    ):  # fmt: skip
        yield VerdictRow(
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
        yield VerdictRow(
            f"loss 0 against half in {k} of {n} trials",
            lambda r, n=n, k=k: (np.zeros(n), 0.5 * (r.permutation(n) < k)),
            options=margin,
            metric=loss,
        )
    yield VerdictRow(
        "loss 0 against half in 5 of 20 trials",
        lambda r: (np.zeros(20), 0.5 * (r.permutation(20) < 5)),
        frozenset({"worse"}),
        options=margin,
        metric=loss,
        power=True,
    )


def _null() -> Iterator[VerdictRow]:
    for n, m, sd_a, sd_b, seed in (
        (20, 5, 0.02, 0.1, 1), (5, 5, 0.02, 0.1, 1), (10, 10, 0.02, 0.1, 1), (20, 20, 0.02, 0.1, 1),
        (30, 10, 0.02, 0.06, 1), (25, 6, 0.03, 0.12, 95), (12, 9, 0.01, 0.05, 95),
    ):  # fmt: skip
        yield VerdictRow(
            f"no difference, sd {100 * sd_a:g} and {100 * sd_b:g} %, n = {n} and {m}",
            lambda r, n=n, m=m, s=sd_a, t=sd_b: (normal(r, n, s), normal(r, m, t)),
            BETTER_OR_WORSE,
            options=ANY_SHIFT,
            wilcoxon=rank_sum,
            seed=seed,
        )
    for n, r1, seed in (
        (20, 0.6, 1), (30, 0.6, 1), (20, 0.3, 1), (10, 0.6, 1), (20, 0.15, 1), (25, 0.5, 96),
    ):  # fmt: skip
        yield VerdictRow(
            f"no difference, AR(1) {r1:g}, n = {n}",
            lambda r, n=n, c=r1: two(r, lambda r: correlated(r, n, c)),
            BETTER_OR_WORSE,
            options=ANY_SHIFT,
            wilcoxon=rank_sum,
            seed=seed,
            limit=n == 10 or r1 == 0.15,  # so few trials, or so weak a correlation, do not show it
        )
    yield VerdictRow(
        "12 % of trials x1.42, sd 8 %, n = 60",
        lambda r: (normal(r, 60, 0.08), slow_mode(r, 60, 0.12, 1.42, 0.08)),
        seed=94,
    )
    for n in (5, 8, 20):
        yield VerdictRow(
            f"no difference, normal, n = {n}",
            lambda r, n=n: two(r, lambda r: normal(r, n, 0.03)),
            BETTER_OR_WORSE,
            options=ANY_SHIFT,
        )


def _power() -> Iterator[VerdictRow]:
    for n, ratio, sd in ((5, 1.08, 0.03), (10, 1.06, 0.05), (20, 1.04, 0.05), (30, 1.03, 0.04)):
        yield VerdictRow(
            f"shift of {100 * (ratio - 1):.0f} %, sd {100 * sd:g} %, n = {n}",
            lambda r, n=n, q=ratio, s=sd: two(r, lambda r: normal(r, n, s), q),
            BETTER_OR_WORSE,
            options=ANY_SHIFT,
            power=True,
            wilcoxon=rank_sum,
            uncorrected=robust_ranks,
        )
    for n, ratio, sd in ((30, 1.0, 0.03), (30, 1.02, 0.03), (60, 1.0, 0.08)):
        yield VerdictRow(
            f"shift of {100 * (ratio - 1):.0f} % within 5 %, sd {100 * sd:g} %, n = {n}",
            lambda r, n=n, q=ratio, s=sd: two(r, lambda r: normal(r, n, s), q),
            power=True,
            wilcoxon=rank_tost,
            uncorrected=both_tosts,
        )


ROWS = tuple(rows())


def name_of(row: VerdictRow | RunRow) -> str:
    """What is simulated."""
    return row.name


def judge(row: VerdictRow | RunRow, repeats: int) -> list[Row]:
    """Share of the draws of which the claim is made."""
    random = np.random.default_rng(row.seed)
    claims = [_claims(row, random) for _ in range(repeats)]
    share, wilcoxon, uncorrected = (
        None if made[0] is None else sum(map(bool, made)) / repeats
        for made in zip(*claims, strict=True)
    )
    assert share is not None
    at = max(share, ALPHA)
    error = sqrt(at * (1 - at) / repeats)
    remarks = f"+- {100 * error:.1f}"
    remarks += "" if uncorrected is None else f", uncorrected {100 * uncorrected:.1f} %"
    said = "equivalent" if row.claim is EQUIVALENT else "better or worse"
    return [
        Row(
            f"{row.name}: {said}", share, "%",
            "" if wilcoxon is None else "Wilcoxon alone", () if wilcoxon is None else wilcoxon,
            None if row.power else Budget(high=ALPHA + 2 * error), remarks,
            tolerated="limit" if row.limit else "",
        )
    ]  # fmt: skip


def _claims(row: VerdictRow | RunRow, random: Random) -> list[bool | None]:
    """Whether it is made, by Wilcoxon's test alone, and without the correction; None where the row
    does not ask."""
    if isinstance(row, RunRow):
        verdict = evaluate([row.case(random)], row.options, sizes=False)[0].verdict
        return [verdict in row.claim, None, None]
    a, b = row.draw(random)
    drawn = case(a, b, paired=row.paired, metric=row.metric)
    verdict = evaluate([drawn], row.options, sizes=False)[0].verdict
    others = (row.wilcoxon, row.uncorrected)
    return [verdict in row.claim, *(o and o(a.tolist(), b.tolist()) for o in others)]
