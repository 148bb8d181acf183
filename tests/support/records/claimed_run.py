"""A run whose workflow has a claim for each verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf.results.store import RunStore
from support.records.runs import build_run
from support.records.shown_run import EIGHT_ROUNDS


def rtt(length: int | list[int]) -> dict[str, Any]:
    """Operand: the round-trip time at a chain length, some 180 µs and 95 µs per function."""
    return {"probe": "ping", "metric": "rtt_us", "at": {"chain_length": length}}


def of_rtt(name: str, length: int | list[int], **others: Any) -> dict[str, Any]:
    """A claim about this round-trip time."""
    quantity = {"of": rtt(length)}
    return {"id": name, "text": f"It is {name}.", "source": "Sanz, Fig. 1", "quantity": quantity,
            "unit": "us", **others}  # fmt: skip


CLAIMS = (
    of_rtt("fast", 0, published=200, above=100, below=1000, conditions="a host of 2012"),
    of_rtt("slow", 1, published=1500, digitised=True, above=1000, margin="a third"),
    {
        "id": "flat",
        "text": "A function costs <nothing>.",
        "source": "own",
        "quantity": {"of": rtt(1), "to": rtt(0)},
        "above": 1.5,
        "published": "nothing",
    },
    of_rtt("elsewhere", 0, published=900, above=800, not_comparable="another kind of switch"),
    {"id": "spark", "text": "Spark is fast.", "source": "own", "not_tested": "there is no Spark"},
)
"""Agrees, contradicts, undecided, not comparable, not tested."""

WITH_CLAIMS = replace(EIGHT_ROUNDS, claims=CLAIMS, figures=())
"""A run of eight rounds with these claims, to be packed."""


def claimed_run(folder: Path) -> RunStore:
    """A run of eight rounds with these claims."""
    return build_run(folder, replace(EIGHT_ROUNDS, claims=CLAIMS))
