"""What DPDK needs of a CPU. A program on a CPU that lacks it ends by SIGILL, and cannot say why."""

from __future__ import annotations

NEEDED = ("ssse3", "sse4_1", "sse4_2", "popcnt")
"""Features of the CPU for which distributions compile DPDK (-march=corei7), as /proc/cpuinfo
names them."""


def lacking(cpuinfo: str) -> tuple[str, ...]:
    """Return the features of NEEDED that an x86 machine with this /proc/cpuinfo lacks; none for
    other machines."""
    for line in cpuinfo.splitlines():
        name, _, flags = line.partition(":")
        if name.strip() == "flags":
            there = set(flags.split())
            return tuple(flag for flag in NEEDED if flag not in there)
    return ()
