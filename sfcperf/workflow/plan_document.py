"""plan.json: the plan as a document (schemas/plan.schema.json)."""

from __future__ import annotations

from typing import Any

from sfcperf.workflow import estimate
from sfcperf.workflow.model import Scenario, Variant, Workflow
from sfcperf.workflow.plan import scenario_blocks, visits
from sfcperf.workflow.variants import LEVEL


def plan_document(workflow: Workflow) -> dict[str, Any]:
    """What will be run, in which order: scenarios, rounds with their visits and trial ids, and an
    estimate. The store adds `schema_version`."""
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
        "scenarios": [_scenario(scenario) for scenario in workflow.scenarios],
        "rounds": warmup + planned,
        "trials": sum(len(visit["trials"]) for block in planned for visit in block["visits"]),
        "max_rounds": design.rounds if stop is None else stop.max_rounds,
        "estimated_s": round(estimate.workflow_s(workflow), 1),
    }


def _variant(workflow: Workflow, variant: Variant) -> dict[str, Any]:
    scenario = next(s for s in workflow.scenarios if s.levels[LEVEL] == variant.name)
    return {
        "name": variant.name,
        "driver": workflow.infrastructure_of(scenario).driver,
        "changes": dict(variant.changes),
    }


def _scenario(scenario: Scenario) -> dict[str, Any]:
    return {
        "id": scenario.id,
        "scenario": dict(scenario.levels),
        "topology": scenario.topology.name,
        "functions": [function.name for function in scenario.chain.functions],
        "probes": [probe.label for probe in scenario.probes],
    }


def _round(workflow: Workflow, number: int, *, warmup: bool) -> dict[str, Any]:
    block_of = {
        scenario.id: index
        for index, block in enumerate(scenario_blocks(workflow))
        for scenario in block
    }
    order: dict[int, int] = {}

    def block(scenario: Scenario) -> dict[str, int]:
        """The number of its block in this round, where blocks hold more than one scenario."""
        return {"block": order.setdefault(block_of[scenario.id], len(order) + 1)}

    return {
        "round": number,
        "warmup": warmup,
        "visits": [
            {
                "scenario_id": visit.scenario.id,
                **(block(visit.scenario) if workflow.variants else {}),
                "trials": [trial.trial_id for trial in visit.trials],
            }
            for visit in visits(workflow, number, warmup=warmup)
        ],
    }
