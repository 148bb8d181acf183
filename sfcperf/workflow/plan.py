"""Plan: scenarios x rounds as an ordered list of trials (DESIGN.md section 9).

A round is a block: each scenario is visited once in it, and in each visit each of its probes runs
once. In `randomized-blocks` the visits of a round and the probes of a visit are shuffled by a
generator seeded with (seed, round), so that the order of any round, also of those that sequential
stopping adds, follows from the workflow alone.

Where a workflow has variants, each combination of factor levels is a block of its own within the
round: its variants are visited back to back, in a random order of their own. What drifts (load,
temperature, frequency) is then nearly the same for the variants of a block, and cancels in their
differences: a randomised complete block design (Box, Hunter, Hunter: Statistics for Experimenters,
2nd ed., chapter 4; Montgomery: Design and Analysis of Experiments, chapter 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Any

from sfcperf.workflow.model import ProbeSpec, Scenario, Workflow
from sfcperf.workflow.variants import LEVEL


@dataclass(frozen=True)
class PlannedTrial:
    """One measurement of one scenario by one probe in one round."""

    trial_id: str
    """`r001-s000-iperf3-tcp`: round, scenario, probe label. Warm-up rounds are `w001-...`."""
    scenario: Scenario
    probe: ProbeSpec
    round: int
    """From 1; warm-up rounds count from 1 on their own."""
    warmup: bool
    rerun_of: str = ""
    """Id of the trial outside the noise gate in whose place it is run; empty for others."""


@dataclass(frozen=True)
class Visit:
    """A scenario is deployed once and its trials of the round run."""

    scenario: Scenario
    round: int
    warmup: bool
    trials: tuple[PlannedTrial, ...]


def scenario_blocks(workflow: Workflow) -> list[list[Scenario]]:
    """What is visited back to back: the variants of each combination of levels, in the order of
    the workflow; without variants each scenario alone."""
    if not workflow.variants:
        return [[scenario] for scenario in workflow.scenarios]
    blocks: dict[tuple[Any, ...], list[Scenario]] = {}
    for scenario in workflow.scenarios:
        # By name and type too: the levels 1 and true are equal in Python.
        key = tuple((name, repr(level)) for name, level in without_variant(scenario).items())
        blocks.setdefault(key, []).append(scenario)
    return list(blocks.values())


def without_variant(scenario: Scenario) -> dict[str, Any]:
    """A scenario's levels, its variant left out: what the variants of a block have in common."""
    return {name: level for name, level in scenario.levels.items() if name != LEVEL}


def visits(
    workflow: Workflow,
    round_number: int,
    *,
    warmup: bool = False,
    only: Iterable[str] | None = None,
) -> Iterator[Visit]:
    """The visits of a round in order; `only` keeps these scenario ids (the order is that of the
    full round, so that stopping one scenario does not reshuffle the others)."""
    wanted = None if only is None else set(only)
    random = Random(f"{workflow.design.seed}/{'warmup' if warmup else 'round'}/{round_number}")
    shuffled = workflow.design.order == "randomized-blocks"
    blocks = scenario_blocks(workflow)
    if shuffled:
        random.shuffle(blocks)
        for block in blocks:
            random.shuffle(block)
    for scenario in chain.from_iterable(blocks):
        probes = list(scenario.probes)
        if shuffled:
            random.shuffle(probes)
        if wanted is None or scenario.id in wanted:
            yield Visit(
                scenario,
                round_number,
                warmup,
                tuple(_trial(scenario, probe, round_number, warmup) for probe in probes),
            )


def _trial(scenario: Scenario, probe: ProbeSpec, round_number: int, warmup: bool) -> PlannedTrial:
    prefix = "w" if warmup else "r"
    trial_id = f"{prefix}{round_number:03d}-{scenario.id}-{probe.label}"
    return PlannedTrial(trial_id, scenario, probe, round_number, warmup)
