"""The shipped workflow of SFCMon: its flows against those of a capture, which tshark reads."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from support.command import run_folder
from support.schemas import violations
from support.vnfs.sff_bench import require_tshark

pytestmark = pytest.mark.root

SFCMON = {"monitor": "sfcmon"}
CAPTURE = {"monitor": "tcpdump", "hops": ["mon-1"], "max_bytes": 50_000_000}
UDP = {"probe": "iperf3", "protocol": "udp", "rate_bps": 8_000_000, "duration_s": 2}
SI = 254
"""With which packets reach the second function from either end of three."""
FIELDS = (
    "ip.src",
    "ip.dst",
    "ip.proto",
    "udp.srcport",
    "udp.dstport",
    "tcp.srcport",
    "tcp.dstport",
)


def run(results: Path, **changes: Any) -> Path:
    """Run the workflow with these changes; gives the run folder."""
    by_path = {name.replace("__", "."): value for name, value in changes.items()}
    return run_folder("sfcmon-chain", results, by_path, timeout_s=120)


def captured(pcap: Path) -> Counter[tuple[str, ...]]:
    """(SPI, SI, addresses, protocol, ports) -> packets that the SFF sent to the function."""
    fields = [word for name in ("nsh.spi", "nsh.si", *FIELDS) for word in ("-e", name)]
    command = ["tshark", "-r", str(pcap), "-Y", f"nsh.si == {SI}", "-T", "fields", *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: Counter[tuple[str, ...]] = Counter()
    for line in done.stdout.splitlines():
        spi, si, source, destination, protocol, *ports = line.split("\t")
        spoken = [port for port in ports if port]
        found[str(int(spi, 0)), str(int(si, 0)), source, destination, protocol, *spoken] += 1
    return found


def _without_tcp(flows: Counter[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    return {flow: packets for flow, packets in flows.items() if flow[4] != "6"}


@pytest.mark.parametrize("engine", ["ebpf", pytest.param("bmv2", marks=pytest.mark.bmv2)])
def test_flows_of_a_run_are_those_of_a_capture(tmp_path: Path, engine: str) -> None:
    require_tshark()
    folder = run(
        tmp_path,
        vnfs__mon__knobs__engine=engine,
        vnfs__mon__resources__memory_mib=256,
        factors={"threshold": [0]},
        vnfs__mon__knobs__threshold_eval=0,
        design__rounds=1,
        design__warmup_rounds=0,
        probes=[UDP, {"probe": "ping", "count": 20, "interval_s": 0.01}],
        monitors=[SFCMON, CAPTURE],
        figures=[],
    )
    assert violations(folder) == []
    rows = pyarrow.parquet.read_table(folder / "flows.parquet").to_pylist()
    totals = pyarrow.parquet.read_table(folder / "telemetry.parquet").to_pylist()
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    assert len(trials) == 2
    for trial in trials:
        (pcap,) = (folder / trial["raw"]).glob("**/tcpdump-mon-1.pcap")
        listed: Counter[tuple[str, ...]] = Counter()
        for row in (row for row in rows if row["trial_id"] == trial["trial_id"]):
            assert (row["function"], row["certainty"]) == ("mon-1", "exact")
            ports = (row["source_port"], row["destination_port"])
            flow = ("spi", "si", "source_address", "destination_address", "protocol")
            key = *(str(row[name]) for name in flow), *(str(port) for port in ports if port)
            listed[key] += row["packets"]
        if engine == "bmv2":
            # iperf3's control connection is still being closed when the monitors stop, one after
            # the other: bmv2 is slow enough for packets in between.
            assert _without_tcp(listed) == _without_tcp(captured(pcap))
        else:
            assert listed == captured(pcap)
        of_windows = {
            metric: sum(
                row["value"]
                for row in totals
                if (row["trial_id"], row["source"], row["metric"])
                == (trial["trial_id"], "mon-1", metric)
            )
            for metric in ("monitored_packets", "missing_flows", "residual_cells")
        }
        assert of_windows == {
            "monitored_packets": sum(listed.values()),
            "missing_flows": 0,
            "residual_cells": 0,
        }
    # By iperf3's own count, and the datagram with which it opens the stream.
    (client,) = folder.glob("raw/*iperf3*/**/iperf3-client.json")
    sent = json.loads(client.read_text())["end"]["sum"]["packets"]
    counted = sum(row["packets"] for row in rows if (row["protocol"], row["spi"]) == (17, 1))
    assert counted == sent + 1
    report = (folder / "report.html").read_text()
    assert "Heavy hitters" in report
    assert f"{counted:,}" in report


@pytest.mark.bmv2
def test_the_workflow_on_bmv2_alone(tmp_path: Path) -> None:
    """SFF and SF in P4: what both list are the datagrams that iperf3 has sent."""
    everything = {"at": "both", "threshold": 0, "threshold_eval": 0}
    folder = run(
        tmp_path,
        infrastructure__config={"dataplane": "bmv2"},
        vnfs__mon__knobs__engine="bmv2",
        vnfs__mon__knobs__threshold_eval=0,
        vnfs__mon__resources__memory_mib=256,
        factors={"threshold": [0]},
        design__rounds=1,
        design__warmup_rounds=0,
        probes=[UDP | {"rate_bps": 2_000_000}],
        monitors=[{**SFCMON, **everything}, {"monitor": "sff"}],
        figures=[],
    )
    assert violations(folder) == []
    (trial,) = (json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines())
    assert trial["status"] == "valid", trial
    (client,) = folder.glob("raw/*iperf3*/**/iperf3-client.json")
    sent = json.loads(client.read_text())["end"]["sum"]["packets"] + 1
    listed: Counter[tuple[str, int]] = Counter()
    for row in pyarrow.parquet.read_table(folder / "flows.parquet").to_pylist():
        if (row["protocol"], row["spi"]) == (17, 1):
            listed[row["function"], row["si"]] += row["packets"]
    lookups = {("sff@node1", si): sent for si in (255, 254, 253, 252)}
    assert listed == {("mon-1", SI): sent, **lookups}
    totals = {
        row["source"]: row["value"]
        for row in pyarrow.parquet.read_table(folder / "telemetry.parquet").to_pylist()
        if row["metric"] == "packets_total"
    }
    assert all(totals[f"sff@node1/spi1-si{si}"] >= sent for si in (255, 254, 253, 252))
