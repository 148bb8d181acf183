"""verify: the scenarios of a package's workflow are those of its plan."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from sfcperf.control.resolved import resolved
from sfcperf.package.verify.expansion import scenario_differences
from sfcperf.workflow.document import read_document
from sfcperf.workflow.load import load_document

WORKFLOWS = Path(__file__).resolve().parents[3] / "workflows"


def plan_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    workflow = load_document(read_document(path), path.parent)
    return dict(workflow.document), {"resolved": resolved(workflow)}


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.json")), ids=lambda path: path.stem)
def test_those_of_a_shipped_workflow_are(path: Path) -> None:
    assert list(scenario_differences(*plan_of(path))) == []


EDITS: dict[str, Callable[[Any], object]] = {
    "for s001/chain": lambda w: w["vnfs"]["fwd"].update(type="firewall"),
    "for s000/chain": lambda w: w["chain"]["functions"].append({"vnf": "fwd"}),
    "for s000/probes": lambda w: w["probes"][0].update(interval_s=0.5),
    "for s000/monitors": lambda w: w.update(monitors=[{"monitor": "pcap"}]),
    "for s000/services": lambda w: w.update(services={"stream": {"service": "kafka"}}),
    "for s000/levels": lambda w: next(iter(w["factors"].values())).reverse(),
    "is not valid": lambda w: w.update(chain={"functions": [5]}),
}


@pytest.mark.parametrize("told", EDITS)
def test_what_only_the_workflow_says_is_found(told: str) -> None:
    workflow, plan = plan_of(WORKFLOWS / "quickstart.json")
    other = deepcopy(workflow)
    EDITS[told](other)
    assert told in next(scenario_differences(other, plan))


def test_services_are_those_of_the_plan() -> None:
    document = read_document(WORKFLOWS / "quickstart.json")
    document["services"] = {"stream": {"service": "kafka", "partitions": 2}}
    workflow = load_document(document, WORKFLOWS)
    applied, plan = dict(workflow.document), {"resolved": resolved(workflow)}
    assert list(scenario_differences(applied, plan)) == []
    other = deepcopy(applied)
    other["services"]["stream"]["partitions"] = 3
    assert "for s000/services" in next(scenario_differences(other, plan))
    del other["services"]
    assert "for s000/services" in next(scenario_differences(other, plan))


def test_scenarios_that_are_missing_are_found() -> None:
    workflow, plan = plan_of(WORKFLOWS / "quickstart.json")
    del plan["resolved"]["s001"]
    assert "3 scenarios" in next(scenario_differences(workflow, plan))
