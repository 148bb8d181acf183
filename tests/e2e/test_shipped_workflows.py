"""The shipped workflows, in their short variants, for real: from one JSON file to a report."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet
import pytest
from support.command import run_folder
from support.records.page import Page
from support.schemas import violations
from support.tiers import is_gate

pytestmark = pytest.mark.root

WORKFLOWS = Path(__file__).parents[2] / "workflows"
FIGURES = {
    "compare-encapsulation": {"rtt", "tcp-rate"},
    "firewall-chain": {"rtt", "tcp-rate", "udp-loss", "http-rate"},
    "heavy-hitter-accuracy": {"accuracy", "false-positives"},
    "heavy-hitter-cores": {"packets", "throughput"},
    "heavy-hitter-hashes": {"packets", "throughput"},
    "heavy-hitter-mitigation": {"mitigation", "background", "let-through", "time-to-block"},
    "ndr-frame-sizes": {"ndr", "pdr"},
    "pktgen-rates": {"latency", "rate"},
    "pptmon-fig6": {"fig6"},
    "pptmon-fig7": {"fig7"},
    "pptmon-fig8": {"fig8", "fig8-http"},
    "pptmon-fig9": {"fig9"},
    "pptmon-sampling": {"sampling"},
    "quickstart": {"rtt", "tcp-rate", "udp-loss", "http-rate"},
    "sdn-mon-entries": {"output"},
    "sdn-mon-fig5": {"fig5", "fig5-cpu"},
    "sdn-mon-fig6": {"fig6", "fig6-cpu", "fig6-ratio"},
    "sdn-mon-fig7": {"fig7"},
    "sdn-mon-fig8": {"fig8"},
    "sfcmon-chain": {"flows", "tcp-rate"},
    "sfcmon-detection": {"precision"},
    "sfcmon-fig3": {"fig3"},
    "sfcmon-fig4": {"fig4a", "fig4b"},
    "sfcmon-fig4-bmv2": {"fig4a", "fig4b"},
    "sfcperf-blocking": {"attack-packets", "time-to-block", "benign-packets"},
    "sfcperf-fig8": {"fig8a", "fig8b", "fig8c"},
    "sfcperf-fig8d": {"fig8d"},
    "sfcperf-fig9": {"fig9a", "fig9b", "fig9c"},
    "sfcperf-table1": {"table1", "mcc", "time-to-block"},
}
FIXED_LENGTHS = {
    "heavy-hitter-accuracy": 0,
    "heavy-hitter-cores": 0,
    "heavy-hitter-hashes": 0,
    "sdn-mon-entries": 0,
    "sdn-mon-fig5": 0,
    "sdn-mon-fig6": 0,
    "sdn-mon-fig7": 0,
    "sdn-mon-fig8": 0,
    "sfcperf-blocking": 2,
    "sfcperf-table1": 2,
    "firewall-chain": 2,
    "sfcmon-chain": 3,
    "sfcmon-detection": 0,
    "sfcmon-fig3": 0,
}
CHAINS = {"SFC1": 2, "SFC2": 3, "firewall-IDS": 2}
"""Level of the factor `chain` -> its VNFs."""


def broken(folder: Path, page: Page) -> list[str]:
    """Links of a report that lead nowhere, neither within it nor in the run folder."""
    return [
        target
        for target in page.all("href")
        if (
            target[1:] not in page.all("id")
            if target.startswith("#")
            else not (folder / unquote(target)).exists()
        )
    ]


def run(workflow: str, results: Path) -> Path:
    """Run it and give its folder. In the gate (quickstart): two rounds, and little work for the
    generators of load."""
    ab = {"probe": "ab", "concurrency": 1, "requests": 500}
    small = {"design.rounds": 2, "probes.1.rate_bps": 50_000_000, "probes.3": ab}
    changes = {"preset": "short"} | (small if is_gate() else {})
    return run_folder(workflow, results, changes, timeout_s=900)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def figures_of(folder: Path) -> list[dict[str, Any]]:
    """The figures that a run's workflow asks for."""
    found: list[dict[str, Any]] = json.loads((folder / "workflow.json").read_text())["figures"]
    return found


