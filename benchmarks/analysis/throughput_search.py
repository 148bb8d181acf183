"""How often the bounds of a search contain the true throughput, and how long it takes.

.venv/bin/python benchmarks/analysis/throughput_search.py

Simulated with fixed seeds; the figures are those of docs/explanation/throughput.md. Loads: median.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Row, Run
from support.simulated_system import Simulation, System

from sfcperf.active.ndr.throughput_search import Settings, search

WIDTH, TRIALS, EXCEED = 0.005, 21, 0.5
SETTINGS = Settings(
    (("ndr", 0.0), ("pdr", 0.005)), EXCEED, WIDTH, 1, 1, TRIALS, 1000, 1e8, float("inf")
)
CASES = [
    (noise, burst)
    for burst in (0.0, 0.2)
    for noise in (0.0, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
]


def bounds(run: Run) -> Iterator[Row]:
    """Share of the searches whose bounds hold the truth, or meet what is undecidable."""
    for noise, burst in CASES:
        yield from _rows(noise, burst, run.repetitions)


def _rows(noise: float, burst: float, runs: int) -> Iterator[Row]:
    point, zone = [0, 0], [0, 0]
    loads = []
    for seed in range(runs):
        random = Random(seed)
        capacity = 10 ** random.uniform(4.5, 7)
        system = System(capacity, noise, burst, random.uniform(0.001, 0.1))
        simulation = Simulation(system, random)
        found = search(SETTINGS, simulation.offer, simulation.clock)
        loads.append(len(found.offered))
        for index, goal in enumerate(found.goals):
            assert goal.lower_pps is not None and goal.upper_pps is not None
            lower, upper = goal.lower_pps - 1, goal.upper_pps + 1  # whole packets
            truth = system.truth(goal.loss_ratio, EXCEED)
            low, high = system.undecidable(goal.loss_ratio, EXCEED, TRIALS)
            point[index] += lower <= truth <= upper
            zone[index] += lower <= high and low <= upper
    for index, goal_name in enumerate(("NDR", "PDR")):
        yield Row(
            f"{goal_name}, noise {100 * noise:g} %, bursts {100 * burst:g} %: truth within",
            point[index] / runs, "%",
            remarks=f"undecidable within {100 * zone[index] / runs:.1f} %; "
            f"{median(loads):.0f} loads",
        )  # fmt: skip


if __name__ == "__main__":
    Benchmark(__doc__, {bounds: 1000}).main()
