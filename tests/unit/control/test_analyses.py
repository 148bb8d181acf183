"""Analyses that a workflow asks for, in a run on the fake driver."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import Bench

from sfcperf.control import publishing
from sfcperf.errors import ExitCode, InputError
from sfcperf.results.store import RunFile, RunStore

DESIGN = {"rounds": 2, "warmup_rounds": 0}
ALL = [
    {"analysis": "merge"},
    {"analysis": "correlate", "series": ["cpu_cores"]},
    {"analysis": "enrich", "tables": [{"file": "probes.csv", "match": {"probe": "label"}}]},
]


@pytest.fixture
def table(bench: Bench, tmp_path: Path) -> Path:
    file = tmp_path / "probes.csv"
    file.write_text("probe,kind\na,first\nnobody,second\n")
    return file


def test_they_are_made_in_the_run_folder(bench: Bench, table: Path) -> None:
    outcome = bench.start(design=DESIGN, analyses=[*ALL, {"analysis": "summary"}])
    assert outcome.exit_code is ExitCode.OK, outcome.problems
    store = RunStore(bench.folder())
    assert store.summaries()
    assert store.joined_path.is_file()
    assert store.document(RunFile.CORRELATIONS) is not None
    tags = store.document(RunFile.TAGS)
    assert tags is not None
    assert {tag["value"] for tag in tags["tags"]} == {"first"}
    assert tags["files"][0]["unmatched_rows"] == [{"line": 3, "key": {"probe": "nobody"}}]


def test_a_wrong_file_is_found_before_the_run(bench: Bench, table: Path) -> None:
    table.write_text("probe,kind\na\n")
    with pytest.raises(InputError) as caught:
        bench.start(design=DESIGN, analyses=ALL)
    assert str(caught.value.where).endswith("probes.csv:2")
    assert list(bench.results.iterdir()) == []


def test_one_that_fails_does_not_keep_the_others_from_being_made(bench: Bench, table: Path) -> None:
    bench.start(design=DESIGN, analyses=[ALL[2], ALL[0]])
    store = RunStore(bench.folder())
    store.joined_path.unlink()
    table.unlink()
    problems = publishing.analyse(store)
    assert len(problems) == 1
    assert "analysis enrich" in problems[0]
    assert "probes.csv" in problems[0]
    assert store.joined_path.is_file()
    # What was known stays.
    assert store.document(RunFile.TAGS) is not None
