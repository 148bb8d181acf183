"""correlations.json of made-up runs whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.records.runs import build_run
from support.records.trials import RTT, run_folder, trial
from support.schemas import validator

from sfcperf.analysis.telemetry import CorrelateAnalysis
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.values import Observation
from sfcperf.workflow.defaults import with_defaults

Numbers = Callable[[int, int], tuple[float, float]]


def correlate(store: RunStore, **parameters: Any) -> dict[str, Any]:
    given = with_defaults(CorrelateAnalysis.parameters, parameters)
    CorrelateAnalysis(given).analyse(store)
    document = store.document(RunFile.CORRELATIONS)
    assert not list(validator("correlations").iter_errors(document))
    return document


def rows(document: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    return [
        row
        for row in document["correlations"]
        if all(row[key] == value for key, value in wanted.items())
    ]


def run_of(folder: Path, scenarios: int, rounds: int, numbers: Numbers) -> RunStore:
    """A run whose trials have a round-trip time and a CPU use: `numbers` of (scenario, round). Of
    the first trial, `fwd-1` was observed for a part only."""
    ids = [f"s{scenario:03d}" for scenario in range(scenarios)]
    probe = {"probe": "ping", "label": "ping", "metrics": [RTT], "scenarios": ids}
    store = run_folder(folder / "run", probes=[probe])
    for scenario in range(scenarios):
        for number in range(1, rounds + 1):
            rtt_us, cores = numbers(scenario, number)
            record = trial(number, ids[scenario], values=[rtt_us])
            store.append_trial(record)
            steps = 3 if (scenario, number) == (0, 1) else 10
            seen = [
                Observation(_ns(step), "fwd-1", "cpu_cores", "1", cores) for step in range(steps)
            ]
            seen += [Observation(_ns(step), "sff", "memory_bytes", "B", 7) for step in range(10)]
            store.write_trial_telemetry(record, seen)
    store.merge_telemetry()
    return store


def _ns(step: int) -> int:
    """Within the time of every trial of `support.records.trials`."""
    start = datetime.fromisoformat("2026-01-31T12:00:00+00:00")
    return int(start.timestamp()) * 10**9 + step * 10**8


def test_a_run_like_that_of_the_paper(tmp_path: Path) -> None:
    document = correlate(build_run(tmp_path / "run"), sources=["sff@*"])
    whole = rows(document, scope="all trials", coefficient="pearson")
    # Primary metrics: one of ping, one of TCP, two of UDP, one of httperf.
    assert len(whole) == 5
    assert {row["source"] for row in whole} == {"sff@node1"}
    assert all(row["n"] == 18 and row["scenarios"] == 6 for row in whole if row["label"] == "ping")
    # The untrusted and the failed trial do not count.
    assert {row["n"] for row in whole if row["label"] in ("iperf3-udp", "httperf")} == {17}
    # Three rounds tell nothing of one scenario alone.
    alone = rows(document, scope="one scenario")
    assert alone and all(row["r"] is None and "at least 4" in row["reason"] for row in alone)


def test_simpsons_paradox_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)

    def numbers(scenario: int, number: int) -> tuple[float, float]:
        within = rng.normal()
        return 100 + 50 * scenario - 5 * within, 1 + scenario + 0.1 * within

    document = correlate(run_of(tmp_path, 4, 8, numbers))
    whole = rows(document, scope="all trials", coefficient="pearson")[0]
    within = rows(document, scope="within scenarios", coefficient="pearson")[0]
    assert whole["r"] > 0.9
    assert within["r"] < -0.9
    assert any("Simpson" in note and "pearson" in note for note in document["notes"])


def test_a_correlation_that_the_factor_makes_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    document = correlate(
        run_of(tmp_path, 4, 8, lambda s, _: (100 + 50 * s + rng.normal(), s + rng.normal() * 0.01))
    )
    within = rows(document, scope="within scenarios", coefficient="pearson")[0]
    assert within["ci_low"] < 0 < within["ci_high"]
    assert any("the factors may cause both" in note for note in document["notes"])


def test_too_few_trials_within_scenarios_are_no_disagreement(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)

    def numbers(scenario: int, _: int) -> tuple[float, float]:
        cores = scenario / 2 + rng.normal()
        return 100 + 5 * cores + 2 * rng.normal(), cores

    document = correlate(run_of(tmp_path, 3, 4, numbers))
    assert rows(document, scope="all trials", coefficient="pearson")[0]["ci_low"] > 0
    assert document["notes"] == []


def test_one_scenario_has_one_scope_and_what_does_not_vary_a_reason(tmp_path: Path) -> None:
    document = correlate(run_of(tmp_path, 1, 7, lambda _, number: (float(number), 0.5)))
    assert {row["scope"] for row in document["correlations"]} == {"all trials"}
    assert {(row["r"], row["reason"]) for row in document["correlations"]} == {
        (None, "the telemetry does not vary")
    }


def test_holm_is_over_the_rows_of_one_question(tmp_path: Path) -> None:
    from statsmodels.stats.multitest import multipletests

    document = correlate(build_run(tmp_path / "run"), series=["cpu_cores"])
    for coefficient in ("pearson", "spearman"):
        family = rows(document, scope="all trials", coefficient=coefficient)
        family = [row for row in family if row["p"] is not None]
        assert len(family) > 10
        judge = multipletests([row["p"] for row in family], method="holm")[1]
        assert [row["p_holm"] for row in family] == pytest.approx(list(judge))


def test_what_is_nowhere_is_noted(tmp_path: Path) -> None:
    document = correlate(
        build_run(tmp_path / "run"),
        series=["cpu_cores", "cpu_coers"],
        metrics=["rtt_us", "nothing"],
        probes=["ping", "pong"],
    )
    assert {row["metric"] for row in document["correlations"]} == {"rtt_us"}
    assert sorted(note.split(":")[0] for note in document["notes"] if "nothing to" in note) == [
        "metrics",
        "probes",
        "series",
    ]


def test_trials_that_a_series_hardly_covers_are_left_out_aloud(tmp_path: Path) -> None:
    store = run_of(tmp_path, 1, 6, lambda _, number: (number, number))
    document = correlate(store)
    assert rows(document, coefficient="pearson")[0]["n"] == 5
    assert document["little_covered"] == ["r001-s000-ping: fwd-1 cpu_cores"]
    document = correlate(store, min_coverage=0.2)
    assert rows(document, coefficient="pearson")[0]["n"] == 6
    assert document["little_covered"] == []
    store.telemetry_path.unlink()
    assert correlate(store)["correlations"] == []
