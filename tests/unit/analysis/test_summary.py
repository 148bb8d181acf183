"""summary.json: what counts, what does not, and what is said of it."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
from support.records.manifests import metric
from support.records.trials import RTT, run_folder, trial

from sfcperf.analysis.statistics import mean_interval, median_interval
from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.errors import InputError
from sfcperf.results.records import Estimate, Summary
from sfcperf.results.store import RunStore

THREE_ROUNDS = {
    "rounds": 3, "warmup_rounds": 1, "order": "randomized-blocks", "seed": 1, "confidence": 0.95,
    "stop_when": None, "max_retries": 2,
}  # fmt: skip


def summarise(store: RunStore) -> list[Summary]:
    SummaryAnalysis({}).analyse(store)
    return store.summaries()


def planned(
    *scenarios: str, labels: Sequence[str] = ("ping",), probe: str = "ping", **more: Any
) -> dict[str, Any]:
    return {
        "scenarios": [{"id": s, "levels": {"chain_length": int(s[1:])}} for s in scenarios],
        "probes": [
            {"probe": probe, "label": label, "scenarios": list(scenarios), "metrics": [RTT]}
            for label in labels
        ],
        "design": THREE_ROUNDS,
        **more,
    }


def test_trials_are_averaged_first_then_counted(tmp_path: Path) -> None:
    """Twenty echoes of one trial are one observation, not twenty."""
    trials = [
        trial(1, values=[90, 110, 100, 100]),
        trial(2, values=[120]),
        trial(3, values=[100, 120]),
    ]
    [row] = summarise(run_folder(tmp_path / "run", trials, **planned("s000")))
    assert row.n == 3
    assert (row.mean, row.median, row.stdev) == (110, 110, 10)
    assert row.estimate() == Estimate(110, None, None, "", row.median_ci_withheld)
    assert "needs 6 trials; there are 3" in row.median_ci_withheld
    assert (row.confidence, row.valid, row.reasons) == (0.95, True, ())
    assert (row.primary, row.better, row.stop_reason) == (True, "lower", "planned rounds done")


def test_only_valid_trials_count_and_the_others_are_named(tmp_path: Path) -> None:
    trials = [
        trial(1, values=[100]),
        trial(2, values=[900], status="untrusted"),
        trial(3, values=[], status="failed"),
    ]
    [row] = summarise(run_folder(tmp_path / "run", trials, **planned("s000")))
    assert (row.n, row.mean, row.ci_low, row.valid) == (1, 100, None, False)
    assert row.trials == ("r001-s000-ping",)
    assert row.excluded == ("r002-s000-ping", "r003-s000-ping")
    assert row.reasons == (
        "r002-s000-ping untrusted: it was untrusted",
        "r003-s000-ping failed: it was failed",
    )


def test_a_scenario_that_failed_entirely_has_its_rows(tmp_path: Path) -> None:
    """Though no sample names the metric, and though its probe is not installed here."""
    trials = [trial(n, values=[], status="failed", probe="gone") for n in (1, 2, 3)]
    [row] = summarise(run_folder(tmp_path / "run", trials, **planned("s000", probe="gone")))
    assert (row.metric, row.unit, row.n, row.mean, row.valid) == ("rtt_us", "us", 0, None, False)
    assert len(row.excluded) == 3


@pytest.mark.parametrize("better", [True, False])
def test_a_trial_is_replaced_by_its_valid_rerun(tmp_path: Path, better: bool) -> None:
    first = trial(2, values=[900], status="untrusted")
    again = trial(
        2,
        status="valid" if better else "untrusted",
        trial_id="r002.1-s000-ping",
        rerun_of=first.trial_id,
    )
    trials = [trial(1), first, trial(3), again]
    [row] = summarise(run_folder(tmp_path / "run", trials, **planned("s000")))
    named = () if better else (first.trial_id, again.trial_id)
    assert (row.n, row.planned, row.valid) == (2 + better, 3, better)
    assert tuple(reason.split()[0] for reason in row.reasons) == named
    assert row.excluded == (named or (first.trial_id,))
    assert (again.trial_id in row.trials) is better


def test_a_metric_that_a_trial_lacks_is_said(tmp_path: Path) -> None:
    trials = [trial(1), trial(2, metric="ttl", unit="1"), trial(3)]
    rtt, ttl = summarise(run_folder(tmp_path / "run", trials, **planned("s000")))
    assert (rtt.metric, rtt.n, rtt.valid) == ("rtt_us", 2, False)
    assert rtt.reasons == ("r002-s000-ping has no sample of rtt_us",)
    assert (ttl.metric, ttl.n, ttl.primary, ttl.unit) == ("ttl", 1, False, "1")


def test_rounds_that_were_not_run_make_a_row_invalid(tmp_path: Path) -> None:
    store = run_folder(
        tmp_path / "run", [trial(1)], **planned("s000", "s001", status="interrupted")
    )
    first, second = summarise(store)
    assert not first.valid and first.reasons == ("round 2 was not run", "round 3 was not run")
    assert first.stop_reason == "the run ended early, after 1 of 3 rounds"
    assert (second.scenario, second.n, second.valid) == ({"chain_length": 1}, 0, False)


def test_rounds_added_by_sequential_stopping_are_planned_too(tmp_path: Path) -> None:
    trials = [trial(n, label=label) for n in (1, 2, 3, 4) for label in ("ping", "other")]
    manifest = planned(
        "s000",
        labels=("ping", "other"),
        design={"stop_when": {"relative_half_width": 0.05, "max_rounds": 4}},
        stopping={"s000": "half-width 0.04 <= 0.05 after 4 rounds"},
    )
    ping, other = summarise(run_folder(tmp_path / "run", trials[:-1], **manifest))
    assert ping.valid and ping.stop_reason == "half-width 0.04 <= 0.05 after 4 rounds"
    assert not other.valid and other.reasons == ("round 4 was not run",)


def test_rows_come_in_the_order_of_the_plan(tmp_path: Path) -> None:
    labels = ("s001", "a")  # a probe may be called like a scenario
    trials = [trial(1, s, label) for s in ("s010", "s002", "s001") for label in labels]
    manifest = planned("s001", "s002", "s010", labels=labels)
    rows = summarise(run_folder(tmp_path / "run", trials, **manifest))
    assert [(row.scenario_id, row.label) for row in rows] == [
        (s, label) for s in ("s001", "s002", "s010") for label in labels
    ]
    without_plan = run_folder(tmp_path / "bare", [trial(1, "s001"), trial(1, "s000")])
    assert [row.scenario_id for row in summarise(without_plan)] == ["s000", "s001"]


SIX = [104.0, 100.0, 103.0, 101.0, 105.0, 102.0]


def test_confidence_and_centre_are_the_workflows(tmp_path: Path) -> None:
    trials = [trial(n, values=[value]) for n, value in enumerate(SIX, 1)]
    manifest = planned("s000", design={**THREE_ROUNDS, "rounds": 6, "confidence": 0.5})
    [row] = summarise(run_folder(tmp_path / "run", trials, **manifest))
    expected = median_interval(SIX, 0.5)
    assert (row.median_ci_low, row.median_ci_high) == (expected.low, expected.high)
    assert (row.confidence, row.centre, row.ci_low) == (0.5, "median", None)
    declared = {**THREE_ROUNDS, "rounds": 6, "centre": "mean", "rarest_mode": 0.5}
    manifest = planned("s000", design=declared)
    [row] = summarise(run_folder(tmp_path / "mean", trials, **manifest))
    expected = mean_interval(SIX, 0.95)
    assert row.estimate() == Estimate(102.5, expected.low, expected.high, expected.method, "")


def test_packets_behind_a_share_bound_it(tmp_path: Path) -> None:
    loss = metric("loss_ratio", "1", better="lower", primary=True, out_of="transmitted")
    sample = {"metric": "loss_ratio", "unit": "1", "value": 0.0}
    trials = [
        replace(trial(n, values=[]), samples=(sample,), notes={"transmitted": 500}) for n in (1, 2)
    ]
    manifest = planned("s000")
    manifest["probes"][0]["metrics"] = [loss]
    [row] = summarise(run_folder(tmp_path / "run", trials, **manifest))
    assert (row.median, row.median_ci_low) == (0, 0)
    assert row.median_ci_high == pytest.approx(scipy.stats.beta.ppf(0.975, 1, 1000))
    assert row.median_method == "Clopper-Pearson"


def test_the_files_are_the_same_each_time_and_survive_odd_text(tmp_path: Path) -> None:
    odd = 'a "b",\n; =1+1 ü'
    record = trial(1, scenario={"scenario_id": odd, "n": 2}, status="untrusted", reasons=(odd,))
    store = run_folder(tmp_path / "run", [record])
    document = SummaryAnalysis({}).analyse(store)
    text = (store.folder / "summary.json").read_text()
    written = json.loads(text)
    promised = {
        *("scenario", "probe", "metric", "unit", "n", "mean", "median", "stdev"),
        *("ci_low", "ci_high", "confidence", "method", "valid"),
    }
    assert promised <= written["summaries"][0].keys()
    assert written["run_id"] == document["run_id"] == "run"
    with (store.folder / "summary.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["factor_scenario_id"], row["factor_n"]) == (odd, "2")
    assert row["reasons"] == f"{record.trial_id} untrusted: {odd}"
    assert (row["mean"], row["valid"]) == ("", "False")
    SummaryAnalysis({}).analyse(store)
    assert (store.folder / "summary.json").read_text() == text


def test_trials_told_twice_are_refused(tmp_path: Path) -> None:
    record = trial(1)
    store = run_folder(tmp_path / "run", [record, record])
    with pytest.raises(InputError, match=r"trials.jsonl:2.*duplicate of line 1"):
        SummaryAnalysis({}).analyse(store)


@pytest.mark.parametrize("max_rounds", [12, 7])
def test_after_sequential_stopping_the_interval_is_that_for_repeated_looks(
    tmp_path: Path, max_rounds: int
) -> None:
    """A single look is a fixed number of rounds."""
    values = [*SIX, 100.5]
    trials = [trial(n, values=[value]) for n, value in enumerate(values, 1)]
    stop_when = {"relative_half_width": 0.05, "max_rounds": max_rounds}
    manifest = planned("s000", design={**THREE_ROUNDS, "rounds": 7, "stop_when": stop_when})
    [row] = summarise(run_folder(tmp_path / "run", trials, **manifest))
    looks = max_rounds > 7
    expected = median_interval(values, 1 - 0.05 * 7 / 9.5 if looks else 0.95)
    assert (row.median_ci_low, row.median_ci_high) == (expected.low, expected.high)
    assert row.median_method.endswith(", repeated looks") is looks
    assert row.confidence == 0.95


def test_what_a_row_says_of_its_trials(tmp_path: Path) -> None:
    """A drift, an outlier, and percentiles, as a reader of summary.json finds them."""
    values = [100.0 + n + (n % 3) / 10 for n in range(1, 25)]
    values[7] = 500.0
    trials = [
        trial(n, values=[value], started_at=f"2026-01-31T12:{n:02d}:00.000000+00:00")
        for n, value in enumerate(values, 1)
    ]
    manifest = planned("s000", design={"rounds": 24})
    [row] = summarise(run_folder(tmp_path / "run", trials, **manifest))
    assert row.outliers == ("r008-s000-ping",)
    assert row.n == 24
    assert row.centre == "median"
    assert row.p5 is not None and row.p95 is not None and row.p5 < row.p95
    drift, outlying = row.warnings
    assert "drift with time" in drift
    assert "1 of 24 trials" in outlying and "r008-s000-ping" in outlying
