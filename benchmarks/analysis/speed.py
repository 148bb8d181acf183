"""Time and memory to summarise a run of 10,000 trials, and how they grow.

.venv/bin/python benchmarks/analysis/speed.py

Each run is summarised by a process of its own, as `sfcperf report` does: its time is that of the
analysis with its imports, its memory the peak of the whole process. The best of the
repetitions counts: what else the machine has to do only ever adds.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from _shared.chain import output
from support.records.manifests import run_manifest
from support.records.trials import trial

from sfcperf.results.documents import trial_document
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore

ECHOES = 20
ROUNDS = (13, 50)
SCENARIOS = 50
LABELS = ("ping", "iperf3-tcp", "iperf3-udp", "httperf")
TRIALS = [len(LABELS) * SCENARIOS * rounds for rounds in ROUNDS]


def summary(run: Run) -> Iterator[Row]:
    """Of few trials and of many."""
    few, many = TRIALS
    with tempfile.TemporaryDirectory() as folder:
        stores = {trials: _run(Path(folder, f"{trials}"), trials) for trials in TRIALS}
        found = run.in_turn(stores, _measured)
    best = {n: [min(each) for each in zip(*readings, strict=True)] for n, readings in found.items()}
    seconds, cpu_s, mib = best[many]
    name = f"summary of {many:,} trials"
    yield Row(name, seconds, "s", f"of {few:,}", best[few][0], Budget(high=5))
    yield Row(f"{name}, CPU time", cpu_s, "s")
    yield Row(f"{name}, peak memory", mib, "MiB", budget=Budget(high=500))


def _run(folder: Path, trials: int) -> Path:
    store = RunStore.create(folder)
    store.write_manifest(run_manifest("20260131-120000-speed-abc123"))
    rng = random.Random(1)
    with (store.folder / "trials.jsonl").open("w") as file:
        for number in range(trials):
            file.write(trial_document(_trial(number, rng)) + "\n")
    return store.folder


def _measured(run_folder: Path) -> list[float]:
    """Seconds, seconds of CPU time, and MiB at the peak, of a process that summarises a run."""
    command = [sys.executable, "-c", SUMMARISE, run_folder]
    return [float(word) for word in output(command).split()]


SUMMARISE = """
import resource, sys, time
from pathlib import Path
from sfcperf.results.store import RunStore
begin = time.perf_counter()
from sfcperf.analysis.summary import SummaryAnalysis
SummaryAnalysis({}).analyse(RunStore.open(Path(sys.argv[1])))
seconds = time.perf_counter() - begin
print(seconds, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


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
    Benchmark(__doc__, {summary: 3}).main()
