"""Parameters of SFCMon's sketches, which the VNF type and the monitor at SFFs share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sfcperf.plugins import integer, number
from sfcperf.vnfs.sfcmon.settings import LIMITS, Sizes, share_register

_MS_PER_S = 1000
_MOST = (1 << 32) - 1
_LIMITS = {**LIMITS, "cms_columns": (1, 1 << 24), "bloom_bits": (1, 1 << 26)}
_LIMITS["iblt_cells"] = (LIMITS["iblt_cells"][0], 1 << 20)
"""Least and most of each size in sfc-sfcmon. It allows less than the simulator, since each bank is
locked memory."""
_SIZES = {
    "cms_rows": "Rows of the count-min sketch.",
    "cms_columns": "Columns of the count-min sketch.",
    "bloom_bits": "Bits of the Bloom filter.",
    "bloom_hashes": "Hash functions of the Bloom filter.",
    "iblt_cells": "Cells of the invertible Bloom lookup table.",
    "iblt_hashes": "Hash functions of the IBLT.",
}
PROPERTIES: Mapping[str, Any] = {
    "threshold": number(
        "Share of the window's packets so far from which a source is a heavy hitter.",
        (0, 0.999999),
        default=0.001,
    ),
    "threshold_eval": integer(
        "Packets of a window before which there are no heavy hitters.", (0, _MOST), default=1000
    ),
    "adaptive_flows": integer(
        "Adapt the threshold from window to window so that this many flows are reported; "
        "0: it stays. `threshold` is that of the first window.",
        (0, 1_000_000),
        default=0,
    ),
    "window_s": number("Length of a window, seconds.", (0.005, 3600), default=1.0),
    **{
        size.name: integer(_SIZES[size.name], _LIMITS[size.name], default=size.default)
        for size in fields(Sizes)
    },
}
"""JSON Schema of each parameter."""


def sizes(parameters: Mapping[str, Any]) -> Sizes:
    """Return the sizes of the structures."""
    return Sizes(**{size.name: int(parameters[size.name]) for size in fields(Sizes)})


def window_ms(parameters: Mapping[str, Any]) -> int:
    """Return the length of a window, milliseconds."""
    return round(float(parameters["window_s"]) * _MS_PER_S)


def options(parameters: Mapping[str, Any]) -> list[str]:
    """Return the options of sfc-sfcmon for all parameters but the window."""
    chosen = sizes(parameters)
    words = ["--threshold-share", str(share_register(float(parameters["threshold"])))]
    words += ["--threshold-eval", str(int(parameters["threshold_eval"]))]
    if parameters["adaptive_flows"]:
        words += ["--adaptive", str(int(parameters["adaptive_flows"]))]
    for name in _SIZES:
        words += [f"--{name.replace('_', '-')}", str(getattr(chosen, name))]
    return words
