"""Plan: scenarios x rounds as an ordered list of trials (DESIGN.md section 9).

A round is a block: each scenario is visited once in it, and in each visit each of its probes runs
once. In `randomized-blocks` the visits of a round and the probes of a visit are shuffled by a
generator seeded with (seed, round), so that the order of any round, also of those that sequential
stopping adds, follows from the workflow alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from sfcperf.workflow.model import ProbeSpec, Scenario, Workflow


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


@dataclass(frozen=True)
class Visit:
    """A scenario is deployed once and its trials of the round run."""

    scenario: Scenario
    round: int
    warmup: bool
    trials: tuple[PlannedTrial, ...]


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
    scenarios = list(workflow.scenarios)
    if shuffled:
        random.shuffle(scenarios)
    for scenario in scenarios:
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
