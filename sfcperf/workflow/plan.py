"""Plan: scenarios x rounds as an ordered list of trials.

A round is a block: it has one trial group per scenario, which runs each of the scenario's probes
once. In `randomized-blocks` the trial groups of a round and the probes of a group are shuffled by a
generator seeded with (seed, round), so that the order of any round, including those that
sequential stopping adds, follows from the workflow alone.

In a workflow with variants, each combination of factor levels is a block of its own within the
round: its variants run back to back in a random order. Drift (load, temperature,
frequency) is then nearly the same for the variants of a block, and cancels in their differences: a
randomised complete block design (Box, Hunter, Hunter: Statistics for Experimenters, 2nd ed.,
chapter 4; Montgomery: Design and Analysis of Experiments, chapter 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import ceil
from random import Random
from typing import Any

from sfcperf import plugins
from sfcperf.workflow.model import ProbeSpec, Scenario, SentinelSpec, Variant, Workflow
from sfcperf.workflow.noise_gate import sentinel_scenario
from sfcperf.workflow.variants import LEVEL

# These durations, in seconds, are budgets of benchmarks/, not measurements of this machine. They
# serve for estimates only.
DEPLOY_S = 0.7
"""Time to deploy, prove and tear down a scenario without service functions."""
DEPLOY_FUNCTION_S = 0.15
"""Further time for each service function."""
PROVE_PROCESS_S = 0.2
"""Further time to prove the data plane of one that is carried by a process."""
TRIAL_S = 0.3
"""Time of a trial besides its measurement: health, counters, monitors, servers, the record on
disk."""


@dataclass(frozen=True)
class PlannedTrial:
    """One measurement of one scenario by one probe in one round."""

    trial_id: str
    """`r001-s000-iperf3-tcp`: round, scenario, probe label. Warm-up rounds are `w001-...`."""
    scenario: Scenario
    probe: ProbeSpec
    round: int
    """Number of the round, from 1; warm-up rounds are counted by themselves, from 1 as well."""
    warmup: bool
    rerun_of: str = ""
    """Id of the trial outside the noise gate that this trial replaces; empty for a trial that is no
    rerun."""


@dataclass(frozen=True)
class TrialGroup:
    """Trials of one scenario in one round. They share a deployment, and run one after the other."""

    scenario: Scenario
    round: int
    warmup: bool
    trials: tuple[PlannedTrial, ...]


def scenario_blocks(workflow: Workflow) -> list[list[Scenario]]:
    """Group the scenarios that run back to back: the variants of each combination of levels, in the
    order of the workflow. Without variants, each scenario is alone."""
    if not workflow.variants:
        return [[scenario] for scenario in workflow.scenarios]
    blocks: dict[tuple[Any, ...], list[Scenario]] = {}
    for scenario in workflow.scenarios:
        # Levels are compared by their repr, since 1 and true are equal in Python.
        key = tuple((name, repr(level)) for name, level in without_variant(scenario).items())
        blocks.setdefault(key, []).append(scenario)
    return list(blocks.values())


def without_variant(scenario: Scenario) -> dict[str, Any]:
    """Levels of a scenario except its variant. The variants of a block have these in common."""
    return {name: level for name, level in scenario.levels.items() if name != LEVEL}


def trial_groups(
    workflow: Workflow,
    round_number: int,
    *,
    warmup: bool = False,
    only: Iterable[str] | None = None,
) -> Iterator[TrialGroup]:
    """Yield the trial groups of a round in order. `only`: ids of the scenarios whose groups are
    yielded; None: all. The order stays that of the full round, so a scenario that stops does not
    reshuffle the others."""
    scenario_ids = None if only is None else set(only)
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
        if scenario_ids is None or scenario.id in scenario_ids:
            yield TrialGroup(
                scenario,
                round_number,
                warmup,
                tuple(_trial(scenario, probe, round_number, warmup) for probe in probes),
            )


def _trial(scenario: Scenario, probe: ProbeSpec, round_number: int, warmup: bool) -> PlannedTrial:
    prefix = "w" if warmup else "r"
    trial_id = f"{prefix}{round_number:03d}-{scenario.id}-{probe.label}"
    return PlannedTrial(trial_id, scenario, probe, round_number, warmup)


def plan_document(workflow: Workflow) -> dict[str, Any]:
    """Make plan.json (schemas/plan.schema.json): scenarios, rounds with their trial groups and
    trial ids, and an estimate of the duration. The store adds `schema_version`."""
    design = workflow.design
    warmup = [_round(workflow, n, warmup=True) for n in range(1, design.warmup_rounds + 1)]
    planned = [_round(workflow, n, warmup=False) for n in range(1, design.rounds + 1)]
    stop = design.stop_when
    variants = [_variant(workflow, variant) for variant in workflow.variants]
    return {
        "name": workflow.name,
        "driver": workflow.driver,
        "seed": design.seed,
        "order": design.order,
        **({"variants": variants} if variants else {}),
        **({"services": [each.name for each in workflow.services]} if workflow.services else {}),
        "scenarios": [_scenario(scenario) for scenario in workflow.scenarios],
        "rounds": warmup + planned,
        "trials": sum(len(visit["trials"]) for block in planned for visit in block["visits"]),
        "max_rounds": design.rounds if stop is None else stop.max_rounds,
        "estimated_s": round(workflow_s(workflow), 1),
    }


def _variant(workflow: Workflow, variant: Variant) -> dict[str, Any]:
    """A variant as plan.json has it. All its scenarios have the same driver."""
    scenario = next(s for s in workflow.scenarios if s.levels[LEVEL] == variant.name)
    return {
        "name": variant.name,
        "driver": workflow.infrastructure_of(scenario).driver,
        "changes": dict(variant.changes),
    }


def _scenario(scenario: Scenario) -> dict[str, Any]:
    """A scenario as plan.json lists it in `scenarios`."""
    return {
        "id": scenario.id,
        "scenario": dict(scenario.levels),
        "topology": scenario.topology.name,
        "functions": [function.name for function in scenario.chain.functions],
        "probes": [probe.label for probe in scenario.probes],
    }


def _round(workflow: Workflow, number: int, *, warmup: bool) -> dict[str, Any]:
    """A round as plan.json has it: its trial groups (`visits`) in order, with their trial ids."""
    block_of = {
        scenario.id: index
        for index, block in enumerate(scenario_blocks(workflow))
        for scenario in block
    }
    order: dict[int, int] = {}  # index of a block in the workflow -> its number in this round

    def block(scenario: Scenario) -> dict[str, int]:
        """Number of the scenario's block in this round, counted in the order in which blocks
        run."""
        return {"block": order.setdefault(block_of[scenario.id], len(order) + 1)}

    return {
        "round": number,
        "warmup": warmup,
        "visits": [
            {
                "scenario_id": group.scenario.id,
                **(block(group.scenario) if workflow.variants else {}),
                "trials": [trial.trial_id for trial in group.trials],
            }
            for group in trial_groups(workflow, number, warmup=warmup)
        ],
    }


def probe_s(probe: ProbeSpec) -> float:
    """Estimated duration of a trial of this probe, seconds."""
    measured: float = plugins.load("probe", probe.probe).duration_s(probe.parameters)
    return TRIAL_S + measured


def trial_s(trial: PlannedTrial) -> float:
    """Estimated duration of a trial with its monitors, seconds."""
    monitors_s: float = sum(
        plugins.load("monitor", spec.monitor).trial_s(spec.parameters)
        for spec in trial.scenario.monitors
    )
    return probe_s(trial.probe) + monitors_s


def deploy_s(scenario: Scenario) -> float:
    """Estimated duration of deploying and tearing down a scenario, seconds."""
    functions = scenario.chain.functions
    processes: int = sum(
        plugins.load("vnf", spec.type).carried_by_process(spec.knobs) for spec in functions
    )
    return DEPLOY_S + DEPLOY_FUNCTION_S * len(functions) + PROVE_PROCESS_S * processes


def trial_group_s(group: TrialGroup) -> float:
    """Estimated duration of a trial group with its deployment, seconds."""
    return deploy_s(group.scenario) + sum(map(trial_s, group.trials))


def workflow_s(workflow: Workflow) -> float:
    """Estimated duration of all warm-up and planned rounds, seconds. Retries, reruns, and rounds
    that sequential stopping may add are not included."""
    design = workflow.design
    planned = (trial_groups(workflow, n + 1) for n in range(design.rounds))
    measured = sum(map(trial_group_s, chain.from_iterable(planned)))
    return warmup_s(workflow) + measured + _sentinel_s(workflow)


def warmup_s(workflow: Workflow) -> float:
    """Estimated duration of the warm-up rounds, seconds."""
    rounds = range(1, workflow.design.warmup_rounds + 1)
    groups = (group for n in rounds for group in trial_groups(workflow, n, warmup=True))
    return sum(map(trial_group_s, groups))


def block_size(workflow: Workflow, sentinel: SentinelSpec) -> int:
    """Number of trial groups between two readings of the sentinel. Variants that are compared with
    each other share a block."""
    compared = max(1, len(workflow.variants))
    return compared * ceil(sentinel.every_visits / compared)


def _sentinel_s(workflow: Workflow) -> float:
    """Estimated duration of the sentinel's readings, seconds, without those after reruns; 0 without
    a sentinel."""
    sentinel, scenario = workflow.design.sentinel, sentinel_scenario(workflow)
    if sentinel is None or scenario is None:
        return 0.0
    # Each block has a reading at its end; the last block of a round may be smaller.
    size = block_size(workflow, sentinel)
    blocks = ceil(len(workflow.scenarios) / size) * workflow.design.rounds
    return (sentinel.calibration + blocks) * (deploy_s(scenario) + probe_s(sentinel.probe))
