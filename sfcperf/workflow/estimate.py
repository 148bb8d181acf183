"""Estimate: how long a plan takes, for `sfcperf plan` and progress bars. Never a result.

The constants are the budgets of `benchmarks/`, not measurements of the machine at hand.
"""

from __future__ import annotations

from itertools import chain

from sfcperf import plugins
from sfcperf.workflow.model import ProbeSpec, Scenario, Workflow
from sfcperf.workflow.noise_gate import blocks_of, sentinel_scenario
from sfcperf.workflow.plan import Visit, visits

DEPLOY_S = 0.7
"""Deploying, proving and tearing down a scenario, without its service functions."""
DEPLOY_FUNCTION_S = 0.15
"""The same, for each service function."""
TRIAL_S = 0.3
"""Around a measurement: health, counters, monitors, servers, the record on disk."""


def probe_s(probe: ProbeSpec) -> float:
    """A trial of this probe, seconds."""
    measured: float = plugins.load("probe", probe.probe).duration_s(probe.parameters)
    return TRIAL_S + measured


def deploy_s(scenario: Scenario) -> float:
    """Deploying and tearing down a scenario, seconds."""
    return DEPLOY_S + DEPLOY_FUNCTION_S * len(scenario.chain.functions)


def visit_s(visit: Visit) -> float:
    """A visit: the deployment and its trials, seconds."""
    return deploy_s(visit.scenario) + sum(probe_s(trial.probe) for trial in visit.trials)


def workflow_s(workflow: Workflow) -> float:
    """All warm-up and planned rounds, seconds. Retries and the rounds that sequential stopping
    may add are not in it."""
    design = workflow.design
    warmup = (visits(workflow, n + 1, warmup=True) for n in range(design.warmup_rounds))
    planned = (visits(workflow, n + 1) for n in range(design.rounds))
    measured = sum(visit_s(visit) for visit in chain.from_iterable((*warmup, *planned)))
    return measured + _sentinel_s(workflow)


def _sentinel_s(workflow: Workflow) -> float:
    """Readings of the noise gate's sentinel, reruns left out."""
    gate, scenario = workflow.design.noise_gate, sentinel_scenario(workflow)
    if gate is None or gate.sentinel is None or scenario is None:
        return 0.0
    blocks = blocks_of(gate.sentinel, len(workflow.scenarios)) * workflow.design.rounds
    return (gate.sentinel.calibration + blocks) * (
        deploy_s(scenario) + probe_s(gate.sentinel.probe)
    )
