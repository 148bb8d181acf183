"""How often the noise gate's sentinel departs on a quiet machine, and how often it sees a step.

.venv/bin/python benchmarks/analysis/sentinel_alarms.py

Simulated with a fixed seed; prints the tables of docs/explanation/noise.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfcperf.control.trials.drift_test import drift_test

RUNS = 400
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


def main() -> None:
    print("| quiet readings | `max_change_ratio` 0 | 0.2 (default) |")
    print("| --- | --- | --- |")
    for name, draw in QUIET.items():
        cells = [_alarms(draw, limit) for limit in (0.0, 0.2)]
        print(f"| {name} | {' | '.join(cells)} |")
    print()
    print("| step | seen at scatter 3 % | at 10 % |")
    print("| --- | --- | --- |")
    for step in (0.25, 0.5, 1.0):
        print(f"| +{100 * step:.0f} % | {_seen(step, 3.0)} | {_seen(step, 10.0)} |")


def _alarms(draw: Draw, limit: float) -> str:
    """Share of judged readings, and of runs with at least one."""
    rng = np.random.default_rng(1)
    judged = alarms = runs = 0
    for _ in range(RUNS):
        values = draw(rng, CALIBRATION + READINGS)
        good, any_alarm = values[:CALIBRATION], False
        for value in values[CALIBRATION:]:
            departed = drift_test(value, good, CALIBRATION, limit).departed
            judged, alarms = judged + 1, alarms + departed
            any_alarm |= departed
            if not departed:
                good.append(value)
        runs += any_alarm
    return f"{100 * alarms / judged:.1f} % of readings, {100 * runs / RUNS:.0f} % of runs"


def _seen(step: float, scatter: float) -> str:
    """Of steps after the calibration alone."""
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(5 * RUNS):
        values = rng.normal(100, scatter, CALIBRATION + 1).tolist()
        value = values[-1] + 100 * step
        seen += drift_test(value, values[:-1], CALIBRATION, 0.2).departed
    return f"{100 * seen / (5 * RUNS):.0f} %"


if __name__ == "__main__":
    main()
