"""What the noise gate does to the mean of the trials that it keeps.

A run is simulated trial by trial on a machine whose neighbour comes and goes, and is judged, rerun
and summarised by the product's own functions. The truth is the mean of the undisturbed machine.
Its bias has two parts: *selection*, by which the trials that count would differ from all trials
even on the undisturbed machine, and what disturbs them unseen. No row may have the first one; rows
marked `limit` have the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

import numpy as np
from _runner import Budget, Row
from support.records.trials import trial

from _truth.claims import LEAST_COVERAGE, MOST_COVERAGE
from sfcperf.analysis.statistics import mean_interval
from sfcperf.control.noise.machine_noise import LOAD_S, LoadReading, quiet_evidence
from sfcperf.control.progress_state import rerun_number, reruns_due
from sfcperf.results.noise_gate import outside, without_replaced
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import NoiseGate

TRUTH = 100.0
MOST_BIAS = 0.005
TICKS = round(LOAD_S * 100)
"""Of a reading under load."""
GATE = NoiseGate()


@dataclass(frozen=True)
class GateRow:
    """One kind of noise."""

    name: str
    own: float = 0.0
    """Steal while measuring that a trial one standard deviation slower than the mean adds."""
    share: float = 0.0
    """Of the time, in which the neighbour is there."""
    stay: float = 60.0
    """Of the neighbour, in trials."""
    steal: tuple[float, float] = (0.2, 0.4)
    """By the neighbour: the least and the most."""
    others: float = 0.0
    """CPU used by a neighbour that is a process of this machine."""
    sd: float = 0.08
    rounds: int = 10
    scenarios: int = 4
    promised: bool = True
    seed: int = 1
    """Rows with another seed are held back."""


ROWS = (
    GateRow("steal that slow trials cause", own=0.03),
    GateRow("steal that slow trials cause, sd 20 %", own=0.04, sd=0.2, rounds=20),
    GateRow("steal by a neighbour, 15 % of the time", share=0.15),
    GateRow("CPU used by a process, 15 % of the time", share=0.15, steal=(0, 0), others=0.4),
    GateRow("both kinds of steal", own=0.03, share=0.15),
    GateRow("steal that slow trials cause", own=0.06, sd=0.12, rounds=15, seed=71),
    GateRow("steal by a neighbour, 25 % of the time", share=0.25, stay=100, rounds=20, seed=72),
    GateRow("both kinds of steal", own=0.05, share=0.1, steal=(0.25, 0.5), sd=0.15, seed=73),
    GateRow("bursts of a fifth of a trial, unseen", share=0.15, stay=0.2, promised=False),
    GateRow("faint steal, about the limit", share=0.15, steal=(0.05, 0.1), promised=False),
)


class Machine:
    """Time passes in trials; the neighbour comes and goes by itself."""

    def __init__(self, row: GateRow, random: np.random.Generator) -> None:
        self._row, self._random = row, random
        self.there = random.random() < row.share
        self.taken = self._taken()

    def _taken(self) -> float:
        low, high = self._row.steal
        return float(self._random.uniform(low, high)) if self.there else 0.0

    def pass_by(self, trials: float) -> float:
        """Let time pass; gives the share of it in which the neighbour was there."""
        row, left, present = self._row, trials, 0.0
        while left > 0:
            away = row.stay * (1 - row.share) / row.share if row.share else np.inf
            stays = self._random.exponential(row.stay if self.there else away)
            present += min(left, stays) if self.there else 0.0
            if stays < left:
                self.there = not self.there
                self.taken = self._taken()
            left -= stays
        return present / trials if trials else 0.0

    def reading(self) -> LoadReading:
        """What the product reads under load."""
        return LoadReading(int(self._random.binomial(TICKS, self.taken)), TICKS, None)


def judge(row: GateRow, repeats: int) -> list[Row]:
    """Bias and coverage of the mean of the trials that are kept, beside those without a gate."""
    bias, coverage, kept, selection = _figures(row, repeats, _runs(row, repeats, gated=True))
    ungated = _figures(row, repeats, _runs(row, repeats, gated=False))
    error = sqrt(coverage * (1 - coverage) / repeats)
    covers = Budget(LEAST_COVERAGE - 2 * error, MOST_COVERAGE + 2 * error)
    name, little = name_of(row), Budget(-MOST_BIAS, MOST_BIAS)
    remarks = f"{100 * kept:.0f} % of the trials kept"
    limit = "" if row.promised else "limit"
    return [
        Row(f"{name}: bias", bias, "%", "no gate", ungated[0], little, remarks, tolerated=limit),
        Row(f"{name}: bias by selection", selection, "%", budget=little),
        Row(f"{name}: covers", coverage, "%", "no gate", ungated[1], covers, tolerated=limit),
    ]


def name_of(row: GateRow) -> str:
    """What is simulated."""
    return f"gate: {row.name}"


def _figures(
    row: GateRow, repeats: int, runs: list[list[TrialRecord]]
) -> tuple[float, float, float, float]:
    """Bias of the mean (a ratio), coverage of the scenarios' intervals, share of trials kept, and
    the bias that their undisturbed values have."""
    means, covered, undisturbed = [], [], []
    for records in runs:
        valid = [record for record in without_replaced(records) if record.status == "valid"]
        undisturbed += [record.samples[1]["value"] for record in valid]
        for scenario in range(row.scenarios):
            values = [r.samples[0]["value"] for r in valid if r.scenario_id == f"s{scenario}"]
            interval = mean_interval(values, 0.95)
            if interval is not None:
                means.append(sum(values) / len(values))
                covered.append(interval.low <= TRUTH <= interval.high)
    planned = repeats * row.rounds * row.scenarios
    return (
        float(np.mean(means)) / TRUTH - 1,
        float(np.mean(covered)),
        len(undisturbed) / planned,
        float(np.mean(undisturbed)) / TRUTH - 1,
    )


def _runs(row: GateRow, repeats: int, gated: bool) -> list[list[TrialRecord]]:
    random = np.random.default_rng(row.seed)
    return [_run(row, random, gated) for _ in range(repeats)]


def _run(row: GateRow, random: np.random.Generator, gated: bool) -> list[TrialRecord]:
    machine, records = Machine(row, random), []
    planned = row.rounds * row.scenarios
    for number in range(1, row.rounds + 1):
        for scenario in random.permutation(row.scenarios):
            trial_id = f"r{number}-s{scenario}"
            records.append(_trial(row, machine, random, gated, trial_id, ""))
        while wanted := reruns_due(records, number, GATE, planned) if gated else []:
            turn = max(rerun_number(record.trial_id) for record in wanted)
            machine.pass_by(GATE.settle_s * 2**turn / 2)  # of trials of two seconds
            for record in wanted:
                again = rerun_number(record.trial_id) + 1
                name = f"r{number}.{again}-{record.scenario_id}"
                records.append(_trial(row, machine, random, gated, name, record.trial_id))
    return records


def _trial(
    row: GateRow, machine: Machine, random: np.random.Generator, gated: bool, name: str, of: str
) -> TrialRecord:
    before, taken = machine.reading(), machine.taken
    present = machine.pass_by(1.0)
    taken = max(taken, machine.taken) * present
    z = float(random.standard_normal())
    spread = sqrt(np.log1p(row.sd**2))
    own = TRUTH * exp(spread * z - spread**2 / 2)
    lost = taken + row.others * present / 2
    evidence: dict[str, Any] = {
        **quiet_evidence([before, machine.reading()]),
        "steal_ratio": max(0.0, taken + (0.04 + row.own * z if row.own else 0.0)),
        "other_cpu_ratio": row.others * present,
    }
    reasons = outside(evidence, GATE) if gated else ()
    return trial(
        int(name[1:].partition("-")[0].partition(".")[0]),
        name.partition("-")[2],
        trial_id=name,
        scenario={},
        status="untrusted" if reasons else "valid",
        reasons=reasons,
        samples=tuple(
            {"metric": metric, "unit": "us", "value": value}
            for metric, value in (("rtt_us", own / (1 - lost)), ("undisturbed_rtt_us", own))
        ),
        rerun_of=of,
    )
