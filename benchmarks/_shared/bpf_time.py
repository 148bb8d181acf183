"""The time of BPF programs, as the kernel measures it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from _shared.chain import output


def totals(program: str) -> dict[int, tuple[int, int]]:
    """Id -> run time (ns) and runs, of all programs of this name."""
    found = json.loads(output(["bpftool", "-j", "prog", "show"]))
    return {
        p["id"]: (p.get("run_time_ns", 0), p.get("run_cnt", 0))
        for p in found
        if p.get("name") == program
    }


@contextmanager
def statistics() -> Iterator[None]:
    """Have the kernel measure."""
    output(["sysctl", "-q", "-w", "kernel.bpf_stats_enabled=1"])
    try:
        yield
    finally:
        output(["sysctl", "-q", "-w", "kernel.bpf_stats_enabled=0"])
