"""Rows of benchmarks/truth.py about the noise gate, fitted lines and percentiles."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor

from _truth import gate, lines, percentiles

PARTS = (gate, lines, percentiles)


def judged(pool: Executor, repeats: int, only: str) -> Iterator[str]:
    """The lines of the rows whose name has `only` in it, printed as they come; those that start
    with FAILS do not hold."""
    for part in PARTS:
        wanted = [row for row in part.ROWS if only in part.name_of(row)]
        for found in pool.map(part.judge, wanted, [repeats] * len(wanted)):
            print(found.line, flush=True)
            yield found.line
