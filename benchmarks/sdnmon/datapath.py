"""SDN-Mon's data path: the cost of a packet above that of reading it to a key, for flows outside of
the sample, for one flow that is monitored, and for 200,000 of them.

    sudo .venv/bin/python benchmarks/sdnmon/datapath.py

The kernel runs the program repeatedly (BPF_PROG_TEST_RUN), without the time of other processes.
Cases are measured in turn; remarks have the quartiles of the rounds. Then tables are read.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from agent import fill
from support.sdnmon.frames import udp_flow
from support.sdnmon.kernel import Program
from support.sdnmon.tool import FIVE_TUPLE, switched

REPEAT = 1_000_000
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


def packets(run: Run) -> Iterator[Row]:
    """Cases, by both programs."""
    found = run.in_turn(CASES, lambda case: measured(*case[:2]))
    for hook, program in {"tc": TC, "XDP": XDP}.items():
        for name, (flows, _, goal) in CASES.items():
            floor = "parsing" if flows == 1 else "parsing, many flows"
            costs, base = ([cost[program] for cost in found[case]] for case in (name, floor))
            budget = None if goal is None else Budget(high=goal, of="excess")
            above = [cost - least for cost, least in zip(costs, base, strict=True)]
            cuts = quantiles(above) if len(above) > 1 else 3 * above
            remarks = "{1:.0f} ns above parsing [{0:.0f}, {2:.0f}]".format(*cuts)
            yield Row(f"{hook}, {name}", costs, "ns", floor, base, budget, remarks)


def tables(run: Run) -> Iterator[Row]:
    """CPU time of reading a table."""
    for entries, found in run.in_turn(TABLES, read).items():
        name, remarks = f"reading {entries:,} entries as JSON, CPU", f"{found[0][1]:,} bytes"
        yield Row(name, [cpu_ms for cpu_ms, _ in found], "ms", remarks=remarks)


def read(entries: int) -> tuple[float, int]:
    """CPU time of `sfc-sdnmon entries`, user and kernel, ms, and what it prints, bytes."""
    with tempfile.TemporaryDirectory() as folder, switched(Path(folder)) as tool:
        fill(tool, entries)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = tool.run("entries").stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu_s * 1e3, len(lines)


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
    Benchmark(__doc__, {packets: 7, tables: 1}).main()
