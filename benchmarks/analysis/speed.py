"""Time and memory to summarise a run of 10,000 trials, and how they grow.

.venv/bin/python benchmarks/analysis/speed.py

Each run is summarised by a process of its own, as `sfcperf report` does: its time is that of the
analysis with its imports, its memory the peak of the whole process. The best of three counts: what
else the machine has to do only ever adds.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.records.manifests import run_manifest
from support.records.trials import trial

from sfcperf.results.documents import trial_document
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore

BUDGET_S = 5.0
BUDGET_MIB = 500.0
REPETITIONS = 3
ECHOES = 20
ROUNDS = (13, 50)
SCENARIOS = 50
LABELS = ("ping", "iperf3-tcp", "iperf3-udp", "httperf")
TRIALS = [len(LABELS) * SCENARIOS * rounds for rounds in ROUNDS]


def main() -> None:
    """Print figures beside their budgets; exit status 1 when one is exceeded."""
    (small_s, _, _), (large_s, large_cpu_s, large_mib) = (_measured(trials) for trials in TRIALS)
    few, many = TRIALS
    print(f"summary of {few:6,} trials: {small_s:.2f} s")
    print(f"summary of {many:6,} trials: {large_s:.2f} s (budget {BUDGET_S:.0f} s)")
    print(f"                    CPU time: {large_cpu_s:.2f} s")
    print(f"                 peak memory: {large_mib:.0f} MiB (budget {BUDGET_MIB:.0f} MiB)")
    print(f"growth for {many / few:.1f} x the trials: {large_s / small_s:.1f} x the time")
    if large_s > BUDGET_S or large_mib > BUDGET_MIB:
        sys.exit("over budget")


def _measured(trials: int) -> tuple[float, float, float]:
    """Seconds, seconds of CPU time, and MiB at the peak, of a process that summarises so many
    trials."""
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder) / "run")
        store.write_manifest(run_manifest("20260131-120000-speed-abc123"))
        rng = random.Random(1)
        with (store.folder / "trials.jsonl").open("w") as file:
            for number in range(trials):
                file.write(trial_document(_trial(number, rng)) + "\n")
        command = [sys.executable, __file__, str(store.folder)]
        told = [
            json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            for _ in range(REPETITIONS)
        ]
    seconds, cpu_s, mib = (min(one) for one in zip(*told, strict=True))
    return seconds, cpu_s, mib


def _summarise(folder: Path) -> None:
    """What the process does."""
    begin = time.perf_counter()
    from sfcperf.analysis.summary import SummaryAnalysis

    SummaryAnalysis({}).analyse(RunStore.open(folder))
    seconds = time.perf_counter() - begin
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([seconds, time.process_time(), mib]))


def _trial(number: int, rng: random.Random) -> TrialRecord:
    label = LABELS[number % len(LABELS)]
    scenario = number // len(LABELS) % SCENARIOS
    round_number = 1 + number // (len(LABELS) * SCENARIOS)
    level = rng.gauss(100 + scenario, 5)
    echoes = [rng.gauss(level, 5) for _ in range(ECHOES)]
    values = {
        "rtt_us": sum(echoes) / ECHOES,
        "rtt_min_us": min(echoes),
        "rtt_max_us": rng.expovariate(1 / level),
        "jitter_us": rng.lognormvariate(1, 0.5),
        "loss_ratio": 0.0,
    }
    minute, second = divmod(number, 60)
    hour, minute = divmod(minute, 60)
    return trial(
        round_number,
        f"s{scenario:03d}",
        label,
        probe=label.partition("-")[0],
        started_at=f"2026-01-31T{hour:02d}:{minute:02d}:{second:02d}.000000+00:00",
        ended_at=f"2026-01-31T{hour:02d}:{minute:02d}:{second:02d}.900000+00:00",
        samples=tuple(
            {"metric": name, "unit": "us" if name.endswith("us") else "1", "value": value}
            for name, value in values.items()
        ),
        duration_s=0.9,
        series={"rtt_us": echoes},
    )


if __name__ == "__main__":
    _summarise(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
