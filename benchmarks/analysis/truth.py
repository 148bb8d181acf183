"""What SFCPerf claims against what is true: verdicts, simulated through the product's functions.

.venv/bin/python benchmarks/analysis/truth.py [--repetitions N] [--only WORD]

Each row draws trials of a known truth, lets SFCPerf judge them, and counts the false claims. A row
holds if its rate is at most alpha and two standard errors of the simulation. Rows of power, which
have no budget, count true claims. Rows about intervals count those that contain the truth, of those
that are shown: at least 93 %, less two standard errors, and at most 97 %, plus two, unless values
are on ticks or count losses. `uncorrected` is the share by the tests without the correction for
autocorrelation. Rows marked `held back` were not looked at while the methods were chosen; rows
marked `limit` are known not to hold (docs/explanation/comparing.md, statistics.md and noise.md say
why). Rows that start with `bound` say how much power any test can have that is not misled by
autocorrelation.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Parameter, Row, Run
from _truth import coverage, evaluations, frontier, gate, lines, percentiles, replays, verdicts

KINDS = (verdicts, coverage, gate, lines, percentiles, evaluations, frontier, replays)


def claims(run: Run) -> Iterator[Row]:
    """All kinds of rows."""
    wanted = [
        (number, place)
        for number, kind in enumerate(KINDS)
        for place, row in enumerate(kind.ROWS)
        if run.parameters.only in kind.name_of(row)
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for rows in pool.map(_judged, wanted, [run.repetitions] * len(wanted)):
            yield from rows


def _judged(at: tuple[int, int], repeats: int) -> list[Row]:
    """Of a row, by its place: functions of rows do not reach another process."""
    kind = KINDS[at[0]]
    row = kind.ROWS[at[1]]
    rows: list[Row] = kind.judge(row, repeats)
    held_back = " (held back)" if row.seed > 1 else ""
    return [replace(each, name=each.name + held_back) for each in rows]


if __name__ == "__main__":
    only = Parameter("", "rows whose name has this in it")
    Benchmark(__doc__, {claims: 1000}, {"only": only}).main()
