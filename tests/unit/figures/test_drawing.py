from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.records.runs import RunOptions, build_run

from sfcperf.analysis.fits import fit_lines
from sfcperf.errors import InputError
from sfcperf.figures import drawing
from sfcperf.figures.csv_tables import data_csv
from sfcperf.figures.figure_files import write_figure
from sfcperf.figures.fits import fits_by_series
from sfcperf.figures.layout import FigureLayout
from sfcperf.figures.marks import fit_mark
from sfcperf.figures.plot import Plot, resolve
from sfcperf.results.records import Summary
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import FigureSpec, Workflow

SVG = FigureLayout(formats=("svg",))
HOSTILE = "$\\frac{ <b>&\"' \x00\x1b %s {0} _x"


@pytest.fixture(scope="module")
def workflow(run: RunStore) -> Workflow:
    return load_document(*run.workflow())


def plots(workflow: Workflow, summaries: list[Summary]) -> list[Plot]:
    scenarios = [scenario.levels for scenario in workflow.scenarios]
    return [resolve(spec, summaries, scenarios) for spec in workflow.figures]


def test_same_results_give_the_same_bytes(
    run: RunStore, workflow: Workflow, summaries: list[Summary], tmp_path: Path
) -> None:
    plot, _ = plots(workflow, summaries)
    fits = fits_by_series(plot, fit_lines(run, plot.spec))
    first, second = (drawing.draw(plot, fits, tmp_path / name) for name in "ab")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.suffix


def test_words_in_a_figure(
    run: RunStore, workflow: Workflow, summaries: list[Summary], tmp_path: Path
) -> None:
    """Units, the kind of interval, the fit, and points that are untrusted or missing."""

    def words(plot: Plot) -> str:
        fits = fits_by_series(plot, fit_lines(run, plot.spec))
        (svg,) = drawing.draw(plot, fits, tmp_path / "figure", SVG)
        # Text is drawn as paths; matplotlib leaves each line as a comment.
        return " ".join(re.findall(r"<!-- (.*?) -->", svg.read_text()))

    text = words(plots(workflow, summaries)[0])
    for said in ("Round-trip time [ms]", "95 % confidence interval", "T1 (R² = 0.9"):
        assert said in text, said
    gone = [row for row in summaries if row.scenario_id != "s000"]
    text = words(plots(workflow, gone)[1])
    assert "no valid trial (1 point)" in text
    assert "untrusted or failed (1 point)" in text


@pytest.mark.parametrize("kind", ["line", "bar", "box", "ecdf", "time"])
def test_without_any_number(workflow: Workflow, kind: str, tmp_path: Path) -> None:
    spec = replace(workflow.figures[0], kind=kind)
    plot = resolve(spec, [], [scenario.levels for scenario in workflow.scenarios])
    (svg,) = drawing.draw(plot, {}, tmp_path / "figure", SVG)
    assert "no valid trial (6 points)" in svg.read_text()
    assert ("nothing to draw" in svg.read_text()) == (kind in ("ecdf", "time"))


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("kind", ["line", "bar", "box", "ecdf"])
def test_hostile_words(
    workflow: Workflow, summaries: list[Summary], kind: str, tmp_path: Path
) -> None:
    spec = replace(workflow.figures[0], kind=kind, x_label=HOSTILE, y_label=HOSTILE, title=HOSTILE)
    rows = [replace(r, scenario={**r.scenario, "topology": "_" + HOSTILE}) for r in summaries[:8]]
    plot = resolve(spec, rows, [row.scenario for row in rows])
    for path in drawing.draw(plot, {}, tmp_path / "figure"):
        assert path.stat().st_size > 1000
    ElementTree.parse(tmp_path / "figure.svg")


def test_a_long_label_is_broken_and_not_clipped(
    workflow: Workflow, summaries: list[Summary], tmp_path: Path
) -> None:
    label = "Round-trip time of each echo through the whole chain and back to the client (ms)"
    spec = replace(workflow.figures[0], y_label=label)
    plot = resolve(spec, summaries, [scenario.levels for scenario in workflow.scenarios])
    [svg] = drawing.draw(plot, {}, tmp_path / "figure", SVG)
    drawn = re.findall(r"<!-- (.*?) -->", svg.read_text())
    assert label not in drawn
    assert label in " ".join(drawn)


def test_data_beside_the_figure(workflow: Workflow, summaries: list[Summary]) -> None:
    plot = plots(workflow, summaries)[1]
    rows = list(csv.DictReader(data_csv(plot).splitlines()))
    assert len(rows) == 6
    for row in rows:
        assert float(row["y"]) == pytest.approx(float(row["mean"]) * 1e-3)
    known = [row for row in rows if row["ci_low"]]
    assert len(known) == 5
    for row in known:
        assert float(row["ci_low"]) <= float(row["mean"]) <= float(row["ci_high"])
    marked = [row for row in rows if row["state"] == "untrusted"]
    assert [row["excluded"] for row in marked] == ["r002-s002-iperf3-udp"]


@pytest.mark.parametrize(
    "name",
    ["../fig", "a/b", "", ".", "..", "-rf", "a}\\x{y", "a$b", "a%b", "a\nb"],
)
def test_a_file_name_is_no_command_and_stays_in_its_folder(
    new_run: RunStore, workflow: Workflow, name: str
) -> None:
    spec: FigureSpec = replace(workflow.figures[0], name=name)
    with pytest.raises(InputError, match="plain file name"):
        write_figure(resolve(spec, [], []), {}, new_run.figures)


def test_the_fitted_line_meets_the_bars_of_its_levels(tmp_path: Path) -> None:
    """Bars of the levels 1, 3 and 9 stand at 0, 1 and 2: there the line has their values."""
    from matplotlib.figure import Figure

    options = RunOptions(topologies=("T1",), chain_lengths=(1, 3, 9), telemetry=False)
    run = build_run(tmp_path / "run", options)
    [spec] = [f for f in load_document(*run.workflow()).figures if f.name == "fig8b"]
    scenarios = [{"topology": "T1", "chain_length": n} for n in (1, 3, 9)]
    for kind, where in (("bar", {0: 1, 1: 3, 2: 9}), ("line", {1: 1, 9: 9})):
        plot = resolve(replace(spec, kind=kind), run.summaries(), scenarios)
        [fit] = fit_lines(run, plot.spec)
        axes = Figure().add_subplot()
        fit_mark(axes, plot, plot.series[0], fit, 0)
        [line] = axes.get_lines()
        assert list(line.get_xdata()) == list(where)
        expected = [(fit.intercept + fit.slope * n) * spec.y_scale for n in where.values()]
        assert list(line.get_ydata()) == pytest.approx(expected)
