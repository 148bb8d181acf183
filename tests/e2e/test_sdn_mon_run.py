"""A run with the monitor sdn-mon: flows from the kernel to Parquet and the report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet
import pytest
from support.command import run_folder
from support.schemas import violations

pytestmark = pytest.mark.root
PORTS, ADDRESSES = 50, 3
SMALL = {
    "preset": "short",
    "factors.ratio": [1],
    "factors.rate_pps": [1000],
    "probes.0.flows": PORTS,
    "probes.0.source_addresses": ADDRESSES,
    "probes.0.duration_s": 0.5,
    "monitors.0.flows": PORTS * ADDRESSES,
    "monitors.0.query_interval_ms": 500,
    "monitors.0.most_flows": 10_000,
    "design.rounds": 1,
    "figures": [],
}


def test_flows_are_those_that_were_sent(tmp_path: Path) -> None:
    """The fields are those of the 5-tuple; rows add up to what telemetry says."""
    folder = run_folder("sdn-mon-fig6", tmp_path, SMALL, timeout_s=120)
    assert violations(folder) == []
    flows = pyarrow.parquet.read_table(folder / "flows.parquet").to_pylist()
    telemetry = pyarrow.parquet.read_table(folder / "telemetry.parquet").to_pylist()
    seen = Counter[str]()
    for row in telemetry:
        if row["source"] == "sff@node1":
            seen[row["metric"]] += row["value"]
    udp = {
        (row["source_address"], row["source_port"]): row
        for row in flows
        if row["protocol_name"] == "udp"
    }
    # Also warm-up packets, which come before, are of the first address.
    assert {address for address, _ in udp} == {"10.0.0.1", "10.0.1.1", "10.0.2.1"}
    assert len(udp) == PORTS * ADDRESSES
    assert {row["spi"] for row in flows} == {None}
    assert sum(row["packets"] for row in flows) == seen["monitored_packets"] > 0
    assert seen["received_packets"] == seen["port_packets"]
    assert "Heavy hitters" in (folder / "report.html").read_text()
