"""What DPDK needs of a CPU. Without that a program ends by SIGILL, and cannot say why."""

from __future__ import annotations

NEEDED = ("ssse3", "sse4_1", "sse4_2", "popcnt")
"""Flags of the CPU for which distributions compile DPDK (-march=corei7); names of /proc/cpuinfo."""


def lacking(cpuinfo: str) -> tuple[str, ...]:
    """Return the flags in NEEDED that an x86 machine lacks, by its /proc/cpuinfo; none for a
    machine of another kind."""
    for line in cpuinfo.splitlines():
        name, _, flags = line.partition(":")
        if name.strip() == "flags":
            there = set(flags.split())
            return tuple(flag for flag in NEEDED if flag not in there)
    return ()
