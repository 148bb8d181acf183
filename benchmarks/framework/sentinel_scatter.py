"""How much readings of the noise gate's sentinel scatter on a machine that does not change: with
pings at an interval, and with adaptive ones.

    sudo .venv/bin/python benchmarks/framework/sentinel_scatter.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from sfcperf.active.ping import Ping
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document
from sfcperf.workflow.noise_gate import DEFAULT_METRIC, DEFAULT_PROBE

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Row, Run
from _shared.chain import local_driver, workflow

PROBES: Mapping[str, Mapping[str, Any]] = {
    "50 pings, 10 ms apart": {"count": 50, "interval_s": 0.01},
    "the default": {key: value for key, value in DEFAULT_PROBE.items() if key != "probe"},
}


def readings(run: Run) -> Iterator[Row]:
    """A chain of length 0, deployed for each reading."""
    probes = {
        name: Ping(with_defaults(Ping.parameters, parameters))
        for name, parameters in PROBES.items()
    }
    with local_driver(dataplane="ebpf") as driver:
        found = run.in_turn(probes, lambda probe: _reading_us(driver, probe))
    for name, values in found.items():
        low, high, scatter = min(values), max(values), 100 * stdev(values) / fmean(values)
        remarks = f"{low:g} to {high:g} us, scatter {scatter:.1f} %"
        yield Row(name, values, "us", remarks=remarks)


def _reading_us(driver: LocalDriver, probe: Ping) -> float:
    document = workflow(
        vnfs={"fwd": {"type": "forwarder"}},
        chain={"functions": [{"vnf": "fwd", "count": "${length}"}]},
        factors={"length": [0]},
    )
    [scenario] = load_document(document, Path()).scenarios
    deployment = driver.deploy(scenario)
    with TemporaryDirectory() as folder:
        probe.prepare(deployment, Path(folder))
        result = probe.measure(deployment, Path(folder))
    driver.teardown(deployment)
    return next(sample.value for sample in result.samples if sample.metric == DEFAULT_METRIC)


if __name__ == "__main__":
    Benchmark(__doc__, {readings: 25}).main()
