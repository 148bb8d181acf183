"""Runs in which pptmon saw something, made up: real documents through RunStore."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.values import Observation
from support.records.plans import made_up_plan
from support.records.trials import run_folder, trial


@dataclass(frozen=True)
class Seen:
    """What to make up. Means of times, us."""

    functions: Mapping[str, float] = field(default_factory=lambda: {"fw-1": 40.0, "nat-2": 65.0})
    unseen: Sequence[str] = ("forwarder-3",)
    end_to_end: float | None = 150.0
    rounds: int = 5
    samples: int = 30
    """Of each trial; of each metric."""
    captured: bool = True
    reverse: bool = False
    truncated: int = 0
    cpu_cores: Mapping[str, float] = field(default_factory=dict)
    centre: str = "mean"
    """That the design declares."""


def seen_run(folder: Path, seen: Seen | None = None, scenarios: int = 1) -> RunStore:
    """Trials of one probe whose traffic pptmon watched, analysed not yet."""
    seen = seen or Seen()
    ids = [f"s{n:03d}" for n in range(scenarios)]
    trials = [trial(r, s, "iperf3-udp") for r in range(1, seen.rounds + 1) for s in ids]
    design = {"rounds": seen.rounds, "centre": seen.centre, "rarest_mode": 0.5}
    store = run_folder(folder, trials, design=design)
    names = [*seen.functions, *seen.unseen]
    functions = [
        {"name": n, "type": n.rpartition("-")[0], "position": p} for p, n in enumerate(names, 1)
    ]
    store.write_plan(made_up_plan(ids, functions=functions))
    rng = random.Random(3)
    for number, record in enumerate(trials):
        store.write_trial_telemetry(record, list(observations(record, number, seen, rng)))
    store.merge_telemetry()
    return store


def observations(
    record: TrialRecord, number: int, seen: Seen, rng: random.Random
) -> Iterator[Observation]:
    """As the monitors pptmon and transit-time give them."""
    start = 10**18 + number * 10**10
    factor = 1 + 0.5 * int(record.scenario_id[1:])
    level = {name: mean * factor * rng.gauss(1, 0.03) for name, mean in seen.functions.items()}
    for prefix in ("", "reverse_") if seen.reverse else ("",):
        for n in range(seen.samples):
            at = start + n * 10**8
            times = {name: rng.expovariate(1 / mean) for name, mean in level.items()}
            for name, value in times.items():
                yield Observation(at, name, f"{prefix}processing_time_us", "us", value)
            whole = sum(times.values())
            yield Observation(at, "chain", f"{prefix}chain_processing_time_us", "us", whole)
            if seen.end_to_end is not None:
                value = seen.end_to_end * factor + rng.gauss(0, 5)
                yield Observation(at + 1, "chain", f"{prefix}end_to_end_us", "us", value)
        counted = f"pptmon_{prefix}"
        yield Observation(start + 9 * 10**9, "chain", f"{counted}samples", "1", seen.samples)
        yield _last(start, "chain", f"{counted}truncated_samples", seen.truncated)
        if seen.captured:
            for name, mean in level.items():
                metric = f"{prefix}captured_processing_time_mean_us"
                yield Observation(start + 9 * 10**9, name, metric, "us", mean)
    for name, cores in seen.cpu_cores.items():
        yield Observation(start, name, "cpu_cores", "1", cores)
    for name in seen.functions:
        yield _last(start, name, "pptmon_visible", 1)
    for name in seen.unseen:
        yield _last(start, name, "pptmon_visible", 0)


def _last(start: int, source: str, metric: str, value: float) -> Observation:
    return Observation(start + 9 * 10**9, source, metric, "1", value)


def telemetry(store: RunStore) -> list[dict[str, Any]]:
    """All rows."""
    import pyarrow.parquet

    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(store.telemetry_path).to_pylist()
    return rows
