"""plan.json: the plan as a document (schemas/plan.schema.json)."""

from __future__ import annotations

from typing import Any

from sfcperf.workflow import estimate
from sfcperf.workflow.model import Scenario, Workflow
from sfcperf.workflow.plan import visits


def plan_document(workflow: Workflow) -> dict[str, Any]:
    """What will be run, in which order: scenarios, rounds with their visits and trial ids, and an
    estimate. The store adds `schema_version`."""
    design = workflow.design
    warmup = [_round(workflow, n, warmup=True) for n in range(1, design.warmup_rounds + 1)]
    planned = [_round(workflow, n, warmup=False) for n in range(1, design.rounds + 1)]
    stop = design.stop_when
    return {
        "name": workflow.name,
        "driver": workflow.driver,
        "seed": design.seed,
        "order": design.order,
        "scenarios": [_scenario(scenario) for scenario in workflow.scenarios],
        "rounds": warmup + planned,
        "trials": sum(len(visit["trials"]) for block in planned for visit in block["visits"]),
        "max_rounds": design.rounds if stop is None else stop.max_rounds,
        "estimated_s": round(estimate.workflow_s(workflow), 1),
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
    return {
        "round": number,
        "warmup": warmup,
        "visits": [
            {
                "scenario_id": visit.scenario.id,
                "trials": [trial.trial_id for trial in visit.trials],
            }
            for visit in visits(workflow, number, warmup=warmup)
        ],
    }
