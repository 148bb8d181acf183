"""Flows: their names, and the file of a run from those of its trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
from support.records.trials import run_folder, trial
from support.schemas import validator

from sfcperf.results.flows import FlowRecord, flow_name

FLOW = FlowRecord(
    function="mon-1",
    window_start_ns=10**18,
    window_end_ns=10**18 + 1,
    spi=1,
    si=254,
    source_address="10.0.0.1",
    destination_address="10.0.0.2",
    protocol=17,
    source_port=1000,
    destination_port=80,
    packets=3,
    bytes=300,
    certainty="exact",
)


def test_names_are_those_of_tcpdump() -> None:
    for ends, name in (
        (("10.0.0.1", 1000, "10.0.1.1", 80, "tcp"), "10.0.0.1:1000 > 10.0.1.1:80 tcp"),
        (("fd00::1", 1000, "fd00::2", 0, "udp"), "[fd00::1]:1000 > fd00::2 udp"),
        (("10.0.0.1", 0, "10.0.1.1", 0, "icmp"), "10.0.0.1 > 10.0.1.1 icmp"),
    ):
        assert flow_name(*ends) == name
    assert replace(FLOW, protocol=200).protocol_name == "protocol 200"


def test_flows_of_finished_trials_are_merged_and_as_the_schema_says(tmp_path: Path) -> None:
    store = run_folder(tmp_path / "run", [trial(2), trial(1)])
    for record in (trial(1), trial(2), trial(3)):
        store.write_trial_flows(record, [replace(FLOW, packets=record.round)] * 2)
    assert store.merge_flows() == store.flows_path
    table = pyarrow.parquet.read_table(store.flows_path)
    assert table.schema.metadata[b"schema_version"] == b"1"
    rows = table.to_pylist()
    # Round 3 is not in trials.jsonl: its trial was not finished.
    assert [row["packets"] for row in rows] == [2, 2, 1, 1]
    for row in rows:
        validator("flows").validate(row)
        assert row.keys() == validator("flows").schema["properties"].keys()
