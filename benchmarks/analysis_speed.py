"""Time to summarise a run of 10,000 trials, and how it grows: must be linear, budget 5 s.

.venv/bin/python benchmarks/analysis_speed.py
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.manifests import run_manifest

from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.results.documents import trial_document
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore

BUDGET_S = 5.0
SAMPLES = 20
LABELS = ("ping", "iperf3-tcp", "iperf3-udp", "httperf")
SCENARIOS = 50


def main() -> None:
    _seconds(100)  # imports scipy
    small, large = _seconds(2_500), _seconds(10_000)
    print(f"summary of  2,500 trials: {small:.2f} s")
    print(f"summary of 10,000 trials: {large:.2f} s (budget {BUDGET_S:.0f} s)")
    print(f"growth for 4 x the trials: {large / small:.1f} x (linear: 4)")


def _seconds(trials: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder) / "run")
        store.write_manifest(run_manifest("20260131-120000-speed-abc123"))
        rng = random.Random(1)
        with (store.folder / "trials.jsonl").open("w") as file:
            for number in range(trials):
                file.write(trial_document(_trial(number, rng)) + "\n")
        begin = time.perf_counter()
        SummaryAnalysis({}).analyse(store)
        return time.perf_counter() - begin


def _trial(number: int, rng: random.Random) -> TrialRecord:
    label = LABELS[number % len(LABELS)]
    scenario = number // len(LABELS) % SCENARIOS
    round_number = 1 + number // (len(LABELS) * SCENARIOS)
    samples = [
        {"metric": "rtt_us", "unit": "us", "value": rng.gauss(100, 5)} for _ in range(SAMPLES)
    ]
    return TrialRecord(
        trial_id=f"r{round_number:03d}-s{scenario:03d}-{label}",
        scenario_id=f"s{scenario:03d}",
        scenario={"chain_length": scenario},
        round=round_number,
        probe=label.partition("-")[0],
        label=label,
        status="valid",
        reasons=(),
        started_at="2026-01-31T12:00:00.000000+00:00",
        ended_at="2026-01-31T12:00:02.000000+00:00",
        samples=(*samples, {"metric": "loss_ratio", "unit": "1", "value": 0.0}),
        attempts=1,
        deployment={},
    )


if __name__ == "__main__":
    main()
