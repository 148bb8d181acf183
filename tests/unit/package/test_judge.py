"""Reproduced, not reproduced, undecided: what a comparison says of a replay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.records import comparisons
from support.records.compared_runs import ping_run
from support.records.comparisons import sample
from support.schemas import validator

from sfcperf.analysis.comparison import Comparison, Estimate, Options, Row, Side, compare
from sfcperf.package.judge import judge
from sfcperf.package.replay.repeat import verdict_document


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, 0.95, "test")


ROW = replace(
    comparisons.row([100, 101], [110, 111]),
    difference=estimate(10, 6, 14),
    relative=estimate(0.1, 0.06, 0.14),
    margin=0.05,
    beyond_p=0.001,
    tost_p=0.9,
    verdict="worse",
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("judge")
    a, b = ping_run(folder / "run-1"), ping_run(folder / "run-2", seed=2)
    return replace(compare(Side("packaged", a), Side("here", b)), unmatched=())


def outcome(measured: Comparison, row: Row) -> tuple[str, str]:
    verdict = judge(replace(measured, rows=(row,)))
    (evaluation,) = verdict.evaluations
    assert verdict.reproduced is (evaluation.outcome == "reproduced")
    return evaluation.outcome, evaluation.reason


def test_within_the_margin(measured: Comparison) -> None:
    assert outcome(measured, replace(ROW, verdict="equivalent", tost_p=0.01))[0] == "reproduced"


@pytest.mark.parametrize(("verdict", "sign"), [("better", -1), ("worse", 1), ("different", 1)])
def test_beyond_the_margin(measured: Comparison, verdict: str, sign: int) -> None:
    """A better result is no reproduction either."""
    low, high = sorted((sign * 0.06, sign * 0.14))
    row = replace(ROW, verdict=verdict, relative=estimate(sign * 0.1, low, high))  # type: ignore[arg-type]
    assert outcome(measured, row)[0] == "not reproduced"


def test_different_and_perhaps_within_the_margin(measured: Comparison) -> None:
    row = replace(ROW, relative=estimate(0.1, 0.02, 0.18))
    found, reason = outcome(measured, row)
    assert found == "undecided"
    assert "it differs, perhaps by less than the margin" in reason


def test_each_claim_is_corrected_for_the_number_of_metrics(measured: Comparison) -> None:
    for changes, alone in (
        ({"verdict": "equivalent", "tost_p": 0.03}, "reproduced"),
        ({"beyond_p": 0.03}, "not reproduced"),
    ):
        row = replace(ROW, **changes)  # type: ignore[arg-type]
        for count, expected in ((1, alone), (2, "undecided")):
            many = replace(measured, rows=(row,) * count)
            assert {e.outcome for e in judge(many).evaluations} == {expected}


def test_a_package_of_few_trials_cannot_be_confirmed(measured: Comparison) -> None:
    """More rounds here do not add any there."""
    values = [100 + n % 3 for n in range(10)]
    row = replace(ROW, verdict="undecided", a=sample(values), b=sample(values))
    assert "no number of rounds here would decide" in outcome(measured, row)[1]


def test_a_margin_in_the_unit(measured: Comparison) -> None:
    assert outcome(measured, replace(ROW, margin=5, margin_absolute=True))[0] == "not reproduced"
    assert outcome(measured, replace(ROW, margin=7, margin_absolute=True))[0] == "undecided"


def test_a_difference_from_nothing(measured: Comparison) -> None:
    row = replace(ROW, relative=None, margin=None)
    assert outcome(measured, row)[0] == "not reproduced"


def test_what_was_not_measured_here_is_undecided(tmp_path: Path) -> None:
    a, shorter = ping_run(tmp_path / "a"), ping_run(tmp_path / "b", [{"chain_length": 0}])
    verdict = judge(compare(Side("packaged", a), Side("here", shorter)))
    lacking = [j for j in verdict.evaluations if j.scenario.get("chain_length") == 1]
    assert lacking
    assert all(j.outcome == "undecided" and j.reason for j in lacking)
    assert not verdict.reproduced


@pytest.mark.parametrize(
    ("ratio", "expected"), [(1.0, "reproduced"), (1.3, "not reproduced"), (0.7, "not reproduced")]
)
def test_from_trials_to_the_verdict(tmp_path: Path, ratio: float, expected: str) -> None:
    """Two runs of known truth; the documents are as their schema says."""
    a = ping_run(tmp_path / "run-1", rounds=30)
    b = ping_run(tmp_path / "run-2", rounds=30, ratio=ratio, seed=2)
    package = tmp_path / "p.zip"
    package.write_bytes(b"x")
    options = Options(metrics=("ping/rtt_us",), margin=0.05)
    verdict = judge(compare(Side("packaged", a), Side("here", b), options))
    assert {evaluation.outcome for evaluation in verdict.evaluations} == {expected}
    assert len(verdict.evaluations) == 2
    document = json.loads(json.dumps(verdict_document(verdict, package, [a], [b])))
    assert not list(validator("replay").iter_errors(document))
    assert document["counts"][expected] == 2
    assert document["reproduced"] is (expected == "reproduced")
