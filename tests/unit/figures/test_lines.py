"""Figures that show what monitors observed beside what probes measured."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy
import pyarrow.parquet
import pytest
from support.records.runs import RunOptions, build_run

from sfcperf.analysis.statistics import mean_interval
from sfcperf.errors import InputError
from sfcperf.figures.figure_files import resolve_figures, write_figures
from sfcperf.figures.layout import FigureLayout
from sfcperf.figures.plot import Plot
from sfcperf.figures.run_data import RunData, resolve_figure, side_by_side
from sfcperf.figures.selection import FigureRequest
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.package.verify.remake_figures import _draw as remake
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.store import RunStore

FIGURE = {
    "name": "busy",
    "title": "CPU of the function",
    "x": "chain_length",
    "y_label": "CPUs",
    "lines": [
        {"name": "during ping", "probe": "ping", "metric": "cpu_cores", "source": "fwd-1"},
        {"name": "during TCP", "probe": "iperf3-tcp", "metric": "cpu_cores", "source": "fwd-1"},
        {"name": "lost echoes", "probe": "ping", "metric": "loss_ratio"},
    ],
}
OPTIONS = RunOptions(topologies=("T1",), figures=(FIGURE,))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """Nobody writes into it."""
    return build_run(tmp_path_factory.mktemp("runs") / "20260101-120000-lines-abc123", OPTIONS)


def resolved(run: RunStore) -> Plot:
    data = RunData(run, "run")
    ((plot, fits),) = resolve_figures([data], data.figures)
    assert fits == {}
    return plot


def observed(run: RunStore, trial_id: str, source: str, metric: str) -> list[float]:
    rows = pyarrow.parquet.read_table(run.telemetry_path).to_pylist()
    return [
        row["value"]
        for row in rows
        if (row["trial_id"], row["source"], row["metric"]) == (trial_id, source, metric)
    ]


def test_the_trial_is_the_unit_of_what_a_monitor_observed(run: RunStore) -> None:
    """Twenty observations in each of three trials are three numbers, not sixty."""
    plot = resolved(run)
    assert [series.name for series in plot.series] == ["during ping", "during TCP", "lost echoes"]
    point = plot.series[0].points[1]
    trials = [r for r in run.trials() if r.label == "ping" and r.scenario["chain_length"] == 1]
    means = [numpy.mean(observed(run, r.trial_id, "fwd-1", "cpu_cores")) for r in trials]
    row = point.summary
    assert row is not None and row.n == 3 and row.unit == "1" and row.valid
    assert row.mean == pytest.approx(numpy.mean(means))
    expected = mean_interval(means, 0.95)
    assert (row.ci_low, row.ci_high) == pytest.approx((expected.low, expected.high))
    assert [trial.value for trial in point.trials] == pytest.approx(means)


def test_a_line_of_a_probe_is_that_of_its_summary(run: RunStore) -> None:
    rows = [r for r in run.summaries() if (r.label, r.metric) == ("ping", "loss_ratio")]
    points = resolved(run).series[2].points
    assert [point.summary.mean for point in points if point.summary] == [r.mean for r in rows]


def test_where_nothing_was_observed_is_no_number(run: RunStore, tmp_path: Path) -> None:
    """A chain of length 0 has no function."""
    point = resolved(run).series[0].points[0]
    assert point.state == "missing" and point.trials == ()
    store = build_run(tmp_path / "run", replace(OPTIONS, telemetry=False))
    series = resolved(store).series[:2]
    assert {point.state for one in series for point in one.points} == {"missing"}


def test_trials_that_do_not_count_do_not(tmp_path: Path) -> None:
    spoiled = frozenset({"r002-s001-ping"})
    store = build_run(tmp_path / "run", replace(OPTIONS, untrusted=spoiled))
    point = resolved(store).series[0].points[1]
    assert point.state == "untrusted" and point.summary is not None
    assert (point.summary.n, point.summary.excluded) == (2, ("r002-s001-ping",))
    assert len(point.trials) == 3


def test_files_of_a_run_and_those_that_verify_makes_of_its_trials(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run", OPTIONS)
    ReportPublisher({}).publish(store)
    page = store.report.read_text()
    for words in ("CPU of the function", "during TCP", "busy.trials.csv"):
        assert words in page
    made = {path.name: path.read_bytes() for path in store.figures.iterdir()}
    endings = ("svg", "pdf", "png", "csv", "trials.csv")
    assert made.keys() == {f"busy.{ending}" for ending in endings}
    rows = list(csv.DictReader(io.StringIO(made["busy.csv"].decode())))
    assert {(row["line"], row["probe"], row["metric"]) for row in rows} == {
        ("during ping", "ping", "fwd-1: cpu_cores"),
        ("during TCP", "iperf3-tcp", "fwd-1: cpu_cores"),
        ("lost echoes", "ping", "loss_ratio"),
    }
    assert b"during TCP" in made["busy.svg"]
    # As `sfcperf verify` makes it again: without the workflow's plug-ins.
    (again := tmp_path / "again").mkdir()
    remake(store, again)
    assert {path.name: path.read_bytes() for path in again.iterdir()} == made


def test_two_runs_side_by_side(run: RunStore, tmp_path: Path) -> None:
    other = build_run(tmp_path / "other", replace(OPTIONS, rounds=4))
    runs = [RunData(run, "before"), RunData(other, "after")]
    results = side_by_side(runs)
    (spec,) = runs[0].figures
    plot = resolve_figure(runs, results, spec, TrialIndex(results.trials))
    assert len(plot.series) == 6
    counts = {series.name: series.points[1].summary for series in plot.series}
    found = {name: row.n for name, row in counts.items() if row}
    assert found["during ping, before"] == 3 and found["during ping, after"] == 4
    svg = FigureLayout(formats=("svg",))
    files = write_figures(runs, FigureRequest(kind="bar"), svg, tmp_path / "figures")
    assert {path.name for path in files} >= {"busy-bar.svg", "busy-bar.csv", "busy-bar.tex"}


def test_what_it_cannot_draw_is_told(run: RunStore, tmp_path: Path) -> None:
    request = FigureRequest(("busy",), kind="ecdf")
    with pytest.raises(InputError, match="several quantities"):
        write_figures([RunData(run, "run")], request, FigureLayout(), tmp_path)
    assert list(tmp_path.iterdir()) == []
