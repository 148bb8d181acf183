"""Time of `sfcperf --help`, beside the floor of a Python that imports nothing: budget 250 ms.

.venv/bin/python benchmarks/framework/cli_startup.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

BUDGET_S = 0.25
ROUNDS = 15


def main() -> None:
    """Print both, their ratio and the budget."""
    sfcperf = str(Path(sys.executable).with_name("sfcperf"))
    _seconds([sfcperf, "--help"])  # compiles what is not yet
    bare, started = [], []
    for _ in range(ROUNDS):
        bare.append(_seconds([sys.executable, "-c", "pass"]))
        started.append(_seconds([sfcperf, "--help"]))
    floor, figure = median(bare), median(started)
    print(f"python -c pass: {floor * 1e3:.0f} ms (median of {ROUNDS})")
    print(
        f"sfcperf --help: {figure * 1e3:.0f} ms, {figure / floor:.1f} times that "
        f"(budget {BUDGET_S * 1e3:.0f} ms)"
    )
    if figure > BUDGET_S:
        raise SystemExit("over the budget")


def _seconds(command: Sequence[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
