"""What rows of benchmarks/analysis/truth.py must not claim, and the trials that most of them
draw."""

from __future__ import annotations

import numpy as np

from sfcperf.analysis.comparison import Options

Random = np.random.Generator
ALPHA = 0.05
LEAST_COVERAGE, MOST_COVERAGE = 0.93, 0.97
BETTER_OR_WORSE = frozenset({"better", "worse", "different"})
EQUIVALENT = frozenset({"equivalent"})
ANY_SHIFT = Options(margin=1e-4)
"""A difference within the margin is not called better or worse: here all are to be."""


def normal(random: Random, n: int, sd: float, mean: float = 100.0) -> np.ndarray:
    """Trials with a relative dispersion."""
    return mean * (1 + sd * random.standard_normal(n))
