"""What the P4 programs have room for, where the engine `ebpf` has more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.errors import InputError
from sfcperf.vnfs.sfcmon.bmv2.banks import BLOOM_HASHES, CMS_ROWS, IBLT_HASHES, most_sizes

TABLE_ENTRIES = 131_072
"""Of the table `flows` (table_monitor.p4)."""


def check(knobs: Mapping[str, Any]) -> None:
    """Refuse sizes that do not fit into the program. Raises InputError, `where` being the knob."""
    fixed = {"cms_rows": CMS_ROWS, "bloom_hashes": BLOOM_HASHES, "iblt_hashes": IBLT_HASHES}
    for name, rows in fixed.items():
        if knobs[name] != rows:
            raise InputError(
                f"the P4 program of the engine bmv2 has {rows}, not {knobs[name]}",
                where=name,
                allowed=f"{rows}, or another number with the engine ebpf",
            )
    room = most_sizes()
    most = {
        "cms_columns": room["columns"],
        "bloom_bits": room["bits"],
        "iblt_cells": room["cells"],
        "table_flows": TABLE_ENTRIES,
    }
    for name, limit in most.items():
        if knobs[name] > limit:
            raise InputError(
                f"the P4 program of the engine bmv2 has no room for {knobs[name]}",
                where=name,
                allowed=f"at most {limit}, or more with the engine ebpf",
            )
