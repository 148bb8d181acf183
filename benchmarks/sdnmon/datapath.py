"""SDN-Mon's data path: the cost of a packet above that of reading it to a key, for flows outside of
the sample, for one flow that is monitored, and for 200,000 of them.

    sudo .venv/bin/python benchmarks/sdnmon/datapath.py

The kernel runs the program repeatedly (BPF_PROG_TEST_RUN), without the time of other processes.
Cases are measured in turn; ranges are the quartiles of the rounds. Then tables are read.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from agent import fill
from support.sdnmon.frames import udp_flow
from support.sdnmon.kernel import Program
from support.sdnmon.tool import FIVE_TUPLE, switched

REPEAT = 1_000_000
ROUNDS = 7
MANY = 200_000
CAPACITY = 262_144
TABLES = (7_950, 100_000, 1_000_000)
"""Entries that are read; the paper has up to 7,950."""
TC, XDP = "varied", "varied_xdp"
"""Programs: frames come as tc has them, and as XDP."""
CASES: dict[str, tuple[int, tuple[str, ...], int | None]] = {
    "parsing": (1, ("--mode", "parse"), None),
    "unsampled, hash": (1, ("--ratio", "0"), 15),
    "unsampled, bloom": (1, ("--ratio", "0", "--mode", "bloom"), None),
    "one hot flow": (1, (), 80),
    "parsing, many flows": (MANY, ("--mode", "parse"), None),
    "many flows": (MANY, (), 400),
    "many flows, half of them sampled": (MANY, ("--ratio", "0.5"), None),
}
"""Name -> flows, options, goal in ns above parsing."""


def main() -> None:
    """Print a line for each case."""
    costs: dict[str, dict[str, list[float]]] = {
        program: {name: [] for name in CASES} for program in (TC, XDP)
    }
    for _ in range(ROUNDS):
        for name, (flows, options, _) in CASES.items():
            for program, cost_ns in measured(flows, options).items():
                costs[program][name].append(cost_ns)
    missed = [name for program in (TC, XDP) for name in printed(program, costs[program])]
    for entries in TABLES:
        cpu_s, size_bytes = read(entries)
        print(
            f"reading {entries:,} entries as JSON: {cpu_s * 1e3:.0f} ms of CPU, "
            f"{size_bytes:,} bytes"
        )
    if missed:
        raise SystemExit(f"over the goal: {', '.join(missed)}")


def printed(hook: str, costs: dict[str, list[float]]) -> list[str]:
    """Print the cases of a program; those that miss their goals."""
    missed = []
    for name, (flows, _, goal) in CASES.items():
        floor = costs["parsing" if flows == 1 else "parsing, many flows"]
        above = [cost - base for cost, base in zip(costs[name], floor, strict=True)]
        low, _, high = quantiles(above)
        aim = f" (goal: {goal})" if goal else ""
        where = "XDP" if hook == XDP else "tc"
        print(
            f"{where}, {name}: {median(costs[name]):.0f} ns, above parsing {median(above):.0f} ns "
            f"[{low:.0f}, {high:.0f}]{aim}"
        )
        if goal is not None and median(costs[name]) - median(floor) > goal:
            missed.append(f"{where}, {name}")
    return missed


def read(entries: int) -> tuple[float, int]:
    """CPU time of `sfc-sdnmon entries`, user and kernel, and what it prints, bytes."""
    with tempfile.TemporaryDirectory() as folder, switched(Path(folder)) as tool:
        fill(tool, entries)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = tool.run("entries").stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu_s, len(lines)


def measured(flows: int, options: tuple[str, ...]) -> dict[str, float]:
    """Nanoseconds per packet, by program."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, switched(Path(folder)) as tool:
        sizes = ("--capacity", str(CAPACITY), "--benchmark", str(flows))
        tool("on", "--fields", FIVE_TUPLE, *sizes, *options)
        for hook in (TC, XDP):
            with Program(tool.state / "current" / hook) as program:
                # Entries are there, and caches warm.
                program.run(udp_flow(0), repeat=2 * flows + 1000)
                found[hook] = program.run(udp_flow(0), repeat=REPEAT)
    return found


if __name__ == "__main__":
    main()
