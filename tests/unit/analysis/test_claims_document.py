"""What claims.json says besides the verdict: of which kind a number is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records.claimed_run import of_rtt, rtt
from support.records.runs import build_run, workflow_document
from support.records.shown_run import EIGHT_ROUNDS

from sfcperf.errors import WorkflowError
from sfcperf.results.store import RunFile
from sfcperf.workflow.load import load_document


def row(folder: Path, claim: dict[str, Any]) -> dict[str, Any]:
    store = build_run(folder, replace(EIGHT_ROUNDS, claims=(claim,)))
    document = store.document(RunFile.CLAIMS)
    assert document is not None
    (found,) = document["claims"]
    return dict(found)


def order(*operands: dict[str, Any]) -> dict[str, Any]:
    return {"id": "order", "text": "It rises.", "source": "own", "order": list(operands)}


def test_a_slope_is_per_unit_of_its_factor(tmp_path: Path) -> None:
    slope = {"probe": "ping", "metric": "rtt_us", "slope": "chain_length"}
    found = row(tmp_path / "run", of_rtt("rises", 0, quantity={"of": slope}, above=0))
    assert (found["kind"], found["per"], found["unit"]) == ("value", "chain_length", "us")
    assert row(tmp_path / "other", of_rtt("fast", 0, below=1000))["per"] == ""


def test_the_number_of_an_order_comes_with_what_it_must_exceed(tmp_path: Path) -> None:
    ratio = row(tmp_path / "run", order(rtt(0), rtt(1)))
    assert (ratio["verdict"], ratio["above"]) == ("agrees", 1)
    # No packet was lost: a ratio with that has no value.
    lost = {**rtt(0), "metric": "loss_ratio"}
    difference = row(tmp_path / "other", order(lost, rtt(0)))
    assert (difference["verdict"], difference["above"]) == ("agrees", 0)


def test_steps_of_an_order_are_all_differences_or_all_ratios(tmp_path: Path) -> None:
    """So that the least of them is the one nearest to being reversed."""
    lost = {**rtt(0), "metric": "loss_ratio"}
    found = row(tmp_path / "run", order(lost, rtt(1), rtt(0)))
    assert (found["verdict"], found["above"]) == ("contradicts", 0)
    assert found["estimate"] < found["high"] < 0


def test_a_slope_of_a_difference_is_refused() -> None:
    operand = {**rtt(1), "slope": "chain_length", "minus": {"chain_length": 0}}
    claim = of_rtt("rises", 0, quantity={"of": operand}, above=0)
    document = workflow_document(replace(EIGHT_ROUNDS, claims=(claim,)))
    with pytest.raises(WorkflowError) as refused:
        load_document(document, Path())
    assert refused.value.where == "/claims/0/quantity/of/minus"
