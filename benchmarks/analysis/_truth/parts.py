"""Rows of benchmarks/analysis/truth.py about the noise gate, fitted lines, percentiles, what is
said of whole runs and replays, and the power that no test can exceed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor

from _truth import evaluations, frontier, gate, lines, percentiles

PARTS = (gate, lines, percentiles, evaluations, frontier)


def judged(pool: Executor, repeats: int, only: str) -> Iterator[str]:
    """The lines of the rows whose name has `only` in it, printed as they come; those that start
    with FAILS do not hold."""
    wanted = [
        (number, place)
        for number, part in enumerate(PARTS)
        for place, row in enumerate(part.ROWS)
        if only in part.name_of(row)
    ]
    for line in pool.map(_line, wanted, [repeats] * len(wanted)):
        print(line, flush=True)
        yield line


def _line(at: tuple[int, int], repeats: int) -> str:
    """Of a row, by its place: functions of rows do not reach another process."""
    part = PARTS[at[0]]
    return part.judge(part.ROWS[at[1]], repeats).line
