from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.runs import RunOptions, build_run
from support.tiers import examples

from sfcperf.presentation.pages import trial_anchor
from sfcperf.report.telemetry_charts import telemetry_charts
from sfcperf.results.store import RunStore
from sfcperf.results.tables import monitor_cpu_s
from sfcperf.results.values import Observation


def test_lines_of_a_run(run: RunStore, tmp_path: Path) -> None:
    charts = telemetry_charts(run.telemetry_path)
    # CPU and memory come first.
    assert [chart.title for chart in charts][:2] == ["cpu cores", "memory"]
    assert charts[1].unit == "MiB"
    assert all("(" in chart.data["yLabel"] for chart in charts)
    # Lines break between trials.
    line = charts[0].data["series"][0]
    anchors = [anchor for anchor in line["anchors"] if anchor is not None]
    changes = sum(a != b for a, b in pairwise(anchors))
    assert line["y"].count(None) == changes > 10
    # A constant is said, not drawn.
    constant = [chart for chart in charts if chart.constant]
    assert [chart.title for chart in constant] == ["rx drops total"]
    assert "at most 0" in constant[0].note
    cost_s = {"cpu": 72 * 0.004, "memory": 72 * 0.002}
    assert monitor_cpu_s(run.telemetry_path) == pytest.approx(cost_s)
    assert telemetry_charts(tmp_path / "telemetry.parquet") == []
    assert monitor_cpu_s(tmp_path / "telemetry.parquet") == {}


def test_metrics_that_differ_in_their_unit_alone_say_it(new_run: RunStore) -> None:
    record = new_run.trials()[0]
    observations = [
        Observation(second * 10**9, "client", metric, unit, float(second))
        for second in (1, 2)
        for metric, unit in (("rx_bps", "bit/s"), ("rx_bytes", "B"), ("tx_bps", "bit/s"))
    ]
    new_run.write_trial_telemetry(record, observations)
    new_run.merge_telemetry()
    titles = [chart.title for chart in telemetry_charts(new_run.telemetry_path)]
    assert titles[-3:] == ["rx bps", "rx bytes", "tx"]


def test_values_below_0_are_as_large_as_they_are(new_run: RunStore) -> None:
    """For the unit; what a constant is at most has its sign."""
    observations = [
        Observation(second * 10**9, "client", metric, "us", value)
        for second in (1, 2)
        for metric, value in (("offset_us", -5e6 * second), ("still_us", -5e6))
    ]
    new_run.write_trial_telemetry(new_run.trials()[0], observations)
    new_run.merge_telemetry()
    moving, still = telemetry_charts(new_run.telemetry_path)[-2:]
    assert (moving.unit, moving.data["series"][0]["y"]) == ("s", [-5, -10])
    assert "at most -5" in still.note


def test_the_same_file_gives_the_same_lines(new_run: RunStore) -> None:
    """Also where many rows of a bin have its smallest value: it is not chance which is drawn."""
    ids = [record.trial_id for record in new_run.trials()]
    for number, record in enumerate(new_run.trials()):
        observations = [
            Observation((number * 1000 + i) * 10**6, "fwd-1", "cpu_cores", "1", float(i % 7 == 0))
            for i in range(900)
        ]
        new_run.write_trial_telemetry(record, observations)
    new_run.merge_telemetry()
    first, *others = (telemetry_charts(new_run.telemetry_path) for _ in range(4))
    assert all(other == first for other in others)
    [line] = first[0].data["series"]
    found = {trial_anchor(trial): number for number, trial in enumerate(ids)}
    for x, anchor in zip(line["x"], line["anchors"], strict=True):
        assert anchor is None or int(x) == found[anchor], "a point leads to another's trial"


def test_a_pause_of_the_run_takes_no_points(new_run: RunStore) -> None:
    """A run that was resumed a week later: its second half is drawn as finely as the first."""
    records = new_run.trials()[:10]
    for number, record in enumerate(new_run.trials()):
        if number >= len(records):
            (new_run.raw(record.trial_id) / "telemetry.parquet").unlink()
            continue
        start = number * 1000 + (7 * 86_400_000 if number >= 5 else 0)
        observations = [
            Observation((start + i) * 10**6, "fwd-1", "cpu_cores", "1", float(i * 37 % 101))
            for i in range(1000)
        ]
        new_run.write_trial_telemetry(record, observations)
    new_run.merge_telemetry()
    [line] = telemetry_charts(new_run.telemetry_path)[0].data["series"]
    x = [at for at in line["x"] if at is not None]
    halves = sum(at < 86_400 for at in x), sum(at >= 86_400 for at in x)
    assert min(halves) > 0.8 * max(halves) > 1000


@examples(5)
@given(peak=st.integers(0, 29_999), seed=st.integers(0, 9))
def test_thinning_keeps_peaks(tmp_path_factory, peak: int, seed: int) -> None:
    options = RunOptions(topologies=("T1",), chain_lengths=(0,), rounds=1, telemetry=False)
    run = build_run(tmp_path_factory.mktemp("thin") / "run", options)
    observations = [
        Observation(i * 10**6, "sff@node1", "cpu_cores", "1", float(i % (seed + 2)))
        for i in range(30_000)
    ]
    observations[peak] = Observation(peak * 10**6, "sff@node1", "cpu_cores", "1", 99.0)
    run.write_trial_telemetry(run.trials()[0], observations)
    run.merge_telemetry()
    (chart,) = telemetry_charts(run.telemetry_path)
    line = chart.data["series"][0]
    assert len(line["y"]) <= 4000
    assert max(line["y"]) == 99.0
    assert round(line["x"][line["y"].index(99.0)] * 1000) == peak  # x is in seconds
    assert min(line["y"]) == 0.0
    assert "of 30000 observations" in chart.note
    json.dumps(chart.data, allow_nan=False)
