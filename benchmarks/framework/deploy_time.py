"""Time to deploy and tear down chains on the local driver, per VNF, and whether it grows linearly.

What stands without a chain (nodes, SFFs, endpoints) is the floor, measured in the same run. A VNF's
share is what a chain of n takes beyond a chain of 1, divided by n - 1.

    sudo .venv/bin/python benchmarks/framework/deploy_time.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from _shared.chain import local_driver, workflow

LENGTHS = (0, 1, 8, 32)
BUDGETS_MS = {"ebpf": 40.0, "ovs": 150.0}
LINEAR = 1.5
"""A VNF in a chain of 32 may cost at most so many times one in a chain of 8."""


def deployment(run: Run) -> Iterator[Row]:
    """Chains with each data plane."""
    for plane, budget_ms in BUDGETS_MS.items():
        scenarios = _scenarios()
        with local_driver(dataplane=plane) as driver:
            driver.validate(driver.context.config, list(scenarios.values()))
            found = run.in_turn(scenarios, partial(_ms, driver), warm_up=True)
        shares = {
            length: (median(found[length]) - median(found[1])) / (length - 1)
            for length in LENGTHS[2:]
        }
        for length in LENGTHS[1:]:
            peer = ("nodes, SFF and endpoints alone", found[0])
            yield Row(f"{plane}, chain of {length}", found[length], "ms", *peer)
        for length, share in shares.items():
            name = f"{plane}, a VNF in a chain of {length}"
            yield Row(name, share, "ms", budget=Budget(high=budget_ms))
        name = f"{plane}, a VNF in a chain of 32 by one in a chain of 8"
        yield Row(name, shares[32] / shares[8], budget=Budget(high=LINEAR))


def _ms(driver: LocalDriver, scenario: Scenario) -> float:
    begin = time.perf_counter()
    driver.teardown(driver.deploy(scenario))
    return (time.perf_counter() - begin) * 1e3


def _scenarios() -> dict[int, Scenario]:
    document = workflow(
        vnfs={"fwd": {"type": "forwarder"}},
        chain={"functions": [{"vnf": "fwd", "count": "${chain_length}"}]},
        factors={"chain_length": list(LENGTHS)},
    )
    return dict(zip(LENGTHS, load_document(document, Path()).scenarios, strict=True))


if __name__ == "__main__":
    Benchmark(__doc__, {deployment: 7}).main()
