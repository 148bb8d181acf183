"""PPTMon in VMs, the testbed of its paper: times that captures in the guests confirm."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pyarrow.parquet
import pytest
from openstack.connection import Connection
from support.cloud.cloud_runs import CloudLab, workflow
from support.needs import skip_unless

from sfcperf.results.store import RunStore
from sfcperf.vnfs.ips import suricata
from sfcperf.vnfs.ips.function import Ips

pytestmark = [pytest.mark.server, pytest.mark.root, pytest.mark.exhaustive]

UDP = {
    "probe": "iperf3", "name": "udp", "protocol": "udp", "rate_bps": 300_000,
    "payload_bytes": 1200, "duration_s": 4,
}  # fmt: skip
TCP = {
    "probe": "iperf3", "name": "tcp", "protocol": "tcp", "rate_bps": 300_000,
    "write_bytes": 1200, "duration_s": 4,
}  # fmt: skip


def telemetry(run_folder: Path, metric: str) -> dict[str, list[float]]:
    """Source -> values of a metric."""
    values: dict[str, list[float]] = {}
    for row in pyarrow.parquet.read_table(run_folder / "telemetry.parquet").to_pylist():
        if row["metric"] == metric:
            values.setdefault(row["source"], []).append(row["value"])
    return values


def test_source_transit_and_sink(cloud: Connection, new_lab: Callable[..., CloudLab]) -> None:
    """In plain IP behind the SFC proxy, in NSH, and in plain IP: one VM each, in one chain. The
    first has a known delay."""
    document = workflow(cloud.config.name)
    document["vnfs"] = {
        "slow": {"type": "delay", "knobs": {"delay_us": 20_000}},
        "fwd": {"type": "forwarder", "knobs": {"engine": "userspace"}},
        "fw": {"type": "firewall"},
    }
    document["chain"] = {"functions": [{"vnf": "slow"}, {"vnf": "fwd"}, {"vnf": "fw"}]}
    document |= {
        "factors": {},
        "probes": [UDP, TCP],
        "monitors": [{"monitor": "pptmon", "rate_hz": 20}],
    }
    lab = new_lab(document)
    assert lab.run() in (0, 1), lab.said
    trials = RunStore(lab.run_folder).trials()
    assert {trial.status for trial in trials} <= {"valid", "untrusted"}, lab.said
    reported = telemetry(lab.run_folder, "processing_time_us")
    assert set(reported) == {"slow-1", "fwd-1", "fw-1"}
    assert all(len(values) >= 20 for values in reported.values())
    assert 20_000 <= median(reported["slow-1"]) < 40_000


def test_fig6(new_lab: Callable[..., CloudLab], tmp_path: Path) -> None:
    """As shipped, with its short preset: captures in the guest say the same times. One is of some
    packets and the other of all, on emulated CPUs."""
    lab = new_lab({})
    asked = ("pptmon-fig6", "--profile", "openstack", "--results", str(tmp_path / "results"))
    settings = ("--set", "preset=short", "--set", "design.rounds=1")
    assert lab.run("run", *asked, *settings) in (0, 1), lab.said
    store = RunStore(lab.run_folder)
    assert {trial.status for trial in store.trials()} <= {"valid", "untrusted"}, lab.said
    reported = telemetry(lab.run_folder, "processing_time_us")["fw-1"]
    captured = telemetry(lab.run_folder, "captured_processing_time_mean_us")["fw-1"]
    assert len(reported) >= 20
    assert 0.3 < median(reported) / median(captured) < 3, (median(reported), median(captured))


@pytest.mark.parametrize("engine", ["nftables", "suricata"])
def test_fig9(new_lab: Callable[..., CloudLab], tmp_path: Path, engine: str) -> None:
    """As shipped, with its short preset. The guest has no Suricata: it gets this machine's, with
    configuration and rules."""
    if engine == "suricata":
        skip_unless(*Ips.requirements({"engine": engine}))
    lab = new_lab({})
    asked = ("pptmon-fig9", "--profile", "openstack", "--results", str(tmp_path / "results"))
    knobs = {"engine": engine, "config": os.environ.get("SURICATA_CONFIG", suricata.CONFIG)}
    given = {"preset": "short", "design.rounds": 1, "vnfs.ips.knobs": json.dumps(knobs)}
    settings = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    assert lab.run("run", *asked, *settings) in (0, 1), lab.said
    trials = RunStore(lab.run_folder).trials()
    assert len(trials) == 4
    assert {trial.status for trial in trials} <= {"valid", "untrusted"}, lab.said
    # Guests of 256 MiB track few connections, unless the load balancer makes room for more.
    assert {trial.attempts for trial in trials} == {1}, lab.said
    engines = [trial.deployment["facts"]["functions"].get("ips-1") for trial in trials]
    assert engines.count({"engine": engine}) == 2
    reported = telemetry(lab.run_folder, "processing_time_us")
    assert set(reported) == {"fw-1", "ips-1", "lb-1"}
