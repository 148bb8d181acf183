"""How often the noise gate's sentinel departs on a quiet machine, and how often it sees a step.

.venv/bin/python benchmarks/analysis/sentinel_alarms.py

Simulated with a fixed seed; the figures are those of docs/explanation/noise.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from sfcperf.control.trials.drift_test import drift_test

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Row, Run

READINGS = 30
CALIBRATION = 6
Draw = Callable[[np.random.Generator, int], list[float]]

QUIET: dict[str, Draw] = {
    "normal, scatter 5 %": lambda rng, n: rng.normal(100, 5, n).tolist(),
    "lognormal, scatter 15 %": lambda rng, n: (100 * rng.lognormal(0, 0.15, n)).tolist(),
    "t with 3 degrees of freedom, scale 5 %": lambda rng, n: (
        100 + 5 * rng.standard_t(3, n)
    ).tolist(),
}


def quiet(run: Run) -> Iterator[Row]:
    """Share of the readings of a quiet machine that depart, by `max_change_ratio`."""
    for name, draw in QUIET.items():
        for limit in (0.0, 0.2):
            share, runs = _alarms(draw, limit, run.repetitions)
            case = f"{name}, max_change_ratio {limit:g}"
            yield Row(case, share, "%", remarks=f"of readings; {100 * runs:.0f} % of runs")


def steps(run: Run) -> Iterator[Row]:
    """Share of steps that are seen."""
    for step in (0.25, 0.5, 1.0):
        for scatter in (3.0, 10.0):
            name = f"step of +{100 * step:.0f} %, scatter {scatter:g} %"
            yield Row(name, _seen(step, scatter, run.repetitions), "%")


def _alarms(draw: Draw, limit: float, count: int) -> tuple[float, float]:
    """Share of judged readings, and of so many runs with at least one."""
    rng = np.random.default_rng(1)
    judged = alarms = runs = 0
    for _ in range(count):
        values = draw(rng, CALIBRATION + READINGS)
        good, any_alarm = values[:CALIBRATION], False
        for value in values[CALIBRATION:]:
            departed = drift_test(value, good, CALIBRATION, limit).departed
            judged, alarms = judged + 1, alarms + departed
            any_alarm |= departed
            if not departed:
                good.append(value)
        runs += any_alarm
    return alarms / judged, runs / count


def _seen(step: float, scatter: float, count: int) -> float:
    """Of steps after the calibration alone."""
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(count):
        values = rng.normal(100, scatter, CALIBRATION + 1).tolist()
        value = values[-1] + 100 * step
        seen += drift_test(value, values[:-1], CALIBRATION, 0.2).departed
    return seen / count


if __name__ == "__main__":
    Benchmark(__doc__, {quiet: 400, steps: 2000}).main()
