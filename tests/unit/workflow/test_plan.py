"""The plan: every trial once, in an order that follows from the seed."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from support.schemas import validator

from sfcperf.control.resolved import resolved
from sfcperf.workflow import plan as plans
from sfcperf.workflow.plan import plan_document, trial_groups

VARIED: dict[str, Any] = {
    "factors": {"n": list(range(8))},
    "chain": {"functions": [{"vnf": "fwd", "count": "${n}"}]},
    "probes": [{"probe": "echo"}, {"probe": "stream"}],
}


def order(workflow: Any, number: int, **more: Any) -> list[str]:
    return [t.trial_id for group in trial_groups(workflow, number, **more) for t in group.trials]


def test_each_round_has_each_trial_once(load: Any) -> None:
    workflow = load(**VARIED)
    expected = {f"r001-s{s:03d}-{label}" for s in range(8) for label in ("echo", "stream-tcp")}
    assert set(order(workflow, 1)) == expected
    assert len(order(workflow, 1)) == len(expected)


def test_the_order_follows_from_the_seed_alone(load: Any) -> None:
    first = load(**VARIED, design={"seed": 5})
    again = load(**VARIED, design={"seed": 5, "rounds": 9})
    other = load(**VARIED, design={"seed": 6})
    assert [order(first, n) for n in range(4)] == [order(again, n) for n in range(4)]
    assert [order(first, n) for n in range(4)] != [order(other, n) for n in range(4)]
    shuffled = [name[4:] for name in order(first, 1)]
    assert shuffled != sorted(shuffled)
    assert shuffled != [name[4:] for name in order(first, 2)]


def test_sequential_order_is_that_of_the_file(load: Any) -> None:
    workflow = load(**VARIED, design={"order": "sequential"})
    assert order(workflow, 2) == sorted(order(workflow, 2))


def test_the_document_fits_its_schema(load: Any) -> None:
    stop = {"relative_half_width": 0.1, "max_rounds": 7}
    workflow = load(**VARIED, design={"rounds": 2, "warmup_rounds": 1, "stop_when": stop})
    document = {"schema_version": 1, **plan_document(workflow), "resolved": resolved(workflow)}
    validator("plan").validate(document)
    rounds = [(r["round"], r["warmup"]) for r in document["rounds"]]
    assert rounds == [(1, True), (1, False), (2, False)]
    assert document["trials"] == 2 * 8 * 2
    assert document["max_rounds"] == 7
    names = [t for r in document["rounds"] for v in r["visits"] for t in v["trials"]]
    assert len(set(names)) == len(names) == 3 * 8 * 2


def test_the_estimate_adds_up(load: Any) -> None:
    workflow = load(**VARIED, design={"rounds": 2, "warmup_rounds": 1})
    warmup = trial_groups(workflow, 1, warmup=True)
    every = chain(warmup, trial_groups(workflow, 1), trial_groups(workflow, 2))
    assert plans.workflow_s(workflow) == pytest.approx(sum(map(plans.trial_group_s, every)))


def test_a_block_of_the_sentinel_parts_no_variants(load: Any) -> None:
    """Three variants: blocks of two trial groups are estimated as they are measured, as three."""

    def estimate_s(every_visits: int) -> float:
        gate = {"sentinel": {"probe": {"probe": "echo"}, "every_visits": every_visits}}
        variants = {f"v{n}": {"vnfs.fwd.knobs.batch": n + 1} for n in range(3)}
        return plans.workflow_s(load(**VARIED, variants=variants, design={"noise_gate": gate}))

    assert estimate_s(2) == estimate_s(3) != estimate_s(4)
