"""How often functions crashed on each side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import comb
from pathlib import Path

import pytest
from support.records.trials import RTT, run_folder, trial
from support.schemas import validator

from sfcperf.analysis.comparison import Comparison, Options, Side, compare
from sfcperf.results.records import FailedAttempt
from sfcperf.results.store import RunStore
from sfcperf.results.values import Loss

CRASH = FailedAttempt(1, "crash", "fwd-1: it has ended", ("fwd-1",), "")
ROUNDS = 8


def run(folder: Path, crashes: int = 0, lost: int | None = None) -> RunStore:
    """Every trial is valid; so many of the rounds needed a second attempt."""
    loss = None if lost is None else Loss(lost, 100, "echo requests got no reply", "", 0.01)
    records = [
        replace(
            trial(number, values=[100.0 + number]),
            failed_attempts=(CRASH,) if number <= crashes else (),
            loss=loss,
        )
        for number in range(1, ROUNDS + 1)
    ]
    probe = {"probe": "ping", "label": "ping", "scenarios": ["s000"], "metrics": [RTT]}
    scenarios, design = [{"id": "s000", "levels": {"chain_length": 0}}], {"rounds": ROUNDS}
    return run_folder(folder, records, probes=[probe], scenarios=scenarios, design=design)


def compared(a: Sequence[RunStore], b: Sequence[RunStore]) -> Comparison:
    first, second = (
        Side(name, runs[0], more=tuple(runs[1:])) for name, runs in (("a", a), ("b", b))
    )
    return compare(first, second, Options())


def test_few_crashes_are_stated_and_undecided(tmp_path: Path) -> None:
    found = compared([run(tmp_path / "a")], [run(tmp_path / "b", crashes=1)])
    (crashes,) = found.crashes
    assert (crashes.a, crashes.of_a, crashes.b, crashes.of_b) == (0, ROUNDS, 1, ROUNDS + 1)
    assert crashes.verdict == "undecided"
    assert any("1 of 9 attempts of b (fwd-1 in 1)" in text for text in found.warnings)
    assert list(validator("comparison").iter_errors(found.document())) == []


@pytest.mark.parametrize(("worse", "verdict"), [("b", "worse"), ("a", "better")])
def test_many_crashes_on_one_side_are_shown(tmp_path: Path, worse: str, verdict: str) -> None:
    sides = {name: run(tmp_path / name, crashes=ROUNDS * (name == worse)) for name in "ab"}
    (crashes,) = compared([sides["a"]], [sides["b"]]).crashes
    assert crashes.verdict == verdict
    # By hand: 8 crashes among 8 and 16 attempts; all outcomes that are as unlikely as 0 and 8.
    ways = [comb(8, few) * comb(16, 8 - few) for few in range(9)]
    assert crashes.p == pytest.approx(sum(n for n in ways if n <= ways[0]) / comb(24, 8))


def test_of_several_runs_the_run_is_counted(tmp_path: Path) -> None:
    """However often one of them crashed."""
    a = [run(tmp_path / f"a{number}") for number in range(3)]
    b = [run(tmp_path / f"b{number}", crashes=ROUNDS * (number == 0)) for number in range(3)]
    (crashes,) = compared(a, b).crashes
    assert (crashes.unit, crashes.a, crashes.of_a, crashes.b, crashes.of_b) == ("run", 0, 3, 1, 3)
    assert crashes.verdict == "undecided"


def test_a_side_that_loses_much_is_named_in_its_rows(tmp_path: Path) -> None:
    found = compared([run(tmp_path / "a", lost=1)], [run(tmp_path / "b", lost=8)])
    assert found.crashes == ()
    assert not any("crash" in text for text in found.warnings)
    (row,) = found.rows
    assert [text for text in row.warnings if "got no reply" in text] == [
        "b, ping: 8 % of the echo requests got no reply (64 of 800): "
    ]
    assert row.lossy == ("b",)
    assert list(validator("comparison").iter_errors(found.document())) == []
