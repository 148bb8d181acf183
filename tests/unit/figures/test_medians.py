"""Medians in figures: each centre with the interval that was made for it, and said."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from scipy.stats import binom
from support.records.runs import build_run
from support.records.shown_run import EIGHT_ROUNDS

from sfcperf.errors import InputError
from sfcperf.figures.figure_files import write_figures
from sfcperf.figures.layout import FigureLayout
from sfcperf.figures.notes import interval_note
from sfcperf.figures.plot import resolve
from sfcperf.figures.run_data import RunData
from sfcperf.figures.selection import FigureRequest, automatic
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.report.charts import chart
from sfcperf.results.store import RunStore

SVG = FigureLayout(formats=("svg",))


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return build_run(tmp_path_factory.mktemp("centre") / "run", EIGHT_ROUNDS)


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open()))


@pytest.mark.parametrize("kind", ["line", "bar"])
def test_medians_have_their_own_interval(long_run: RunStore, tmp_path: Path, kind: str) -> None:
    request = FigureRequest(("fig8b",), centre="median", kind=kind)
    write_figures([RunData(long_run, "a")], request, SVG, tmp_path)
    stem = f"fig8b-{kind}-median"
    trials = rows(tmp_path / f"{stem}.trials.csv")
    # Order statistics 1 and 8 of 8 cover 99.2 %, 2 and 7 cover 93.0 %: the ends lie between.
    assert 1 - 2 * binom.cdf(1, 8, 0.5) < 0.95 <= 1 - 2 * binom.cdf(0, 8, 0.5)
    for row in rows(tmp_path / f"{stem}.csv"):
        y = [float(t["y"]) for t in trials if t["chain_length"] == row["chain_length"]]
        assert float(row["y"]) == pytest.approx(median(y))
        smallest, second, *_, last_but_one, largest = sorted(y)
        assert smallest <= float(row["y_low"]) <= second
        assert last_but_one <= float(row["y_high"]) <= largest
        assert row["median_method"] == "interpolated order statistics (median)"
    text = (tmp_path / f"{stem}.tex").read_text()
    assert "Medians. Error bars: 95" in text and "(mean)" not in text


def test_the_page_and_its_table_show_what_the_figure_shows(long_run: RunStore) -> None:
    summaries, index = long_run.summaries(), TrialIndex(long_run.trials())
    scenarios = [row.scenario for row in summaries[::8]]
    spec = next(s for s in automatic(summaries, scenarios) if s.metric == "rtt_us")
    shown = chart("c", resolve(replace(spec, centre="median"), summaries, scenarios, index), index)
    [series] = shown.data["series"]
    by_level = {row.scenario["chain_length"]: row for row in summaries if row.metric == "rtt_us"}
    for point in series["points"]:
        row = by_level[point["x"]]
        assert point["y"] == row.median * spec.y_scale
        assert point["low"] == row.median_ci_low * spec.y_scale
        assert "median" in point["text"] and "mean" not in point["text"]
    assert shown.plot.centre == "median"
    assert "Medians." in shown.note
    # Points without an interval are counted.
    first, *others = summaries
    bare = replace(first, median_ci_low=None, median_ci_high=None, median_ci_withheld="it drifts")
    spec = next(s for s in automatic(summaries, scenarios) if s.metric == first.metric)
    plot = resolve(replace(spec, centre="median"), [bare, *others], scenarios)
    assert interval_note(plot).endswith("None at 1 point: it drifts.")


def test_too_few_trials_for_an_interval_are_told(new_run: RunStore, tmp_path: Path) -> None:
    """Three rounds: medians without error bars, not with those of the mean."""
    request = FigureRequest(("fig8b",), centre="median")
    write_figures([RunData(new_run, "a")], request, SVG, tmp_path)
    assert "Medians. No error bars" in (tmp_path / "fig8b-median.tex").read_text()
    assert {row["y_low"] for row in rows(tmp_path / "fig8b-median.csv")} == {""}


def test_what_the_run_declares_is_the_default_and_files_do_not_meet(
    long_run: RunStore, tmp_path: Path
) -> None:
    for centre in (None, "mean", "median"):
        request = FigureRequest(("fig8b",), centre=centre)
        write_figures([RunData(long_run, "a")], request, SVG, tmp_path)
    files = {p.name for p in tmp_path.glob("*.svg")}
    assert files == {"fig8b.svg", "fig8b-mean.svg", "fig8b-median.svg"}
    declared, asked = (rows(tmp_path / f"fig8b{end}.csv") for end in ("", "-mean"))
    assert [row["y"] for row in declared] == [row["y"] for row in asked]


@pytest.mark.parametrize("kind", ["box", "ecdf"])
def test_boxes_and_distributions_have_no_medians(
    long_run: RunStore, tmp_path: Path, kind: str
) -> None:
    with pytest.raises(InputError, match="draws the trials, not their median") as caught:
        request = FigureRequest(("fig8b",), centre="median", kind=kind)
        write_figures([RunData(long_run, "a")], request, SVG, tmp_path)
    assert caught.value.where == "--centre"
