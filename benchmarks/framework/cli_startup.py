"""Time of `sfcperf --help`, beside the floor of a Python that imports nothing.

.venv/bin/python benchmarks/framework/cli_startup.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "sfcperf --help": [str(Path(sys.executable).with_name("sfcperf")), "--help"],
}


def startup(run: Run) -> Iterator[Row]:
    """Both commands, without the round that compiles what is not yet."""
    floor, ours = COMMANDS
    found = run.in_turn(COMMANDS, _ms, warm_up=True)
    yield Row(ours, found[ours], "ms", floor, found[floor], Budget(high=250))


def _ms(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3


if __name__ == "__main__":
    Benchmark(__doc__, {startup: 15}).main()
