"""How often 95 % intervals hold the true mean: the tables of docs/explanation/statistics.md.

.venv/bin/python benchmarks/interval_coverage.py
"""

from __future__ import annotations

import numpy
from scipy.special import stdtrit

REPETITIONS = 20_000
CONFIDENCE = 0.95
TARGET = 0.05
MAX_ROUNDS = 20


def main() -> None:
    random = numpy.random.default_rng(1)
    print("sequential stopping: coverage by dispersion and minimum of rounds (nominal 95.0 %)")
    for dispersion in (0.02, 0.05, 0.10):
        row = [f"{_stopped(random, dispersion, rounds):6.1%}" for rounds in (3, 5, 10)]
        print(f"  s / mean = {dispersion:4.0%}: {' '.join(row)}")
    by_trial, by_sample = _replicated(random)
    print(f"three trials of twenty samples: by trial {by_trial:.1%}, by sample {by_sample:.1%}")


def _stopped(random: numpy.random.Generator, dispersion: float, minimum: int) -> float:
    """Coverage when rounds are added until the relative half-width is TARGET."""
    trials = random.normal(1, dispersion, size=(REPETITIONS, MAX_ROUNDS))
    holds = numpy.zeros(REPETITIONS, bool)
    running = numpy.ones(REPETITIONS, bool)
    for n in range(minimum, MAX_ROUNDS + 1):
        mean, half_width = _interval(trials[:, :n])
        stop = running & ((half_width <= TARGET * abs(mean)) | (n == MAX_ROUNDS))
        holds[stop] = (abs(mean - 1) <= half_width)[stop]
        running &= ~stop
    return float(holds.mean())


def _replicated(random: numpy.random.Generator) -> tuple[float, float]:
    """Coverage when trials are counted, and when their samples are."""
    between = random.normal(100, 5, size=(REPETITIONS, 3, 1))
    samples = between + random.normal(0, 5, size=(REPETITIONS, 3, 20))
    by_trial, by_sample = (
        float((abs(mean - 100) <= half_width).mean())
        for mean, half_width in (
            _interval(samples.mean(axis=2)),
            _interval(samples.reshape(REPETITIONS, 60)),
        )
    )
    return by_trial, by_sample


def _interval(values: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Mean and half-width of its t interval, per row."""
    n = values.shape[1]
    quantile = stdtrit(n - 1, (1 + CONFIDENCE) / 2)
    return values.mean(axis=1), quantile * values.std(axis=1, ddof=1) / numpy.sqrt(n)


if __name__ == "__main__":
    main()
