"""What the report says of labelled traffic."""

from __future__ import annotations

import csv
import json

import pytest
from support.records.trials import run_folder, trial

from sfcperf.active.labelled_traffic.blocking import PacketFate, blocked_by_label, measures
from sfcperf.active.labelled_traffic.probe import LabelledTraffic, result_of
from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.elasticsearch import mappings
from sfcperf.elasticsearch.documents import Documents
from sfcperf.report.blocking import blocking
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore

STOPPED = (8, 9, 9, 9, 9, 9, 10)


def record(round: int, stopped: int) -> TrialRecord:
    """Ten flows of each of two kinds of attack and of a user, four packets each; of the first kind,
    the last packets of so many flows were stopped."""
    fates = [
        PacketFate((label, flow), label, 100, 10_000_000 * place, not (
            label == "syn-flood" and flow < stopped and place == 3
        ))
        for place in range(4)
        for label in ("benign", "odd kind/1", "syn-flood")
        for flow in range(10)
    ]  # fmt: skip
    samples, notes, series = result_of(blocked_by_label(fates))
    return trial(
        round,
        label="traffic",
        probe="labelled_traffic",
        samples=tuple({"metric": s.metric, "unit": s.unit, "value": s.value} for s in samples),
        notes=notes,
        series=series,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    probes = [
        {
            "label": "traffic", "probe": "labelled_traffic", "scenarios": ["s000"],
            "metrics": [vars(metric) for metric in LabelledTraffic.reported],
        }
    ]  # fmt: skip
    trials = [record(number, stopped) for number, stopped in enumerate(STOPPED, 1)]
    store = run_folder(tmp_path_factory.mktemp("runs") / "run", trials, probes=probes)
    SummaryAnalysis({}).analyse(store)
    return store


def test_a_row_like_that_of_table_1(run: RunStore) -> None:
    [row] = blocking(run.summaries(), run.trials())
    assert row.trials == 7
    # In the median trial.
    assert row.confusion == ("9", "0", "10", "11")
    assert row.recall.startswith("45.0 % [")
    assert row.packets_blocked.startswith("11.2")
    assert row.packets_lost.startswith("0.0")
    assert row.time_to_block == "30.00 ms"


def test_each_kind_has_its_row(run: RunStore) -> None:
    [row] = blocking(run.summaries(), run.trials())
    assert [kind.kind for kind in row.kinds] == ["odd-kind-1", "syn-flood"]
    odd, flood = row.kinds
    assert (odd.flows, odd.packets, odd.recall) == ("10", "40", "0 %")
    assert flood.recall.startswith("90.0 % [")
    assert flood.packets_blocked.startswith("22.5 % [")
    assert (odd.time_to_block, flood.time_to_block) == ("–", "30.00 ms")


def test_kinds_are_in_the_files_and_in_one_place_of_the_page(run: RunStore) -> None:
    with (run.folder / "summary.csv").open() as file:
        rows = {row["metric"]: row for row in csv.DictReader(file)}
    assert float(rows["syn-flood.recall"]["median"]) == pytest.approx(0.9)
    assert rows["syn-flood.recall"]["median_ci_low"]
    ReportPublisher({"formats": []}).publish(run)
    page = run.report.read_text()
    assert "Blocking: labelled traffic" in page
    assert "syn-flood.recall" not in page.partition('id="blocking"')[0]


def test_kinds_reach_elasticsearch(run: RunStore) -> None:
    documents = [json.loads(d.body) for d in Documents(run).of(mappings.TRIALS)]
    recalls = [d["metric"]["value"] for d in documents if d["metric"]["name"] == "syn-flood.recall"]
    assert sorted(recalls) == [stopped / 10 for stopped in STOPPED]


def test_measures_are_those_that_the_probe_declares() -> None:
    fates = [PacketFate(n, label, 60, n, True) for n, label in enumerate(("benign", "flood"))]
    assert set(measures(blocked_by_label(fates))) == {m.name for m in LabelledTraffic.reported}
