"""The section `analyses` of a workflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.workflows.plugins import findings_at

from sfcperf.errors import WorkflowError
from sfcperf.workflow.model import PluginSpec, Workflow

Load = Callable[..., Workflow]
Refused = Callable[..., WorkflowError]


def test_none_is_asked_for_by_default(load: Load) -> None:
    assert load().analyses == ()


def test_defaults_are_filled_in(load: Load) -> None:
    assert load(analyses=[{"analysis": "relate"}]).analyses == (PluginSpec("relate", {"order": 1}),)


@pytest.mark.parametrize(
    ("given", "pointer", "words"),
    [
        ([{"analysis": "relat"}], "/analyses/0/analysis", "relat"),
        ([{"analysis": "relate", "ordr": 2}], "/analyses/0/ordr", "ordr"),
        ([{"analysis": "relate", "order": 0}], "/analyses/0/order", "0"),
        ([{"order": 1}], "/analyses/0", "analysis"),
        ([{"analysis": "relate"}, {"analysis": "relate"}], "/analyses/1/analysis", "duplicate"),
        ([{"analysis": "relate", "order": "${n}"}], "/analyses/0/order", "this is the same"),
        ({"analysis": "relate"}, "/analyses", "must be a list"),
    ],
)
def test_what_is_wrong_is_pointed_at(
    refused: Refused, given: Any, pointer: str, words: str
) -> None:
    error = refused(analyses=given, factors={"n": [1, 2]} if "${n}" in str(given) else None)
    found = findings_at(error, pointer)
    assert found, [(e.where, e.message) for e in (error, *error.others)]
    assert any(words in finding.message for finding in found), found
