"""Published values of claims stand in figures beside what they are about."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records.runs import RunOptions, build_run

from sfcperf.analysis.claims.analysis import claims_in
from sfcperf.figures.csv_tables import published_csv
from sfcperf.figures.drawing import draw
from sfcperf.figures.figure_files import resolve_figures
from sfcperf.figures.layout import FigureLayout
from sfcperf.figures.marks import drawn_values, star
from sfcperf.figures.plot import Plot, resolve
from sfcperf.figures.published import by_label, with_published
from sfcperf.figures.run_data import RunData, label_runs
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.package.verify.remake_figures import _draw as remake
from sfcperf.report.charts import chart
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.store import RunStore
from sfcperf.workflow.claims import claims_of


def operand(**at: Any) -> dict[str, Any]:
    return {"probe": "ping", "metric": "rtt_us", "at": at}


def claim(name: str, of: Mapping[str, Any], published: Any = 250, **others: Any) -> dict[str, Any]:
    """A claim about a value that is published in Fig. 8."""
    unit = {} if "quantity" in others else {"unit": "us"}
    about = {"text": name, "source": "Fig. 8", "published": published, "above": 1}
    return {"id": name, **about, **unit, "quantity": {"of": dict(of)}, **others}


OPTIONS = RunOptions(
    claims=(
        claim("point", operand(topology="T1", chain_length=1)),
        claim("digitised", operand(topology="T3", chain_length=2), 500, digitised=True),
        claim("series", operand(topology="T3"), 400),
        claim("far", operand(topology="T1", chain_length=2), 1e6),
    )
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """Nobody writes into it."""
    return build_run(tmp_path_factory.mktemp("runs") / "20260101-120000-claims-abc123", OPTIONS)


@pytest.fixture(scope="module")
def plot(run: RunStore) -> Plot:
    """Round-trip time in ms against chain length, a series per topology."""
    data = RunData(run, "run")
    return resolve_figures([data], data.figures)[0][0]


def test_a_value_is_of_a_point_or_of_a_series(plot: Plot) -> None:
    shown = {each.claim.id: each for each in plot.published}
    assert [(e.series, [p.level for p in e.points]) for e in shown.values()] == [
        ((0,), [1]), ((1,), [2]), ((1,), [0, 1, 2]), ((0,), [2])
    ]  # fmt: skip
    assert [each.beyond for each in shown.values()] == [False, False, False, True]


@pytest.mark.parametrize(
    "other",
    [
        claim("words", operand(topology="T1", chain_length=1), "it grows"),
        claim("ratio", operand(), quantity={"of": operand(topology="T1"), "to": operand()}),
        claim("slope", {**operand(topology="T1"), "slope": "chain_length"}),
        claim("minus", {**operand(chain_length=1), "minus": {"chain_length": 0}}),
        claim("over", {**operand(chain_length=1), "over": {"chain_length": 0}}),
        claim("all", operand()),
        claim("two of three", operand(topology="T1", chain_length=[0, 1])),
        claim("a level of another preset", operand(topology="T1", chain_length=[0, 9])),
        claim("another metric", {**operand(topology="T1"), "metric": "loss_ratio"}),
        claim("another probe", {**operand(topology="T1"), "probe": "dns"}),
        claim("of a monitor", {**operand(topology="T1"), "monitor": "fwd-1"}),
        claim("another factor", operand(topology="T1", rate=1)),
    ],
    ids=lambda value: value["id"],
)
def test_other_values_are_not_drawn(plot: Plot, other: Mapping[str, Any]) -> None:
    assert not with_published(plot, claims_of([other])).published


def test_distributions_and_curves_have_none(run: RunStore, plot: Plot) -> None:
    scenarios = [point.scenario for point in plot.points]
    for kind in ("ecdf", "ecdf-trials", "time"):
        spec = replace(plot.spec, kind=kind)
        per_scenario = resolve(spec, run.summaries(), scenarios)
        assert not with_published(per_scenario, claims_in(run)).published


def test_lines_of_a_figure_get_the_values_of_their_metric(tmp_path: Path) -> None:
    lines = [
        {"name": "probe", "probe": "ping", "metric": "loss_ratio"},
        {"name": "monitor", "probe": "ping", "metric": "cpu_cores", "source": "fwd-1"},
    ]
    figure = {"name": "both", "x": "chain_length", "y_label": "1", "lines": lines}
    cpu = {**operand(chain_length=1), "metric": "cpu_cores", "monitor": "fwd-1"}
    options = RunOptions(
        topologies=("T1",), figures=(figure,), claims=(claim("cpu", cpu, 0.3, unit="1"),)
    )
    data = RunData(build_run(tmp_path / "run", options), "run")
    ((plot, _),) = resolve_figures([data], data.figures)
    (value,) = plot.published
    assert plot.series[value.series[0]].name == "monitor"
    assert [point.level for point in value.points] == [1]


def test_a_value_is_drawn_once_for_many_runs(run: RunStore, tmp_path: Path) -> None:
    other = build_run(tmp_path / "20260102-120000-claims-abc124", OPTIONS)
    runs = label_runs([run, other], {"A": "a", "B": "b"})
    both = resolve_figures(runs, runs[0].figures)[0][0]
    assert [each.claim.id for each in both.published] == ["point", "digitised", "series", "far"]
    first = both.published[0]
    assert len(first.series) == 2 and len(first.points) == 1
    assert len(both.published[2].points) == 3


def test_the_legend_names_the_source(plot: Plot) -> None:
    groups = {label: [each.claim.id for each in values] for label, values in by_label(plot).items()}
    assert groups == {
        "Fig. 8, T1": ["point"],
        "Fig. 8, T3, read off a plot": ["digitised"],
        "Fig. 8, T3": ["series"],
        "Fig. 8, T1: 1000, beyond the axis": ["far"],
    }


def test_what_is_drawn_is_in_the_unit_of_the_axis(plot: Plot, tmp_path: Path) -> None:
    values = drawn_values(plot)
    assert 0.25 in values and 1000 not in values
    (svg,) = draw(plot, {}, tmp_path / "figure", FigureLayout(formats=("svg",)))
    words = " ".join(re.findall(r"<!-- (.*?) -->", svg.read_text()))
    assert all(label in words for label in by_label(plot))
    rows = list(csv.DictReader(io.StringIO(published_csv(plot))))
    assert [(row["claim"], row["chain_length"], float(row["y"])) for row in rows] == [
        ("point", "1", 0.25), ("digitised", "2", 0.5),
        ("series", "0", 0.4), ("series", "1", 0.4), ("series", "2", 0.4), ("far", "2", 1000),
    ]  # fmt: skip


def test_what_was_read_off_a_plot_is_hollow(plot: Plot) -> None:
    hollow = {e.claim.id for e in plot.published if star(e)["markerfacecolor"] == "white"}
    assert hollow == {"digitised"}


def test_the_report_draws_the_same(run: RunStore, plot: Plot) -> None:
    drawn = {
        each["name"]: each for each in chart("c", plot, TrialIndex(run.trials())).data["published"]
    }
    assert list(drawn) == list(by_label(plot))
    series = drawn["Fig. 8, T3"]
    assert (series["x"], series["y"], series["line"]) == ([0, 2, None], [0.4, 0.4, None], True)
    # Not drawn, but in the legend.
    assert drawn["Fig. 8, T1: 1000, beyond the axis"]["x"] == [None]


def test_a_package_can_be_checked_without_the_workflows_plug_ins(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run", OPTIONS)
    ReportPublisher({"formats": ["svg"]}).publish(store)
    remake(store, tmp_path)
    for name in ("fig8b.svg", "fig8b.published.csv"):
        assert (tmp_path / name).read_bytes() == (store.figures / name).read_bytes()
