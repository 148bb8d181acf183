"""What is said of whole documents: reproduced or not, trustworthy, refused.

Each row draws the trials of a run, or of a package and its replay, and asks the product's own
functions. A row holds if the claim is made in at most alpha of the draws, and two standard errors;
a row of power says how often it is made where it is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from math import sqrt
from typing import Any, cast

import numpy as np
from _runner import Budget, Row
from support.records.comparisons import RTT, case
from support.records.manifests import run_manifest
from support.records.trials import trial

from _truth.claims import ALPHA, Random, normal
from sfcperf.analysis.comparison import Comparison, Options, SideFacts
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.planned import planned_measurements
from sfcperf.analysis.summary import summarise
from sfcperf.counts import count_text
from sfcperf.errors import InputError
from sfcperf.package.judge import judge as judged_replay
from sfcperf.report.verdict import verdict_of
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore

Sides = tuple[np.ndarray, np.ndarray]
STARTED = datetime(2026, 1, 31, 12, tzinfo=UTC)
SIDE = SideFacts("side", "side", None, "simulated", STARTED.isoformat(), "complete", {})


@dataclass(frozen=True)
class EvaluationRow:
    """One truth, and what must not be said of it (or, for power, what should be)."""

    name: str
    word: str
    is_said: Callable[[Random], bool]
    power: bool = False
    seed: int = 1
    """Rows with another seed are held back."""


def name_of(row: EvaluationRow) -> str:
    """What is simulated."""
    return row.name


def judge(row: EvaluationRow, repeats: int) -> list[Row]:
    """How often it is said."""
    random = np.random.default_rng(row.seed)
    share = sum(row.is_said(random) for _ in range(repeats)) / repeats
    at = max(share, ALPHA)
    error = sqrt(at * (1 - at) / repeats)
    budget = None if row.power else Budget(high=ALPHA + 2 * error)
    name, remarks = f"{row.name}: {row.word}", f"+- {100 * error:.1f}"
    return [Row(name, share, "%", budget=budget, remarks=remarks)]


def _outcomes(sides: Sequence[Sides]) -> list[str]:
    """Of a package and its replay with a row per pair of sides."""
    options = Options()
    rows = evaluate([case(a, b) for a, b in sides], options, sizes=False)
    found = judged_replay(Comparison(SIDE, (SIDE,), options, tuple(rows), (), (), ()))
    return [evaluation.outcome for evaluation in found.evaluations]


def _spoilt(random: Random, n: int, parts: Sequence[tuple[int, float]]) -> list[Sides]:
    """A row per part: of n trials, so many are so many times larger in the replay."""
    sides = []
    for count, times in parts:
        here = normal(random, n, 0.02)
        here[random.permutation(n)[:count]] *= times
        sides.append((normal(random, n, 0.02), here))
    return sides


def _shifted(random: Random, n: int, rows: int, ratio: float) -> list[Sides]:
    return [(normal(random, n, 0.03), normal(random, n, 0.03) * ratio) for _ in range(rows)]


def _replays() -> Iterator[EvaluationRow]:
    for n, seed in ((10, 1), (20, 1), (30, 1), (60, 1), (45, 61)):
        yield EvaluationRow(
            f"replay: every tenth trial x1.5, n = {n}",
            "reproduced",
            lambda r, n=n: "reproduced" in _outcomes(_spoilt(r, n, [(max(1, n // 10), 1.5)])),
            seed=seed,
        )
    yield EvaluationRow(
        "replay: RTT x10 in 2 of 20 rounds, rate at a third in every fifth",
        "reproduced",
        lambda r: "reproduced" in _outcomes(_spoilt(r, 20, [(2, 10), (4, 1 / 3)])),
    )
    for n, rows, ratio, seed in ((40, 1, 1.05, 1), (40, 12, 1.05, 1), (60, 6, 0.95, 62)):
        what = f"{count_text(rows, 'metric')} off by the margin ({ratio:g}), n = {n}"
        for word in ("reproduced", "not reproduced"):
            yield EvaluationRow(
                f"replay: {what}, any",
                word,
                lambda r, n=n, k=rows, q=ratio, w=word: w in _outcomes(_shifted(r, n, k, q)),
                seed=seed,
            )
    yield EvaluationRow(
        "replay: no difference of 4 metrics, all, n = 40",
        "reproduced",
        lambda r: set(_outcomes(_shifted(r, 40, 4, 1.0))) == {"reproduced"},
        power=True,
    )
    yield EvaluationRow(
        "replay: 4 metrics 10 % slower, all, n = 40",
        "not reproduced",
        lambda r: set(_outcomes(_shifted(r, 40, 4, 1.1))) == {"not reproduced"},
        power=True,
    )


@dataclass(frozen=True)
class _Run:
    """What summaries need of a run folder."""

    trials: Sequence[TrialRecord]
    design: dict[str, Any]

    def manifest(self) -> dict[str, Any]:
        """As of a run with one probe."""
        manifest = run_manifest("simulated")
        return manifest | {
            "design": manifest["design"] | self.design,
            "scenarios": [{"id": "s000", "levels": {"chain_length": 0}}],
            "probes": [
                {
                    "label": "ping",
                    "probe": "ping",
                    "scenarios": ["s000"],
                    "metrics": [asdict(replace(RTT, tick=0.001))],
                }
            ],
        }

    def summaries(self) -> list[Summary]:
        """Its rows."""
        measurements = planned_measurements(self.manifest(), self.trials)
        return summarise(cast(RunStore, self), measurements)


def _run(values: Sequence[float], units: Sequence[str] = (), **design: Any) -> _Run:
    trials = [
        trial(
            number,
            values=[value],
            unit=units[number - 1] if units else "us",
            started_at=(STARTED + timedelta(minutes=number)).isoformat(),
            deployment={"traversal": {"proven": True}},
        )
        for number, value in enumerate(values, 1)
    ]
    return _Run(trials, {"rounds": len(trials), **design})


def _slow_mode(random: Random, n: int) -> list[float]:
    return cast(
        list[float],
        (normal(random, n, 0.02) * np.where(random.random(n) < 0.1, 1.5, 1.0)).tolist(),
    )


def _is_trustworthy(run: _Run) -> bool:
    return verdict_of(run.manifest(), run.trials, run.summaries()).level == "trustworthy"


def _is_trusted_and_wrong(random: Random, n: int, centre: str, truth: float) -> bool:
    """Whether a run is called trustworthy whose interval misses the truth."""
    run = _run(_slow_mode(random, n), centre=centre)
    row = run.summaries()[0].estimate()
    if row.low is None or row.high is None or row.low <= truth <= row.high:
        return False
    return _is_trustworthy(run)


def _median_of_slow_mode() -> float:
    return float(np.median(_slow_mode(np.random.default_rng(0), 1_000_000)))


def _trust() -> Iterator[EvaluationRow]:
    for centre in ("median", "mean"):
        yield EvaluationRow(
            f"trust: 10 % of trials x1.5, the {centre} is declared, n = 5",
            "trustworthy",
            lambda r, c=centre: _is_trustworthy(_run(_slow_mode(r, 5), centre=c)),
        )
        truth = 105.0 if centre == "mean" else _median_of_slow_mode()
        for n, seed in ((6, 1), (10, 1), (20, 1), (30, 1), (14, 63), (40, 63)):
            yield EvaluationRow(
                f"trust: 10 % of trials x1.5, the {centre} is declared, n = {n}",
                "trustworthy, and wrong",
                lambda r, n=n, c=centre, t=truth: _is_trusted_and_wrong(r, n, c, t),
                seed=seed,
            )
    yield EvaluationRow(
        "trust: normal trials, n = 10",
        "trustworthy",
        lambda r: _is_trustworthy(_run(normal(r, 10, 0.02).tolist())),
        power=True,
    )


def _is_accepted(random: Random) -> bool:
    """Whether samples of which one is in another unit have a row."""
    values = normal(random, 8, 0.02).tolist()
    values[3] /= 1000
    try:
        return bool(_run(values, ["us", "us", "us", "ms", "us", "us", "us", "us"]).summaries())
    except InputError:
        return False


ROWS = (
    *_replays(),
    *_trust(),
    EvaluationRow("units: one sample in ms among others in us", "accepted", _is_accepted),
)
