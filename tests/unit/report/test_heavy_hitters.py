"""The report's tables of flows, against the records."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from support.records.runs import RunOptions, build_run

from sfcperf.report import heavy_hitters as section
from sfcperf.report.heavy_hitters import FlowTable, heavy_hitters
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.flows import FLOWS, FlowRecord, flow_name
from sfcperf.results.store import RunStore
from sfcperf.results.values import Observation

OPTIONS = RunOptions(topologies=("T1",), chain_lengths=(0, 1), flows=True, figures=())


@pytest.fixture
def run(tmp_path: Path) -> RunStore:
    return build_run(tmp_path / "run", OPTIONS)


def tables(run: RunStore) -> list[FlowTable]:
    return heavy_hitters(run, run.trials())


def test_packets_and_shares_are_those_of_the_records(run: RunStore) -> None:
    valid = {record.trial_id: record.label for record in run.trials() if record.status == "valid"}
    packets: dict[tuple[str, str], int] = defaultdict(int)
    trials: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in FLOWS.read(run.flows_path).to_pylist():
        if row["trial_id"] in valid:
            names = ("source_address", "source_port", "destination_address", "destination_port")
            key = valid[row["trial_id"]], flow_name(*(row[n] for n in names), row["protocol_name"])
            packets[key] += row["packets"]
            trials[key].add(row["trial_id"])
    found = tables(run)
    assert [table.title for table in found] == [
        f"fwd-1: topology T1, chain_length 1, {label}"
        for label in ("httperf", "iperf3-tcp", "iperf3-udp", "ping")
    ]
    shown = 0
    for table in found:
        label = table.title.rpartition(" ")[2]
        for row in table.rows:
            sent = packets[label, row.name]
            seen = len(trials[label, row.name])
            sign = {"exact": ""}.get(row.certainty, "≤ " if "at most" in row.certainty else "≈ ")
            assert row.packets == f"{sign}{sent:,}"
            # Each trial has two windows of 2000 packets.
            assert row.share == f"{sign}{100 * sent / (4000 * seen):.3g} % of {4000 * seen:,}"
            path = "–" if row.name == "10.0.0.1 > *" else "SPI 10, SI 255"
            assert (row.windows, row.path) == (f"{2 * seen} of {2 * seen}", path)
            of_label = {trial for trial, own in valid.items() if own == label}
            assert row.trials == f"{seen} of {len(set().union(*trials.values()) & of_label)}"
            shown += 1
    assert shown == len(packets)
    # Certainty is the worst, and says how often.
    certainties = {row.certainty for table in found for row in table.rows}
    assert {"exact", "at most in 2 windows", "unverified in 2 windows"} <= certainties


def test_what_the_listing_lacks_is_said(run: RunStore) -> None:
    warned = [text for table in tables(run) for text in table.warnings]
    text = " ".join(warned)
    # No flow in the tables has fewer than 600 packets.
    assert "8 flows with together at most 180 packets are missing here. More" in text
    assert "In 2 of 6 windows, not all flows could be listed" in text
    assert "taken for one already stored" in text
    assert "14 frames, because the NSH carries neither IPv4 nor IPv6 (unparsed_not_ip)" in text
    assert not any("unparsed_truncated" in one for one in warned)


def test_a_full_table_is_said(run: RunStore) -> None:
    """It does not know how many flows it lacks."""
    for record in run.trials():
        seen = {"monitored_packets": 100.0, "missing_packets": 40.0}
        counts = [Observation(1, "fwd-1", metric, "1", n) for metric, n in seen.items()]
        run.write_trial_telemetry(record, counts)
    run.merge_telemetry()
    for table in tables(run):
        (warning,) = [text for text in table.warnings if "missing" in text]
        assert "the table of flows was full: " in warning
        assert "A larger table_flows has room for more" in warning


def test_the_smaller_flows_are_counted(run: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(section, "MOST_FLOWS", 1)
    for table in tables(run):
        # A UDP flow per trial, and three others.
        assert len(table.rows) == 1
        assert table.more == int(table.rows[0].trials.rpartition(" ")[2]) + 2


def test_windows_without_any_listed_flow_are_no_silence(run: RunStore) -> None:
    run.flows_path.unlink()
    found = tables(run)
    assert all(table.rows == () for table in found)
    warned = [text for table in found for text in table.warnings]
    assert any("are missing here, and may be larger than those shown" in text for text in warned)


def test_a_run_without_flows_has_no_tables(tmp_path: Path) -> None:
    run = build_run(tmp_path / "other", replace(OPTIONS, flows=False))
    # A metric of another monitor that has one of the names.
    record = run.trials()[-1]
    run.write_trial_telemetry(record, [Observation(1, "x", "missing_flows", "1", 3.0)])
    run.merge_telemetry()
    assert tables(run) == []


def test_text_of_others_stays_text(run: RunStore) -> None:
    record = next(r for r in run.trials() if r.status == "valid" and r.scenario["chain_length"])
    rows = FLOWS.read(run.raw(record.trial_id) / "flows.parquet").to_pylist()
    fields = FlowRecord.__dataclass_fields__
    flow = FlowRecord(**{name: rows[0][name] for name in fields})
    hostile = replace(flow, source_address="<script>alert(1)</script>", packets=10**9)
    run.write_trial_flows(record, [hostile])
    run.merge_flows()
    ReportPublisher({"formats": []}).publish(run)
    page = run.report.read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
