"""heavy_hitter behind a function of the kernel, by one workflow: on this machine, and in VMs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.parquet
import pytest
from support.cloud.cloud_runs import CONFIG, CloudLab
from support.needs import compiled

from sfcperf.results.store import RunStore
from sfcperf.vnfs.heavy_hitter.running import BINARY

pytestmark = [pytest.mark.server, pytest.mark.root, pytest.mark.exhaustive]

THRESHOLD = 100
WORKFLOW: dict[str, Any] = {
    "sfcperf": 1,
    "name": "heavy-hitters",
    "topology": "T1",
    "vnfs": {
        "r": {"type": "router"},
        # The one window of a trial.
        "hh": {
            "type": "heavy_hitter",
            "knobs": {
                "engine": "${engine}", "threshold": THRESHOLD, "window_s": 3600, "expiry_s": 3600,
            },
        },
    },
    "chain": {
        "functions": [{"vnf": "r"}, {"vnf": "hh"}],
        "classifier": {"match": {"ip_proto": "any"}},
        "encapsulation": "auto",
    },
    "factors": {"engine": ["native", "swx"]},
    "probes": [{"probe": "ping", "count": 10, "interval_s": 0.2}],
    "monitors": [
        {"monitor": "sfcmon"},
        {"monitor": "background", "rate_pps": 200, "rate_tolerance": 0.5},
    ],
    "design": {"rounds": 1, "warmup_rounds": 0},
    "publish": [],
}  # fmt: skip


ON = {"local": {"driver": "local"}, "openstack": {"driver": "openstack", "config": CONFIG}}


@pytest.mark.parametrize("infrastructure", ON.values(), ids=ON)
def test_a_flow_above_the_threshold_is_blocked_and_listed(
    new_lab: Callable[..., CloudLab], infrastructure: dict[str, Any]
) -> None:
    """What ping sends passes. An emulated cloud may lose datagrams, but not give more of them."""
    compiled(BINARY)
    lab = new_lab({**WORKFLOW, "infrastructure": infrastructure})
    assert lab.run() == 0, lab.said
    store = RunStore(lab.run_folder)
    trials = {trial.trial_id: trial for trial in store.trials()}
    assert [trial.status for trial in trials.values()] == ["valid", "valid"]
    flows = pyarrow.parquet.read_table(lab.run_folder / "flows.parquet").to_pylist()
    assert {flow["trial_id"] for flow in flows} == set(trials)
    for flow in flows:
        assert (flow["function"], flow["protocol_name"]) == ("hh-1", "udp")
        assert (flow["destination_port"], flow["packets"]) == (9, THRESHOLD)
        trial = trials[flow["trial_id"]]
        assert trial.notes["received"] == 10
        sent = int(_sent(lab, trial.trial_id))
        assert 0 < trial.notes["sf_drops"]["hh-1"] <= sent - THRESHOLD
        assert trial.packets["r-1"] - trial.packets["hh-1"] >= trial.notes["sf_drops"]["hh-1"]


def _sent(lab: CloudLab, trial_id: str) -> float:
    rows = pyarrow.parquet.read_table(lab.run_folder / "telemetry.parquet").to_pylist()
    (value,) = (
        row["value"]
        for row in rows
        if (row["trial_id"], row["metric"]) == (trial_id, "sent_packets")
    )
    return float(value)
