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
from sfcperf.figures.figure_files import resolve_figures, write_figure, write_figures
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
    assert expected is not None
    assert (row.ci_low, row.ci_high) == pytest.approx((expected.low, expected.high))
    assert [trial.value for trial in point.trials] == pytest.approx(means)


def test_a_line_of_a_probe_is_that_of_its_summary(run: RunStore) -> None:
    rows = [r for r in run.summaries() if (r.label, r.metric) == ("ping", "loss_ratio")]
    points = resolved(run).series[2].points
    assert [point.summary.mean for point in points if point.summary] == [r.mean for r in rows]


def test_where_nothing_was_observed_is_no_number(run: RunStore) -> None:
    """A chain of length 0 has no function."""
    point = resolved(run).series[0].points[0]
    assert point.state == "missing" and point.trials == ()


def test_trials_that_do_not_count_do_not(tmp_path: Path) -> None:
    spoiled = frozenset({"r002-s001-ping"})
    store = build_run(tmp_path / "run", replace(OPTIONS, untrusted=spoiled))
    point = resolved(store).series[0].points[1]
    assert point.state == "untrusted" and point.summary is not None
    assert (point.summary.n, point.summary.excluded) == (2, ("r002-s001-ping",))
    assert len(point.trials) == 3


def test_a_run_without_telemetry_has_no_points(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run", replace(OPTIONS, telemetry=False))
    plot = resolved(store)
    assert {point.state for series in plot.series[:2] for point in series.points} == {"missing"}


def test_files_say_what_each_line_is(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run", OPTIONS)
    names = {path.name for path in draw_figures(store)}
    assert names == {f"busy.{ending}" for ending in ("svg", "pdf", "png", "csv", "trials.csv")}
    rows = list(csv.DictReader(io.StringIO((store.figures / "busy.csv").read_text())))
    seen = {(row["line"], row["probe"], row["metric"]) for row in rows}
    assert seen == {
        ("during ping", "ping", "fwd-1: cpu_cores"),
        ("during TCP", "iperf3-tcp", "fwd-1: cpu_cores"),
        ("lost echoes", "ping", "loss_ratio"),
    }
    svg = (store.figures / "busy.svg").read_text()
    assert "during TCP" in svg


def test_the_report_draws_it_with_a_point_for_each_trial(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run", OPTIONS)
    ReportPublisher({}).publish(store)
    page = store.report.read_text()
    assert "CPU of the function" in page and "during TCP" in page
    assert "busy.trials.csv" in page


def test_it_follows_from_the_trials(tmp_path: Path) -> None:
    """As `sfcperf verify` makes it again: without the workflow's plug-ins."""
    store = build_run(tmp_path / "run", OPTIONS)
    draw_figures(store)
    again = tmp_path / "again"
    again.mkdir()
    remake(store, again)
    made = {path.name: path.read_bytes() for path in again.iterdir()}
    assert made == {path.name: path.read_bytes() for path in store.figures.iterdir()}


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
    files = write_figures(runs, FigureRequest(("busy",)), FigureLayout(), tmp_path / "figures")
    assert (tmp_path / "figures" / "busy.pdf") in files


def test_what_it_cannot_draw_is_told(run: RunStore, tmp_path: Path) -> None:
    request = FigureRequest(("busy",), kind="ecdf")
    with pytest.raises(InputError, match="several quantities"):
        write_figures([RunData(run, "run")], request, FigureLayout(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_it_can_be_drawn_otherwise(run: RunStore, tmp_path: Path) -> None:
    """As bars, and with another style."""
    files = write_figures(
        [RunData(run, "run")], FigureRequest(kind="bar"), FigureLayout(), tmp_path
    )
    assert {path.name for path in files} >= {"busy-bar.pdf", "busy-bar.csv", "busy-bar.tex"}


def draw_figures(store: RunStore) -> list[Path]:
    run = RunData(store, "run")
    (figure,) = resolve_figures([run], run.figures)
    return write_figure(*figure, store.figures)
