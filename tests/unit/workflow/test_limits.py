"""Workflows that are too large are refused before anything is expanded, and say what is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.attacks.workflows import workflow

from sfcperf.errors import WorkflowError
from sfcperf.workflow.document import limits
from sfcperf.workflow.document.findings import MOST
from sfcperf.workflow.document.reader import clean
from sfcperf.workflow.load import load_document


def document(**sections: Any) -> dict[str, Any]:
    """A sound workflow with other sections."""
    content: dict[str, Any] = json.loads(workflow(**sections))
    return content


def refused(tmp_path: Path, **changes: Any) -> WorkflowError:
    with pytest.raises(WorkflowError) as caught:
        load_document(document(**changes), tmp_path)
    return caught.value


CHAIN = {"functions": [{"vnf": "sf", "count": "${chain_length}"}]}


def campaign(levels: int) -> list[dict[str, Any]]:
    """Levels of a chain's length."""
    return [{"name": f"l{n}", "value": n % 3} for n in range(levels)]


def test_a_document_of_too_many_values_names_where_most_are() -> None:
    with pytest.raises(WorkflowError) as caught:
        clean({"a": 1, "b": {"c": [0] * limits.MAX_VALUES, "d": [1, 2]}})
    assert caught.value.where == "/b/c"
    assert str(limits.MAX_VALUES) in str(caught.value.allowed)


def test_long_text_counts(tmp_path: Path) -> None:
    assert limits.size("x" * 1000) == 11
    assert limits.size({"a": ["b", 1], "c" * 200: None}) == 7


@pytest.mark.parametrize(
    ("levels", "options"),
    [
        ([f"l{n}" for n in range(100)], {"n": "${f}", "list": [0] * 2000}),
        ([{"name": "big", "value": [0] * 2000}], {"list": ["${f}"] * 100}),
    ],
    ids=["levels times section", "references times level"],
)
def test_values_when_expanded(tmp_path: Path, levels: list[Any], options: dict[str, Any]) -> None:
    error = refused(tmp_path, factors={"f": levels}, endpoints={"client": {"options": options}})
    assert error.where == "/endpoints"
    assert "values" in error.message
    assert str(limits.MAX_EXPANDED) in str(error.allowed)


def test_a_level_without_a_name_is_short(tmp_path: Path) -> None:
    error = refused(tmp_path, factors={"chain_length": [{"a": "b" * 300}]})
    assert error.where == "/factors/chain_length/0"
    assert "`name`" in str(error.allowed)


def test_trials(tmp_path: Path) -> None:
    many = {"factors": {"chain_length": campaign(200)}, "chain": CHAIN, "design": {"rounds": 999}}
    probes = [{"probe": "ping", "name": f"p{n}"} for n in range(32)]
    error = refused(tmp_path, **many, probes=probes)
    assert error.where == "/design/rounds"
    assert str(limits.MAX_TRIALS) in str(error.allowed)


def test_a_campaign_of_thousands_of_trials_passes(tmp_path: Path) -> None:
    probes = [{"probe": "ping", "name": f"p{n}"} for n in range(10)]
    changes = {"factors": {"chain_length": campaign(300)}, "chain": CHAIN, "probes": probes}
    loaded = load_document(document(**changes, design={"rounds": 30}), tmp_path)
    assert len(loaded.scenarios) == 300


def test_an_array_that_is_too_long_is_one_error(tmp_path: Path) -> None:
    error = refused(tmp_path, probes=[{"probe": n} for n in range(5000)])
    assert (error.where, error.others, error.more) == ("/probes", (), 0)
    assert "at most 32" in error.message


def test_errors_are_counted_after_the_first(tmp_path: Path) -> None:
    error = refused(tmp_path, **{f"unknown{n}": 0 for n in range(MOST + 7)})
    assert len(error.all) == MOST
    assert error.more == 7


def test_too_many_scenarios_of_variants_are_not_made(tmp_path: Path) -> None:
    error = refused(
        tmp_path,
        factors={"chain_length": campaign(600)},
        chain=CHAIN,
        variants={"a": {}, "b": {"chain.reverse": "bypass"}},
    )
    assert error.where == "/variants"
    assert "1200 scenarios" in error.message
