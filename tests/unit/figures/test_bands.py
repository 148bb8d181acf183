"""Bands of distributions: over trials, of each percentile within a typical trial."""

from __future__ import annotations

import csv
import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.records.runs import RunOptions, build_run
from support.records.shown_run import EIGHT_ROUNDS
from support.records.time_series import with_trials

from sfcperf.analysis.statistics import Rules
from sfcperf.figures.distribution import band
from sfcperf.figures.figure_files import write_figures
from sfcperf.figures.layout import FigureLayout
from sfcperf.figures.marks import distribution_marks
from sfcperf.figures.notes import interval_note
from sfcperf.figures.plot import Plot, resolve
from sfcperf.figures.run_data import RunData
from sfcperf.figures.selection import FigureRequest, automatic
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.report.charts import chart
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore

SVG = FigureLayout(formats=("svg",))
ECHOES = 60


@pytest.fixture(scope="module")
def echoes(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """Eight rounds; ping keeps each echo in its series, and their mean as the one sample."""
    store = build_run(tmp_path_factory.mktemp("band") / "run", EIGHT_ROUNDS)
    chance = random.Random(1)
    return with_trials(store, (_with_series(record, chance) for record in store.trials()))


def _with_series(record: TrialRecord, chance: random.Random) -> TrialRecord:
    if record.label != "ping":
        return record
    mean = record.samples[0]["value"]
    values = [mean * chance.lognormvariate(0, 0.1) for _ in range(ECHOES)]
    samples = ({"metric": "rtt_us", "unit": "us", "value": sum(values) / ECHOES},)
    return replace(record, samples=samples, series={"rtt_us": values})


def plot_of(
    store: RunStore, kind: str = "ecdf", name: str = "ping-rtt_us"
) -> tuple[Plot, TrialIndex]:
    trials, rows = TrialIndex(store.trials()), store.summaries()
    scenarios = list({r.scenario_id: r.scenario for r in rows}.values())
    spec = next(f for f in automatic(rows, scenarios) if f.name == name)
    return resolve(replace(spec, kind=kind), rows, scenarios, trials), trials  # type: ignore[arg-type]


def test_a_distribution_is_of_each_echo_not_of_the_means(echoes: RunStore, tmp_path: Path) -> None:
    request = FigureRequest(("ping-rtt_us",), kind="ecdf")
    write_figures([RunData(echoes, "a")], request, SVG, tmp_path)
    samples = list(csv.DictReader((tmp_path / "ping-rtt_us-ecdf.samples.csv").open()))
    assert len(samples) == 2 * 8 * ECHOES
    bands = list(csv.DictReader((tmp_path / "ping-rtt_us-ecdf.band.csv").open()))
    # Percentiles that 60 samples know: three of them beyond.
    assert [int(row["percent"]) for row in bands[: len(bands) // 2]] == list(range(5, 96))
    for row in bands:
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
    assert "pointwise" in (tmp_path / "ping-rtt_us-ecdf.tex").read_text()


def test_thin_lines_of_trials_lie_behind_that_of_all_samples(echoes: RunStore) -> None:
    """Both renderers; the shares are counted again."""
    plot, trials = plot_of(echoes)
    axes = Figure().add_subplot()
    distribution_marks(axes, plot)
    drawn = chart("c", plot, trials).data["series"]
    for place, point in enumerate(plot.points):
        *thin, thick = axes.get_lines()[place * 9 : place * 9 + 9]
        each = [[v * plot.spec.y_scale for v in t.series("rtt_us")] for t in point.valid_trials]
        everything = np.concatenate(each)
        assert len(everything) == 8 * ECHOES
        for line, values in zip((*thin, thick), (*each, everything), strict=True):
            for x, y in zip(*line.get_data(), strict=True):
                above = np.mean(values <= x), np.mean(np.asarray(values) < x)
                assert y == pytest.approx(above[0]) or y == pytest.approx(above[1])
            assert len(line.get_xdata()) == len(values) + 1
        assert all(line.get_zorder() < thick.get_zorder() for line in thin)
        assert all(line.get_linewidth() < 0.5 * thick.get_linewidth() for line in thin)
        assert drawn[place]["trials"]["x"].count(None) == len(each)
        assert set(drawn[place]["trials"]["x"]) - {None} == set(everything)


def test_the_distribution_of_means_is_another_figure(echoes: RunStore, tmp_path: Path) -> None:
    plot, trials = plot_of(echoes, "ecdf-trials")
    for curve, point in zip(chart("c", plot, trials).data["series"], plot.points, strict=True):
        means = sorted(trial.value * plot.spec.y_scale for trial in point.valid_trials)
        assert (curve["x"][1:], curve["trials"], curve["band"]) == (means, None, None)
    request = FigureRequest(metric="rtt_us", kind="ecdf-trials")
    write_figures([RunData(echoes, "a")], request, SVG, tmp_path)
    [svg] = tmp_path.glob("*.svg")
    assert svg.stem == "ping-rtt_us-ecdf-trials"
    assert "Share of trials" in svg.read_text()
    assert "Distribution of the valid trials' means (n = 8)" in svg.read_text()


def test_one_value_per_trial_has_no_distribution_of_samples(echoes: RunStore) -> None:
    plot, trials = plot_of(echoes, name="httperf-replies_per_s")
    assert "of the valid trials' values, of which each has one" in interval_note(plot)
    assert chart("c", plot, trials).data["shareLabel"] == "Share of trials (1)"


def test_the_report_draws_the_same_band(echoes: RunStore) -> None:
    plot, trials = plot_of(echoes)
    drawn = chart("c", plot, trials).data["series"]
    for curve, point in zip(drawn, plot.points, strict=True):
        found = point.band("rtt_us")
        lows, highs = [one.low for one in found], [one.high for one in found]
        scale = plot.spec.y_scale
        assert curve["band"]["x"] == [v * scale for v in (*lows, *reversed(highs))]
        assert curve["band"]["y"][0] == curve["band"]["y"][-1] == 0.05


def test_a_band_grows_with_the_percent() -> None:
    chance = random.Random(3)
    levels = chance.sample(range(9), 9)
    trials = [[chance.gauss(level, 1) for _ in range(400)] for level in levels]
    found = band(trials, Rules())
    assert [one.percent for one in found] == list(range(1, 100))
    for one, following in itertools.pairwise(found):
        assert one.low <= following.low and one.high <= following.high


@pytest.mark.parametrize("trials", [[[1.0] * 50] * 3, [[1.0] * 5] * 10, []])
def test_too_few_trials_or_samples_have_no_band(trials: list[list[float]]) -> None:
    assert band(trials, Rules()) == []


def test_a_figure_says_why_it_has_no_band(tmp_path: Path) -> None:
    few = build_run(tmp_path / "run", RunOptions(rounds=3, chain_lengths=(0,)))
    plot, trials = plot_of(few)
    assert "No band: it needs six trials or more" in interval_note(plot)
    assert all(curve["band"] is None for curve in chart("c", plot, trials).data["series"])
