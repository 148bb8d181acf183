"""Bands of distributions: over trials, of each percentile within a typical trial."""

from __future__ import annotations

import csv
import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest
from support.records.runs import RunOptions, build_run

from sfcperf.analysis.statistics import Rules
from sfcperf.figures.distribution import band
from sfcperf.figures.figure_files import write_figures
from sfcperf.figures.layout import FigureLayout
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
    options = RunOptions(
        topologies=("T1",), chain_lengths=(0, 1), rounds=8, telemetry=False,
        untrusted=frozenset(), failed=frozenset(),
    )  # fmt: skip
    store = build_run(tmp_path_factory.mktemp("band") / "run", options)
    chance = random.Random(1)
    records = [_with_series(record, chance) for record in store.trials()]
    (store.folder / "trials.jsonl").unlink()
    again = RunStore(store.folder)
    for record in records:
        again.append_trial(record)
    return again


def _with_series(record: TrialRecord, chance: random.Random) -> TrialRecord:
    if record.label != "ping":
        return record
    mean = record.samples[0]["value"]
    values = [mean * chance.lognormvariate(0, 0.1) for _ in range(ECHOES)]
    samples = ({"metric": "rtt_us", "unit": "us", "value": sum(values) / ECHOES},)
    return replace(record, samples=samples, series={"rtt_us": values})


def plot_of(store: RunStore, kind: str = "ecdf") -> tuple[Plot, TrialIndex]:
    trials, rows = TrialIndex(store.trials()), store.summaries()
    scenarios = list({r.scenario_id: r.scenario for r in rows}.values())
    spec = next(f for f in automatic(rows, scenarios) if f.name == "ping-rtt_us")
    return resolve(replace(spec, kind=kind), rows, scenarios, trials), trials  # type: ignore[arg-type]


def test_a_distribution_is_of_each_echo_and_not_of_the_means(
    echoes: RunStore, tmp_path: Path
) -> None:
    request = FigureRequest(("ping-rtt_us",), kind="ecdf", name="d")
    write_figures([RunData(echoes, "a")], request, SVG, tmp_path)
    samples = list(csv.DictReader((tmp_path / "d.samples.csv").open()))
    assert len(samples) == 2 * 8 * ECHOES
    bands = list(csv.DictReader((tmp_path / "d.band.csv").open()))
    # Percentiles that 60 samples know: three of them beyond.
    assert [int(row["percent"]) for row in bands[: len(bands) // 2]] == list(range(5, 96))
    for row in bands:
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
    assert "pointwise" in (tmp_path / "d.tex").read_text()


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
