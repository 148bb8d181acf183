"""Claims name what the workflow measures, and say what tests them and when they hold."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples
from support.workflows.from_schema import from_schema
from support.workflows.mutations import UNHURRIED, check
from support.workflows.plugins import document, findings_at, pointers

from sfcperf.errors import WorkflowError
from sfcperf.workflow.schema import own_schema

VARIED: dict[str, Any] = {
    "factors": {"t": ["T1", "T2"], "n": [0, 1, 2]},
    "topology": "${t}",
    "chain": {"functions": [{"vnf": "fwd", "count": "${n}"}]},
}
RTT = {"probe": "echo", "metric": "rtt_us"}
SLOPE = {**RTT, "slope": "n"}
CLAIM: dict[str, Any] = {
    "id": "grows",
    "text": "It grows.",
    "source": "own",
    "quantity": {"of": {**RTT, "at": {"n": 1}}},
    "unit": "us",
    "above": 1,
}
Change = Mapping[str, Any]


def changed(changes: Change) -> dict[str, Any]:
    """The claim with these keys; None: without the key."""
    return {key: value for key, value in {**CLAIM, **changes}.items() if value is not None}


def of(operand: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    return {"quantity": {"of": {**RTT, **operand}, **others}}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"below": 2},
        {**of({"at": {"n": [1, 2], "t": "T1"}, "minus": {"n": 0}}), "unit": "us"},
        {**of({}, to={**RTT, "at": {"n": 0}}), "unit": None},
        {**of({"at": {"n": 1}, "over": {"n": 0}}), "unit": None},
        {**of(SLOPE), "unit": "us"},
        {**of(SLOPE, to=SLOPE), "unit": None},
        {**of(SLOPE, r_squared=True), "unit": None},
        {"quantity": None, "above": None, "unit": None, "order": [RTT, {**RTT, "at": {"n": 0}}]},
        {"quantity": None, "above": None, "unit": None, "not_tested": "no such machine"},
        {"not_comparable": "another switch"},
    ],
)
def test_what_tests_a_claim(load: Any, changes: Change) -> None:
    (claim,) = load(**VARIED, claims=[changed(changes)]).claims
    assert claim.id == "grows"


@pytest.mark.parametrize(
    ("changes", "pointer", "hint"),
    [
        (of({"probe": "eco"}), "/quantity/of/probe", "'echo'"),
        (of({"metric": "rtt"}), "/quantity/of/metric", "'rtt_us'"),
        (of({"at": {"m": 1}}), "/quantity/of/at/m", ""),
        (of({"at": {"n": [1, 3]}}), "/quantity/of/at/n", ""),
        (of({"at": {"n": 1}, "minus": {"t": "T3"}}), "/quantity/of/minus/t", ""),
        (of({"slope": "m"}), "/quantity/of/slope", ""),
        (of({"slope": "t"}), "/quantity/of/slope", ""),
        (of({"at": {"n": 1}, "over": {"t": "T3"}}), "/quantity/of/over/t", ""),
        (of({"at": {"n": 1}, "over": {"n": 0}}), "/unit", ""),
        (of({"slope": "n", "minus": {"n": 0}}), "/quantity/of/minus", ""),
        (of({"minus": {"n": 0}, "over": {"n": 0}}), "/quantity/of/over", ""),
        (of({"monitor": "cpu"}), "/quantity/of/monitor", ""),
        (of({}, to={**RTT, "metric": "x"}), "/quantity/to/metric", ""),
        ({"unit": "ms"}, "/unit", ""),
        ({"unit": None}, "", ""),
        (of({}, to=RTT), "/unit", ""),
        (of({}, r_squared=True), "/quantity/r_squared", ""),
        ({"below": 1}, "/below", ""),
        ({"above": 2, "below": 1}, "/below", ""),
        ({"above": None}, "", ""),
        ({"order": [RTT, RTT]}, "", ""),
        ({"quantity": None}, "", "not_tested"),
        ({"quantity": None, "order": [RTT, RTT], "unit": None}, "", ""),
        ({"quantity": None, "order": [RTT], "above": None}, "/order", ""),
        ({"above": "1"}, "/above", ""),
        ({"above": math.nan}, "/above", ""),
        ({"published": math.inf}, "/published", ""),
        ({"id": "a b"}, "/id", ""),
        ({"claim": "no such key"}, "/claim", ""),
    ],
)
def test_mistakes(refused: Any, changes: Change, pointer: str, hint: str) -> None:
    error = refused(**VARIED, claims=[changed(changes)])
    found = findings_at(error, f"/claims/0{pointer}")
    assert any(hint in (one.hint or "") for one in found), pointers(error)


def test_ids_are_unique(refused: Any) -> None:
    assert pointers(refused(**VARIED, claims=[CLAIM, CLAIM])) == {"/claims/1/id"}


def test_all_mistakes_are_reported_together(refused: Any) -> None:
    wrong = [changed({"id": f"c{n}", "unit": "ms"}) for n in range(3)]
    assert pointers(refused(**VARIED, claims=wrong)) == {f"/claims/{n}/unit" for n in range(3)}


def test_too_many(refused: Any) -> None:
    many = [changed({"id": f"c{number}"}) for number in range(201)]
    assert pointers(refused(**VARIED, claims=many)) == {"/claims"}


@pytest.mark.parametrize("overrides", [("preset=short",), ("factors.n=[0]",)])
def test_a_level_that_is_removed_leaves_its_claims_untested(
    load: Any, overrides: tuple[str, ...]
) -> None:
    order = {"quantity": None, "above": None, "unit": None, "order": [RTT, CLAIM["quantity"]["of"]]}
    own = changed({"id": "own", "not_tested": "no such machine"})
    claims = [CLAIM, changed({"id": "order", **order}), own, changed({"id": "whole", **of({})})]
    presets = {"short": {"factors.n": [0]}}
    workflow = load(**VARIED, presets=presets, claims=claims, overrides=overrides)
    reason = "this run has no level 1 of 'n'"
    assert [claim.not_tested for claim in workflow.claims] == [
        reason,
        reason,
        own["not_tested"],
        "",
    ]
    again = load(**{**workflow.document, "infrastructure": None})
    assert again.claims == workflow.claims


def test_a_variant_that_is_removed(load: Any) -> None:
    variants = {
        "a": {},
        "b": {"vnfs.fwd.knobs": {"batch": 3}},
        "c": {"vnfs.fwd.knobs": {"batch": 4}},
    }
    claims = [changed(of({"at": {"variant": "c"}})), changed({"id": "a", **of({})})]
    fewer = '/variants={"a": {}, "b": {"vnfs.fwd.knobs": {"batch": 3}}}'
    workflow = load(variants=variants, claims=claims, overrides=(fewer,))
    assert [bool(claim.not_tested) for claim in workflow.claims] == [True, False]


def test_a_level_that_was_never_there_is_a_mistake(load: Any) -> None:
    with pytest.raises(WorkflowError) as caught:
        load(**VARIED, claims=[changed(of({"at": {"n": 7}}))], overrides=("factors.n=[0]",))
    assert caught.value.where == "/claims/0/quantity/of/at/n"


@examples(500, *UNHURRIED, gate=10)
@given(data=st.data())
def test_whatever_fits_the_schema(fakes: Any, data: st.DataObject) -> None:
    """Gives a workflow, or an error with pointers into it."""
    schema = copy.deepcopy(own_schema())
    # Names of something more often than the schema has them.
    operand = schema["$defs"]["claim_operand"]["properties"]
    operand["metric"] = {"enum": ["rtt_us", "loss_ratio", "x"]}
    operand["slope"] = {"enum": ["n", "t", "x"]}
    schema["$defs"]["claim_levels"]["propertyNames"] = {"enum": ["n", "t", "x"]}
    schema["$defs"]["claim"]["properties"]["unit"] = {"enum": ["us", "1", ""]}
    fitting = from_schema(schema["$defs"]["claims"], schema, ["echo", "n"])
    check(document(**VARIED, claims=data.draw(fitting)))
