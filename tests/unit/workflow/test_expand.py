"""Factors and `${name}`: combinations, types, places, and errors that a user can follow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.workflows.plugins import document, findings_at, pointers

from sfcperf.errors import WorkflowError
from sfcperf.workflow.document import Findings
from sfcperf.workflow.expand import MAX_SCENARIOS, expand

CHAIN = {"functions": [{"vnf": "fwd", "count": "${n}"}]}


def test_the_last_factor_varies_fastest(load: Any) -> None:
    workflow = load(
        factors={"topology": ["T1", "T3"], "n": [0, 2]}, topology="${topology}", chain=CHAIN
    )
    assert [(s.id, dict(s.levels)) for s in workflow.scenarios] == [
        ("s000", {"topology": "T1", "n": 0}),
        ("s001", {"topology": "T1", "n": 2}),
        ("s002", {"topology": "T3", "n": 0}),
        ("s003", {"topology": "T3", "n": 2}),
    ]
    assert [len(s.chain.functions) for s in workflow.scenarios] == [0, 2, 0, 2]
    assert [s.client.node == s.server.node for s in workflow.scenarios] == [True] * 2 + [False] * 2


def test_a_whole_reference_takes_the_type_and_a_part_the_text(load: Any) -> None:
    workflow = load(
        factors={"n": [2], "p": ["udp"]},
        probes=[{"probe": "stream", "protocol": "${p}", "count": "${n}", "name": "${p}-x${n}"}],
    )
    (probe,) = workflow.scenarios[0].probes
    assert probe.parameters == {"protocol": "udp", "count": 2, "rate_bps": "maximum", "port": 5201}
    assert probe.label == "udp-x2"


def test_levels_that_are_objects_are_shown_by_their_name(load: Any) -> None:
    own = {
        "name": "pair",
        "nodes": {"a": {}, "b": {}},
        "placement": dict.fromkeys(("client", "server", "chain"), "a"),
    }
    functions = {"name": "two", "value": [{"vnf": "fwd"}, {"vnf": "fwd"}]}
    knobs = {"engine": "slow", "batch": 1}
    workflow = load(
        factors={"where": ["T1", own], "what": [functions], "how": [knobs]},
        topology="${where}",
        chain={"functions": "${what}"},
        vnfs={"fwd": {"type": "copier", "knobs": "${how}"}},
    )
    scenario = workflow.scenarios[1]
    assert scenario.levels == {"where": "pair", "what": "two", "how": '{"batch":1,"engine":"slow"}'}
    assert scenario.topology.name == "pair"
    assert [f.name for f in scenario.chain.functions] == ["fwd-1", "fwd-2"]
    assert scenario.chain.functions[0].knobs == knobs


@pytest.mark.parametrize(
    ("changes", "pointer", "message"),
    [
        ({"chain": CHAIN, "factors": {"m": [1]}}, "/chain/functions/0/count", "no factor 'n'"),
        ({"factors": {"n": [1]}}, "/factors/n", "not used"),
        ({"topology": "${", "factors": {}}, "/topology", "without a closing"),
        ({"topology": "${}"}, "/topology", "no factor ''"),
        ({"design": {"seed": "${n}"}, "factors": {"n": [1]}}, "/design/seed", "cannot be used"),
        ({"chain": CHAIN, "factors": {"n": [1, "${n}"]}}, "/factors/n/1", "cannot be used here"),
        ({"chain": CHAIN, "factors": {"n": [1, 2, 1.0]}}, "/factors/n/2", "duplicate"),
        ({"chain": CHAIN, "factors": {"n": [1, "1"]}}, "/factors/n/1", "duplicate"),
        ({"chain": CHAIN, "factors": {"n": [1], "N": [2]}}, "/factors/N", "'n' and 'N'"),
        ({"chain": CHAIN, "factors": {"n.m": [1], "n_M": [2]}}, "/factors/n_M", "'n.m' and 'n_M'"),
        ({"topology": "${t}", "factors": {"t": ["T1", {"name": "T1"}]}}, "/factors/t/1", "dupl"),
    ],
)
def test_mistakes(refused: Any, changes: dict[str, Any], pointer: str, message: str) -> None:
    found = findings_at(refused(**changes), pointer)
    assert any(message in finding.message for finding in found), found


def test_a_misspelt_factor_is_suggested(refused: Any) -> None:
    error = refused(
        chain={"functions": [{"vnf": "fwd", "count": "${chain_lenght}"}]},
        factors={"chain_length": [1]},
    )
    (found,) = findings_at(error, "/chain/functions/0/count")
    assert found.hint == "did you mean 'chain_length'?"


def test_a_level_that_does_not_fit_names_the_place_and_the_level(refused: Any) -> None:
    error = refused(chain=CHAIN, factors={"n": [1, 33, "x"]})
    messages = {f.message for f in findings_at(error, "/chain/functions/0/count")}
    assert messages == {
        "must be at most 32, not 33 with n = 33",
        'must be an integer, not "x" with n = x',
    }


def test_a_mistake_in_all_forms_of_a_section_is_one_error(refused: Any) -> None:
    functions = [{"vnf": "fwd", "count": "${n}"}, {"vnf": 3}]
    chain = {"functions": functions, "spi": "${spi}"}
    error = refused(chain=chain, factors={"n": [*range(30)], "spi": [1, 2]})
    assert (error.where, error.others, error.more) == ("/chain/functions/1/vnf", (), 0)


def test_a_mistake_inside_a_level_points_into_the_factor(refused: Any) -> None:
    bad = {"name": "bad", "nodes": {"a": {"cpus": 1}}}
    error = refused(topology="${t}", factors={"t": ["T1", bad]})
    assert pointers(error) == {"/factors/t/1/nodes/a/cpus"}
    assert "with t = bad" in error.message
    error = refused(
        chain={"functions": "${f}"}, factors={"f": [{"name": "f", "value": [{"vnf": "gwd"}]}]}
    )
    assert pointers(error) == {"/factors/f/0/value/0/vnf"}


def test_a_mistake_that_several_levels_make_is_told_for_each(refused: Any) -> None:
    chain = {"functions": [{"vnf": "fwd", "count": "${n}"}, {"vnf": "fwd", "count": 20}]}
    error = refused(chain=chain, factors={"n": [12, 13, 14]})
    assert [f.message for f in findings_at(error, "/chain/functions")] == [
        "the chain has 33 service functions with n = 13",
        "the chain has 34 service functions with n = 14",
    ]


def test_too_many_scenarios_are_refused_before_any_is_made(refused: Any) -> None:
    levels = list(range(101))
    functions = [{"vnf": "fwd", "count": f"${{f{i}}}"} for i in range(8)]
    error = refused(chain={"functions": functions}, factors={f"f{i}": levels for i in range(8)})
    (found,) = findings_at(error, "/factors")
    assert str(101**8) in found.message and str(MAX_SCENARIOS) in (found.allowed or "")


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), max_size=3))
def test_combinations_are_the_cartesian_product(levels: list[list[int]]) -> None:
    factors = {f"f{i}": values for i, values in enumerate(levels)}
    chain = {"functions": [{"vnf": "fwd", "count": f"${{{name}}}"} for name in factors]}
    expansion = expand(document(factors=factors, chain=chain), Findings())
    seen = [tuple(c[name].value for name in factors) for c in expansion.combinations()]
    positions = [
        tuple(values.index(v) for values, v in zip(levels, row, strict=True)) for row in seen
    ]
    assert positions == sorted(set(positions))
    product = 1
    for values in levels:
        product *= len(values)
    assert len(seen) == product


@given(st.text(max_size=30))
def test_any_text_in_a_varying_place_is_kept_or_refused_with_its_place(text: str) -> None:
    whole = document(endpoints={"client": {"address": text}})
    try:
        expansion = expand(whole, Findings())
    except WorkflowError as error:
        assert error.where == "/endpoints/client/address" and "${" in text
    else:
        (form,) = expansion.forms["endpoints"].values()
        assert form.value["client"]["address"] == text
