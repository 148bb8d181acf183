"""Time to deploy and tear down chains on the local driver, per VNF.

Budget: 40 ms with the data plane `ebpf`, 150 ms with `ovs`; growth linear.

What stands without a chain (nodes, SFFs, endpoints) is the floor, measured in the same run. A VNF's
share is what a chain of n takes beyond a chain of 1, divided by n - 1.

    sudo .venv/bin/python benchmarks/framework/deploy_time.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared.chain import local_driver, workflow

LENGTHS = (0, 1, 8, 32)
ROUNDS = 7
BUDGETS_MS = {"ebpf": 40.0, "ovs": 150.0}
LINEAR = 1.5
"""A VNF in a chain of 32 may cost at most so many times one in a chain of 8."""


def main() -> None:
    """Print the figures and the budgets."""
    over = [plane for plane, budget_ms in BUDGETS_MS.items() if not _within(plane, budget_ms)]
    if over:
        raise SystemExit(f"over the budget: {', '.join(over)}")


def _within(plane: str, budget_ms: float) -> bool:
    with local_driver(dataplane=plane) as driver:
        times = _measure(driver, _scenarios())
    floor = median(times[0])
    print(f"{plane}: nodes, SFF and endpoints alone {floor * 1e3:.0f} ms (median of {ROUNDS})")
    shares = {}
    first = median(times[1])
    print(f"{plane}: chain of  1: {first * 1e3:5.0f} ms")
    for length in LENGTHS[2:]:
        total = median(times[length])
        shares[length] = (total - first) / (length - 1) * 1e3
        print(
            f"{plane}: chain of {length:2d}: {total * 1e3:5.0f} ms, of which {shares[length]:4.0f} "
            f"ms per VNF (budget {budget_ms:.0f} ms)"
        )
    growth = shares[32] / shares[8]
    print(
        f"{plane}: a VNF in a chain of 32 costs {growth:.2f} times one in a chain of 8 (linear: 1)"
    )
    return max(shares.values()) <= budget_ms and growth <= LINEAR


def _measure(driver: LocalDriver, scenarios: dict[int, Scenario]) -> dict[int, list[float]]:
    times: dict[int, list[float]] = {length: [] for length in LENGTHS}
    driver.validate(driver.context.config, list(scenarios.values()))
    # The first round pays for imports and cold caches.
    for number in range(ROUNDS + 1):
        for length, scenario in scenarios.items():
            begin = time.perf_counter()
            driver.teardown(driver.deploy(scenario))
            if number:
                times[length].append(time.perf_counter() - begin)
    return times


def _scenarios() -> dict[int, Scenario]:
    document = workflow(
        vnfs={"fwd": {"type": "forwarder"}},
        chain={"functions": [{"vnf": "fwd", "count": "${chain_length}"}]},
        factors={"chain_length": list(LENGTHS)},
    )
    return dict(zip(LENGTHS, load_document(document, Path()).scenarios, strict=True))


if __name__ == "__main__":
    main()