def test_all_that_are_shipped_are_run() -> None:
    assert {path.stem for path in WORKFLOWS.glob("*.json")} == set(FIGURES)


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize(
    "workflow",
    [
        pytest.param(name, marks=pytest.mark.bmv2) if name.endswith("-bmv2") else name
        for name in sorted(FIGURES, key="quickstart".__ne__)
    ],
)
def test_short_variant(workflow: str, tmp_path: Path) -> None:
    folder = run(workflow, tmp_path)
    assert violations(folder) == []
    trials = lines(folder / "trials.jsonl")
    plan = json.loads((folder / "plan.json").read_text())
    planned = [
        trial
        for round_ in plan["rounds"]
        if not round_["warmup"]
        for visit in round_["visits"]
        for trial in visit["trials"]
    ]
    assert sorted(trial["trial_id"] for trial in trials) == sorted(planned)
    assert {
        trial["trial_id"]: trial["reasons"] for trial in trials if trial["status"] == "failed"
    } == {}
    for trial in trials:
        assert trial["deployment"]["traversal"]["proven"] is True
        levels = trial["scenario"]
        fixed = FIXED_LENGTHS.get(workflow, 1)
        length = levels.get("chain_length", CHAINS.get(levels.get("chain"), fixed))
        asked = levels["variant"] if workflow == "compare-encapsulation" else "nsh-eth"
        assert trial["deployment"]["encapsulation"] == (asked if length else "none")
        assert len(trial["packets"]) == length
        assert all(packets > 0 for packets in trial["packets"].values())
    drawn = {path.name for path in (folder / "figures").iterdir()}
    of_time = {name for name in drawn if name.startswith("attribution-")}
    assert bool(of_time) is workflow.startswith("pptmon")
    of_searches = {name for name in drawn if name.startswith("throughput-ndr")}
    assert ("throughput-ndr-loss.pdf" in of_searches) is (workflow == "ndr-frame-sizes")
    of_curves = {f"{f['name']}.time.csv" for f in figures_of(folder) if f.get("kind") == "time"}
    assert drawn - of_time - of_searches == of_curves | {
        f"{name}.{ending}"
        for name in FIGURES[workflow]
        for ending in ("svg", "pdf", "png", "csv", "trials.csv")
    }
    fits = any(figure.get("fit") for figure in figures_of(folder))
    assert ("R²" in (folder / "report.html").read_text()) is fits
    page = Page((folder / "report.html").read_text())
    assert broken(folder, page) == []
    # Each trial that has a value is a point, which leads to its row, which leads to its raw files.
    figures = [chart for chart in page.data.values() if chart["kind"] != "time"]
    points = {point["anchor"] for c in figures for s in c["series"] for point in s["trials"]}
    assert points == {f"trial-{trial['trial_id']}" for trial in trials} <= set(page.all("id"))
    assert {f"./{trial['raw']}/" for trial in trials} <= set(page.all("href"))
    assert all(any((folder / trial["raw"]).iterdir()) for trial in trials)
    if workflow.startswith("pptmon"):
        check_samples(workflow, folder, trials)
    if workflow == "heavy-hitter-mitigation":
        check_let_through(trials)


def check_samples(workflow: str, folder: Path, trials: list[dict[str, Any]]) -> None:
    """PPTMon sampled where it was on, at every VNF, and only there."""
    rows = pyarrow.parquet.read_table(folder / "telemetry.parquet").to_pylist()
    times = [row for row in rows if row["metric"] == "processing_time_us"]
    on = [t for t in trials if t["scenario"].get("variant") not in ("off", "PPTMon-off")]
    counts = {r["trial_id"]: r["value"] for r in rows if r["metric"] == "pptmon_truncated_samples"}
    assert set(counts) == {trial["trial_id"] for trial in on}
    # A segment with SACK blocks may have no room for the last VNF of a chain.
    assert {(row["trial_id"], row["source"]) for row in times if not counts[row["trial_id"]]} == {
        (trial["trial_id"], vnf)
        for trial in on
        if not counts[trial["trial_id"]]
        for vnf in trial["packets"]
    }
    assert all(0 < row["value"] < 1e6 for row in times)
    if workflow == "pptmon-fig6":
        # A packet that is held to 1000 rules takes longer, in both views.
        for metric in ("processing_time_us", "captured_processing_time_us"):
            found: dict[int, list[float]] = {0: [], 1000: []}
            for row in (row for row in rows if row["metric"] == metric):
                found[json.loads(row["scenario"])["rules"]].append(row["value"])
            assert median(found[1000]) > median(found[0]) > 0


def check_let_through(trials: list[dict[str, Any]]) -> None:
    """Exactly the threshold passed, whoever sent late on a busy machine."""
    for trial in trials:
        if all(reason.endswith(" ms late") for reason in trial["reasons"]):
            values = {sample["metric"]: sample["value"] for sample in trial["samples"]}
            assert values["let_through_packets"] == trial["scenario"]["threshold"]


@pytest.mark.exhaustive
def test_longer_chains_take_longer(tmp_path: Path) -> None:
    """The one thing about speed that must hold on any machine: five more functions are slower."""
    changes = {
        "preset": "short",
        "factors.topology": ["T1"],
        "factors.chain_length": [0, 10],
        "probes": [{"probe": "ping", "name": "rtt", "count": 50, "interval_s": 0.01}],
        "figures": [],
    }
    folder = run_folder("sfcperf-fig8", tmp_path, changes, timeout_s=300)
    rtt = {
        row["scenario"]["chain_length"]: row["median"]
        for row in json.loads((folder / "summary.json").read_text())["summaries"]
        if row["metric"] == "rtt_min_us"
    }
    assert rtt[10] > rtt[0]
