"""What the P4 programs have room for, where the engine `ebpf` has more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.errors import InputError
from sfcperf.vnfs.sfcmon.bmv2.banks import BLOOM_HASHES, CMS_ROWS, IBLT_HASHES, most_sizes

TABLE_ENTRIES = 131_072
"""Entries that the table `flows` has room for (table_monitor.p4)."""


def check(knobs: Mapping[str, Any]) -> None:
    """Refuse knobs that do not fit into the programs. Raises InputError, `where` being the knob."""
    check_sizes(knobs)
    _at_most(knobs, {"table_flows": TABLE_ENTRIES})


def check_sizes(parameters: Mapping[str, Any]) -> None:
    """Refuse sizes of the sketches that do not fit. Raises InputError; `where` is the parameter."""
    fixed = {"cms_rows": CMS_ROWS, "bloom_hashes": BLOOM_HASHES, "iblt_hashes": IBLT_HASHES}
    for name, number in fixed.items():
        if parameters[name] != number:
            raise InputError(
                f"the P4 program on bmv2 has {number}, not {parameters[name]}",
                where=name,
                allowed=f"{number}, or another number with eBPF",
            )
    room = most_sizes()
    names = {"cms_columns": "columns", "bloom_bits": "bits", "iblt_cells": "cells"}
    _at_most(parameters, {name: room[short] for name, short in names.items()})


def _at_most(parameters: Mapping[str, Any], limits: Mapping[str, int]) -> None:
    """Refuse a parameter that is above its limit. Raises InputError; `where` is the parameter."""
    for name, limit in limits.items():
        if parameters[name] > limit:
            raise InputError(
                f"the P4 program on bmv2 has no room for {parameters[name]}",
                where=name,
                allowed=f"at most {limit}, or more with eBPF",
            )
