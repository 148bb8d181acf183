"""SFCPerf in Python, and the notebook that shows it."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pandas
import pytest
from support.engine import SMALL, Bench
from support.heavy import imports
from support.records.compared_runs import ping_run

import sfcperf
from sfcperf.control import publishing
from sfcperf.errors import InputError

NOTEBOOK = Path(__file__).parents[3] / "examples" / "notebook" / "analyse-a-run.ipynb"


def test_tables_of_a_run(bench: Bench, finished: Path) -> None:
    run = sfcperf.load(finished.name, bench.results)
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
    assert str(found).startswith(found.headline[:40])


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        sfcperf.load(tmp_path)
    with pytest.raises(AttributeError, match="has no attribute 'laod'"):
        _ = sfcperf.laod


def test_importing_sfcperf_imports_none_of_it() -> None:
    assert imports("import sfcperf", ["pandas", "sfcperf.api"]) == ""


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On runs of two workflows, of which those of one are compared; intervals are those of the
    declared centre."""
    names = {"20260101-120000-a": "one", "20260102-120000-b": "two", "20260103-120000-c": "one"}
    for seed, (folder, name) in enumerate(names.items()):
        design = {"centre": "mean" if name == "two" else "median", "rarest_mode": 0.5}
        scenarios = [{"chain_length": 0} if name == "one" else {"frame_bytes": 64}]
        store = ping_run(
            tmp_path / "results" / folder, scenarios, name=name, design=design, seed=seed
        )
        assert publishing.analyse(store) == []
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    shown = []
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            *lines, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(lines, []), "notebook", "exec"), known)
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), "notebook", "eval"), known))
            else:
                exec(compile(ast.Module([last], []), "notebook", "exec"), known)
    [summary] = (
        sfcperf.load(tmp_path / "results" / "20260103-120000-c").summaries.query("primary").iloc
    )
    [row] = next(table for table in shown if table is not None).iloc
    assert row["estimate"] == summary["median"]
    assert (row["estimate_low"], row["estimate_high"]) == (
        summary["median_ci_low"], summary["median_ci_high"],
    )  # fmt: skip
    assert row["estimate_low"] <= row["estimate"] <= row["estimate_high"]
    assert known["compared"].comparison.baseline.run_id == "20260101-120000-a"


def test_estimates_are_of_the_declared_centre(tmp_path: Path) -> None:
    design = {"centre": "mean", "rarest_mode": 0.5}
    store = ping_run(tmp_path / "run", design=design)
    assert publishing.analyse(store) == []
    for row in sfcperf.load(store.folder).summaries.query("primary").iloc:
        assert row["estimate"] == row["mean"]
        assert (row["estimate_low"], row["estimate_high"]) == (row["ci_low"], row["ci_high"])
