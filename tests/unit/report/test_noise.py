"""What the report and the verdict say of noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records.readings import reading
from support.records.runs import build_run

from sfcperf.report.noise import noise_findings, noise_section
from sfcperf.results.noise_gate import GATE_REASON
from sfcperf.results.records import TrialRecord

GATE = {"design": {"noise_gate": {"max_steal_ratio": 0.05}}}


@pytest.fixture
def trials(tmp_path: Path) -> list[TrialRecord]:
    records = build_run(tmp_path / "run").trials()[:6]
    return [
        replace(r, noise={"scope": "machine", "quiet_steal_ratio": n / 100, "run_queue": 0.0})
        for n, r in enumerate(records)
    ]


def test_each_machine_has_charts_of_its_own(trials: list[TrialRecord]):
    others = [
        replace(r, noise={**r.noise, "machines": {"node2": {"run_queue": n / 10}}})
        for n, r in enumerate(trials)
    ]
    section = noise_section(GATE, others, [])
    assert section is not None
    assert {chart.id for chart in section.charts} == {
        "noise-quiet_steal_ratio",
        "noise-node2-run_queue",
    }


def test_a_chart_for_what_moves_and_words_for_what_does_not(trials: list[TrialRecord]):
    section = noise_section(GATE, trials, [reading(), reading("c002", value=110.0)])
    assert [chart.id for chart in section.charts] == ["noise-quiet_steal_ratio", "noise-sentinel"]
    assert "Run queue: 0 tasks/CPU in all 6 trials." in section.constant
    steal = section.charts[0].data
    assert [s["name"] for s in steal["series"]] == ["trials", "limit"]
    assert steal["series"][0]["y"] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert steal["series"][1]["y"] == [5.0, 5.0]
    for chart in section.charts:
        assert "(" in chart.data["yLabel"] and "(s)" in chart.data["xLabel"]


def test_without_a_gate_the_default_limits_are_drawn(trials: list[TrialRecord]) -> None:
    section = noise_section({"design": {}}, trials, [])
    *_, limit = section.charts[0].data["series"]
    assert (limit["name"], limit["y"]) == ("limit of a default gate", [5.0, 5.0])
    (queue,) = (text for text in section.constant if text.startswith("Run queue: 0 tasks/CPU"))
    assert "limit of a default gate: 0.25 tasks/CPU" in queue


def test_trials_outside_are_named_with_what_stands_in_their_place(trials: list[TrialRecord]):
    reasons = (f"{GATE_REASON}steal 0.12 > 0.05",)
    outside = replace(trials[0], status="untrusted", reasons=reasons)
    again = replace(trials[0], trial_id="r001.1-s000-ping", rerun_of=outside.trial_id)
    account: dict[str, Any] = {
        "trials_outside": 1, "reruns": 1, "reruns_allowed": 9, "trials_that_stay_outside": 0,
    }  # fmt: skip
    section = noise_section({**GATE, "noise": account}, [outside, again, *trials[1:]], [])
    (row,) = section.trials
    assert (row.trial, row.reason, row.rerun) == (
        outside.trial_id,
        "steal 0.12 > 0.05",
        "r001.1-s000-ping",
    )
    assert section.lead == ("1 trial outside, 1 rerun of 9 allowed, 0 trials stay outside.",)


def test_a_run_without_a_gate_is_warned_about_its_noise(trials: list[TrialRecord]):
    noisy = [replace(trials[0], noise={"quiet_steal_ratio": 0.2}), *trials[1:]]
    (finding,) = noise_findings({"design": {}}, noisy)
    assert "not quiet" in finding and "1 of 6 trials" in finding
    assert "steal 0.2 > 0.05" in finding
    assert list(noise_findings(GATE, noisy)) == [], "the gate has judged it"
    assert list(noise_findings({"design": {}}, trials)) == []
    beside = replace(trials[0], noise={"other_runs": [{"run_id": "x", "shares_cpus": True}]})
    (finding,) = noise_findings(GATE, [beside, *trials[1:]])
    assert finding.startswith("Another run") and "1 of 6 trials" in finding


def test_steal_while_measuring_is_a_warning_and_the_trial_counts(
    trials: list[TrialRecord],
):
    stolen = replace(trials[0], noise={"steal_ratio": 0.2, "steal_resolution_ratio": 0.01})
    for manifest in (GATE, {"design": {}}):
        (finding,) = noise_findings(manifest, [stolen, *trials[1:]])
        assert "hypervisor" in finding and "1 of 6 trials" in finding
        assert f"{stolen.trial_id}: steal 0.2 > 0.05" in finding and "They count" in finding
