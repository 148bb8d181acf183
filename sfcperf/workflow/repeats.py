"""Repeats: the runs of a campaign, which execute the same workflow, each in an order of its own."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from sfcperf.workflow.model import Workflow

_BITS = 53
"""Bits of a seed: every JSON reader keeps integers of this size."""


def workflow_of_run(workflow: Workflow, index: int) -> Workflow:
    """The workflow as run number `index`, from 1, executes it. The order of its trials follows from
    the workflow's seed and this number; the first run has the workflow's seed itself."""
    if index == 1:
        return workflow
    seed = run_seed(workflow.design.seed, index)
    design = {**workflow.document.get("design", {}), "seed": seed}
    return replace(
        workflow,
        design=replace(workflow.design, seed=seed),
        document={**workflow.document, "design": design},
    )


def run_seed(seed: int, index: int) -> int:
    """Seed of run number `index`, from 1. It differs between runs, and is the same wherever it is
    computed."""
    if index == 1:
        return seed
    digest = hashlib.sha256(f"{seed}/run/{index}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _BITS)
