"""A run whose chain crosses three machines."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from support.command import run_folder
from support.local import small_workflow
from support.network import lab

from sfcperf.results.store import RunStore

pytestmark = pytest.mark.root
VNFS = {
    "fwd": {"type": "forwarder"},
    "user": {"type": "forwarder", "knobs": {"engine": "userspace"}},
    "fw": {"type": "firewall", "knobs": {"rules": 10}},
}
MONITORS = ("cpu", "memory", "processes", "interfaces", "sff", "pptmon")


def test_chain_probes_and_monitors(tmp_path: Path) -> None:
    if reason := lab.lacking():
        pytest.skip(reason)
    with lab.namespace_lab(tmp_path / "lab") as machines:
        workflow = tmp_path / "machines.json"
        content = small_workflow(
            topology="T3",
            infrastructure={"driver": "machines", "config": lab.config(machines)},
            vnfs=VNFS,
            chain={"functions": [{"vnf": name} for name in VNFS]},
            probes=[
                {"probe": "ping", "count": 20, "interval_s": 0.01},
                {"probe": "iperf3", "protocol": "tcp", "duration_s": 1},
            ],
            monitors=[{"monitor": name} for name in MONITORS],
        )
        workflow.write_text(json.dumps(content))
        store = RunStore.open(run_folder(workflow, tmp_path / "results", timeout_s=120))
        trials = store.trials()
        assert [trial.status for trial in trials] == ["valid", "valid"], trials
        sources = set(pyarrow.parquet.read_table(store.telemetry_path)["source"].to_pylist())
        assert {"client", "server", "fwd-1", "user-1", "fw-1", "sff@node2"} <= sources
        assert lab.as_it_was(machines, store.run_id.rsplit("-", 1)[-1])
