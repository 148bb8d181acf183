"""SFCPerf in Python, and the notebook that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest
from support.engine import SMALL, Bench
from support.heavy import imports

import sfcperf
from sfcperf.errors import InputError

NOTEBOOK = Path(__file__).parents[3] / "examples" / "notebook" / "analyse-a-run.ipynb"


def test_tables_of_a_run(finished: Path) -> None:
    run = sfcperf.load(finished)
    assert run.folder == finished
    assert run.manifest["status"] == "complete"
    assert list(run.trials["status"]) == ["valid"] * 4
    assert set(run.samples["trial_id"]) == set(run.trials["trial_id"])
    summary = run.summaries.iloc[0]
    values = run.samples.query(f"scenario_id == {summary['scenario_id']!r}")["value"]
    assert summary["median"] == pytest.approx(values.median())
    assert isinstance(run.telemetry, pandas.DataFrame)
    assert run.flows.empty
    assert run.verdict.startswith("Read with care: all 4 trials are valid")
    assert run.query("select count(*) as n from trials")["n"].item() == 4
    assert run.arrow("select trial_id from trials").num_rows == 4


def test_a_run_by_its_name(bench: Bench, finished: Path) -> None:
    assert sfcperf.load(finished.name, bench.results).folder == finished


def test_a_workflow_runs(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    run = sfcperf.run(bench.write(**SMALL), results=bench.results, overrides=["design.rounds=1"])
    assert len(run.trials) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "round 1" in err


def test_several_runs_are_for_the_command_line(bench: Bench) -> None:
    with pytest.raises(InputError, match="2 runs are a campaign"):
        sfcperf.run(bench.write(**SMALL), results=bench.results, overrides=["design.runs=2"])


def test_comparisons_are_those_of_the_command(bench: Bench, finished: Path) -> None:
    other = sfcperf.run(bench.write(**SMALL), results=bench.results)
    found = sfcperf.compare(sfcperf.load(finished), other.folder, margins=["10%"])
    assert set(found.rows["verdict"]) <= {"better", "worse", "equivalent", "undecided", "different"}
    assert list(found.rows["candidate"].unique()) == [other.folder.name]
    assert "against" in str(found)


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        sfcperf.load(tmp_path)
    with pytest.raises(AttributeError, match="has no attribute 'laod'"):
        _ = sfcperf.laod


def test_importing_sfcperf_imports_none_of_it() -> None:
    assert imports("import sfcperf", ["pandas", "sfcperf.api"]) == ""


def test_the_notebook(bench: Bench, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sfcperf.run(bench.write(**SMALL), results=bench.results)
    monkeypatch.chdir(bench.results.parent)
    known: dict[str, object] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), known)
    assert "compared" in known
