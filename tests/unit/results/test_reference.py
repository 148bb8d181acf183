"""docs/reference/results.md: its queries work, and it names each document of a run folder."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from support.records.trials import RTT, run_folder, trial

from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.results.store import RunFile
from sfcperf.results.values import Observation

PAGE = (Path(__file__).parents[3] / "docs/reference/results.md").read_text()
QUERIES = re.findall(r'duckdb -c "(.*?)"', PAGE, re.DOTALL)


def test_there_are_queries() -> None:
    assert len(QUERIES) == 2


@pytest.mark.parametrize("query", QUERIES)
def test_the_queries_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    scenarios = [{"id": f"s{n:03d}", "levels": {"chain_length": n}} for n in (0, 1)]
    probe = {"probe": "ping", "label": "ping", "scenarios": ["s000", "s001"], "metrics": [RTT]}
    trials = [trial(1, "s000"), trial(1, "s001")]
    store = run_folder(tmp_path / "run", trials, scenarios=scenarios, probes=[probe])
    for record in trials:
        store.write_trial_telemetry(record, [Observation(1, record.scenario_id, "cpu", "1", 0.5)])
    store.merge_telemetry()
    SummaryAnalysis({}).analyse(store)
    monkeypatch.chdir(store.folder)
    rows = duckdb.sql(query).fetchall()
    assert len(rows) == 2
    assert rows[0] != rows[1]
    assert {row[-3] for row in rows} == {100.0} or {row[-1] for row in rows} == {0.5}


def test_each_document_has_its_place() -> None:
    files, _, _ = PAGE.partition("## Read the results with other tools")
    named = set(re.findall(r"^\| (.*?) \|", files, re.MULTILINE))
    documents = {name.split("/")[0] for cell in named for name in re.findall(r"`(.*?)`", cell)}
    assert documents == set(RunFile)
