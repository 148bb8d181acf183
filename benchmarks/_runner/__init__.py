"""The runner of all benchmarks.

A benchmark is a file of functions, its parts, each of which measures something and yields a `Row`
per result, and ends with `Benchmark(__doc__, {part: repetitions, ...}).main()`. The runner reads
the arguments, measures in turn what is compared, prints the rows as one table, writes them as JSON,
and says by the exit status whether all budgets hold.

Benchmarks may use the helpers of the tests (`support`).
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from _runner.benchmark import Benchmark, Parameter, Run, Skipped
from _runner.row import Budget, Row

__all__ = ["Benchmark", "Budget", "Parameter", "Row", "Run", "Skipped"]
