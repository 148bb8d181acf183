"""The order of trials with variants: a randomised complete block design."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.schemas import validator
from support.tiers import examples
from support.workflows.plugins import document

from sfcperf.control.resolved import resolved
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.plan import plan_document, trial_groups

pytestmark = pytest.mark.usefixtures("fakes")


def workflow(variants: int, levels: list[Any], seed: int = 1, order: str = "") -> Workflow:
    whole = document(
        factors={"n": levels, "size": [56, 100]},
        vnfs={"fwd": {"type": "copier", "knobs": {"batch": 1}}},
        chain={"functions": [{"vnf": "fwd", "count": "${n}"}]},
        probes=[{"probe": "echo", "size": "${size}"}, {"probe": "stream"}],
        variants={f"v{n}": {"vnfs.fwd.knobs.batch": n + 1} for n in range(variants)},
        design={"seed": seed, "order": order or "randomized-blocks", "rounds": 2},
    )
    return load_document(whole, Path("/"))


CASES = st.builds(
    workflow,
    st.integers(2, 5),
    st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True),
    st.integers(0, 2**40),
    st.sampled_from(["randomized-blocks", "sequential"]),
)


def blocks(whole: Workflow, number: int, **more: Any) -> list[tuple[tuple[Any, ...], list[str]]]:
    """(levels without the variant, variants in order) of what runs back to back."""
    order = [dict(group.scenario.levels) for group in trial_groups(whole, number, **more)]
    grouped = groupby(order, key=lambda levels: (levels["n"], levels["size"]))
    return [(key, [levels["variant"] for levels in group]) for key, group in grouped]


@examples(60)
@given(CASES, st.integers(1, 50))
def test_each_block_holds_every_variant_once(whole: Workflow, number: int) -> None:
    names = sorted(variant.name for variant in whole.variants)
    found = blocks(whole, number)
    assert all(sorted(variants) == names for _, variants in found)
    keys = [key for key, _ in found]
    assert len(keys) == len(set(keys)) == len(whole.scenarios) // len(names)
    again = load_document(whole.document, whole.folder)
    assert blocks(again, number) == found


@examples(30)
@given(CASES, st.integers(1, 20))
def test_plan_json_numbers_the_blocks(whole: Workflow, number: int) -> None:
    plan = {"schema_version": 1, **plan_document(whole), "resolved": resolved(whole)}
    validator("plan").validate(plan)
    levels = {entry["id"]: entry["scenario"] for entry in plan["scenarios"]}
    for round_ in plan["rounds"]:
        numbers = [visit["block"] for visit in round_["visits"]]
        assert numbers == sorted(numbers)
        assert set(Counter(numbers).values()) == {len(whole.variants)}
        for block in set(numbers):
            inside = [levels[v["scenario_id"]] for v in round_["visits"] if v["block"] == block]
            assert len({(entry["n"], entry["size"]) for entry in inside}) == 1
    assert [entry["name"] for entry in plan["variants"]] == [v.name for v in whole.variants]


def test_sequential_keeps_the_order_of_the_file_within_blocks() -> None:
    whole = workflow(2, [3, 1], order="sequential")
    expected = [((n, size), ["v0", "v1"]) for n in (3, 1) for size in (56, 100)]
    assert blocks(whole, 1) == blocks(whole, 2) == expected


def test_variants_take_turns_in_going_first() -> None:
    # Over many blocks each of two variants is first in about half of them: with 400 fair coins
    # fewer than 160 or more than 240 heads have a probability below 1e-4.
    whole = workflow(2, [1, 2])
    first = Counter(names[0] for n in range(1, 101) for _, names in blocks(whole, n))
    assert 160 <= first["v0"] <= 240
    orders = {tuple(key for key, _ in blocks(whole, n)) for n in range(1, 101)}
    assert len(orders) == 24


def test_leaving_scenarios_out_does_not_reshuffle_the_others() -> None:
    whole = workflow(3, [1, 2, 3])
    every = [group.scenario.id for group in trial_groups(whole, 4)]
    kept = ["s001", "s007", "s013", "s000"]
    some = [group.scenario.id for group in trial_groups(whole, 4, only=kept)]
    assert some == [name for name in every if name in kept]
