"""Figures of kind `time`: a metric within the trials of each scenario."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median

import pytest
from support.records.runs import RunOptions, build_run
from support.records.shown_run import EIGHT_ROUNDS
from support.records.time_series import with_steps

from sfcperf.analysis.statistics import Rules
from sfcperf.errors import InputError
from sfcperf.figures.figure_files import resolve_figures, write_figure, write_figures
from sfcperf.figures.layout import FigureLayout
from sfcperf.figures.notes import note
from sfcperf.figures.plot import Plot, Point
from sfcperf.figures.run_data import RunData
from sfcperf.figures.selection import FigureRequest, chosen_figures
from sfcperf.figures.time_curve import TimeStep, bands, corners, time_curve
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.report.charts import chart
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import FigureLine, FigureSpec

SVG = FigureLayout(formats=("svg",))
REQUEST = FigureRequest(("ping-rtt_us",), kind="time", centre="median")


@dataclass(frozen=True)
class WithFigure(RunData):
    """A run whose workflow has another figure."""

    figure: FigureSpec | None = None

    @property
    def figures(self) -> tuple[FigureSpec, ...]:
        return () if self.figure is None else (self.figure,)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    store = build_run(tmp_path_factory.mktemp("time") / "run", EIGHT_ROUNDS)
    return RunData(with_steps(store), "a")


def plot_of(run: RunData, request: FigureRequest = REQUEST) -> Plot:
    [(plot, _)] = resolve_figures([run], chosen_figures([run], run.results, request))
    return plot


def in_step(point: Point, number: int) -> list[float]:
    return [trial.record.series["rtt_us"][number] for trial in point.valid_trials]


def test_each_step_is_estimated_over_the_trials(kept: RunData) -> None:
    for point in plot_of(kept).points:
        steps = point.curve("rtt_us", "median")
        assert [(step.start_s, step.end_s) for step in steps] == [
            (0, 0.5), (0.5, 1), (1, 1.5), (1.5, 2),
        ]  # fmt: skip
        assert (steps[0].value, steps[0].low, steps[0].high) == (0, None, None)
        assert steps[2].value == median(in_step(point, 2))
        assert steps[2].low < steps[2].value < steps[2].high


def test_files(kept: RunData, tmp_path: Path) -> None:
    write_figures([kept], REQUEST, SVG, tmp_path)
    rows = list(csv.DictReader((tmp_path / "ping-rtt_us-time-median.time.csv").open()))
    assert len(rows) == 2 * 4
    [scale] = {float(row["y"]) / float(row["value"]) for row in rows if float(row["value"])}
    for row in rows:
        if row["low"]:
            assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
            assert float(row["y_high"]) == float(row["high"]) * scale
    assert {row["centre"] for row in rows} == {"median"}
    assert "each step of time" in (tmp_path / "ping-rtt_us-time-median.tex").read_text()
    svg = (tmp_path / "ping-rtt_us-time-median.svg").read_text()
    assert svg.count("PolyCollection") >= 2


def test_the_centre_may_be_the_mean(kept: RunData) -> None:
    plot = plot_of(kept, replace(REQUEST, centre="mean"))
    point = plot.points[0]
    steps = point.curve("rtt_us", plot.centre)
    assert plot.centre == "mean"
    assert steps[2].value == pytest.approx(fmean(in_step(point, 2)))
    assert plot_of(kept, replace(REQUEST, centre=None)).centre == plot.summaries[0].centre
    assert note(plot, ()).startswith("Mean of the valid trials in each step of time (n = 8).")


def test_the_report_draws_the_same(kept: RunData) -> None:
    plot = plot_of(kept)
    drawn = chart("c", plot, TrialIndex(kept.trials)).data
    assert (drawn["kind"], drawn["ticks"]) == ("time", [])
    assert drawn["xLabel"] == "Time within the trial (s)"
    for curve, point in zip(drawn["series"], plot.points, strict=True):
        steps = point.curve("rtt_us", "median")
        x, y = corners(steps)
        assert curve["x"] == x
        assert curve["y"] == [value * plot.spec.y_scale for value in y]
        assert len(curve["bands"]) == len(bands(steps)) >= 1
        for outline in curve["bands"]:
            assert len(outline["x"]) == len(outline["y"])
            assert outline["x"][0] == outline["x"][-1]


def test_lines_are_metrics_of_probes(kept: RunData) -> None:
    [spec] = chosen_figures([kept], kept.results, REQUEST)
    line = FigureLine("echoes", "ping", "rtt_us")
    spec = replace(spec, probe="figure t", lines=(line,), series="line")
    [(plot, _)] = resolve_figures([kept], [spec])
    [(single, _)] = resolve_figures([kept], chosen_figures([kept], kept.results, REQUEST))
    curves = [[point.curve("rtt_us", "median") for point in of.points] for of in (plot, single)]
    assert curves[0] == curves[1]
    assert all(curves[0])


def test_lines_of_monitors_are_refused(kept: RunData) -> None:
    [spec] = chosen_figures([kept], kept.results, REQUEST)
    line = FigureLine("load", "ping", "cpu", "fwd-1")
    of_monitor = replace(spec, name="m", kind="line", lines=(line,))
    run = WithFigure(kept.store, "a", figure=of_monitor)
    with pytest.raises(InputError, match="lines of monitors"):
        chosen_figures([run], run.results, FigureRequest(("m",), kind="time"))


@pytest.fixture
def without(tmp_path: Path) -> RunData:
    return RunData(build_run(tmp_path / "run", RunOptions(rounds=3, chain_lengths=(0,))), "a")


def test_a_figure_of_the_workflow_without_steps_says_so(without: RunData, tmp_path: Path) -> None:
    [spec] = chosen_figures([without], without.results, REQUEST)
    [(plot, fits)] = resolve_figures([without], [spec])
    assert all(point.curve("rtt_us", "median") == [] for point in plot.points)
    assert "the trials kept no even steps" in note(plot, ())
    write_figure(plot, fits, tmp_path / "f", SVG)
    assert (tmp_path / "f" / "ping-rtt_us-time-median.time.csv").read_text().count("\n") == 1
    assert "nothing to draw" in (tmp_path / "f" / "ping-rtt_us-time-median.svg").read_text()


def test_curves_asked_for_that_are_not_there_are_refused(
    without: RunData, kept: RunData, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="has no curve over time") as caught:
        write_figures([without], REQUEST, SVG, tmp_path / "f")
    assert caught.value.where == "--kind"
    assert caught.value.allowed == "line, bar, box, ecdf, ecdf-trials"
    assert caught.value.hint is None
    assert not (tmp_path / "f").exists()
    other = next(r.label for r in kept.trials if r.label != "ping")
    with pytest.raises(InputError) as caught:
        write_figures([kept], FigureRequest(probe=other, kind="time"), SVG, tmp_path / "f")
    assert caught.value.hint == "with --probe, there are curves of ping"


def records(kept: RunData, *lengths_s: float | None) -> list[TrialRecord]:
    [first, *_] = [record for record in kept.trials if record.label == "ping"]
    return [
        replace(first, series={"rtt_us": [1.0] * (3 + number)}, series_step_s=length_s)
        for number, length_s in enumerate(lengths_s)
    ]


def test_steps_that_all_trials_have_and_that_are_alike(kept: RunData) -> None:
    found = time_curve(records(kept, 0.1, 0.1, 0.1), "rtt_us", Rules(), "median")
    assert [step.value for step in found] == [1, 1, 1]
    for lengths_s in ((0.1, 0.2), (0.1, None), (None, None), ()):
        assert time_curve(records(kept, *lengths_s), "rtt_us", Rules(), "median") == []


def test_bands_have_gaps() -> None:
    steps = [
        TimeStep(0, 1, 5, 4, 6), TimeStep(1, 2, 5, None, None), TimeStep(2, 3, 5, 4, 6),
        TimeStep(3, 4, 6, 5, 7),
    ]  # fmt: skip
    assert bands(steps) == [
        ([0, 1], [4, 4], [6, 6]), ([2, 3, 3, 4], [4, 4, 5, 5], [6, 6, 7, 7]),
    ]  # fmt: skip
    assert corners(steps[:2]) == ([0, 1, 1, 2], [5, 5, 5, 5])
