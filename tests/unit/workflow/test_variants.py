"""Variants: what they become, what may vary, and where their mistakes are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.workflows.plugins import Stream, findings_at, pointers

from sfcperf.control.resolved import resolved
from sfcperf.errors import InputError, WorkflowError
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Infrastructure

Refused = Callable[..., WorkflowError]

FACTORS: dict[str, Any] = {
    "factors": {"n": [1, 2, 3]},
    "chain": {"functions": [{"vnf": "fwd", "count": "${n}"}]},
}
SLOW = {"fast": {}, "slow": {"vnfs.fwd.knobs.engine": "slow"}}


def test_each_combination_of_levels_is_there_in_each_variant(load: Any) -> None:
    workflow = load(**FACTORS, variants=SLOW)
    assert [(s.id, dict(s.levels)) for s in workflow.scenarios] == [
        (f"s{index:03d}", {"variant": variant, "n": n})
        for index, (variant, n) in enumerate((v, n) for v in SLOW for n in (1, 2, 3))
    ]
    assert {next(iter(scenario.levels)) for scenario in workflow.scenarios} == {"variant"}
    engines = {
        s.levels["variant"]: s.chain.functions[0].knobs["engine"] for s in workflow.scenarios
    }
    assert engines == {"fast": "fast", "slow": "slow"}
    assert [(v.name, dict(v.changes)) for v in workflow.variants] == list(SLOW.items())
    assert load_document(workflow.document, workflow.folder) == workflow


def test_a_workflow_without_variants_knows_nothing_of_them(load: Any) -> None:
    workflow = load(**FACTORS)
    assert workflow.variants == ()
    assert all(scenario.infrastructure is None for scenario in workflow.scenarios)
    assert all("infrastructure" not in scenario for scenario in resolved(workflow).values())
    assert workflow.infrastructures == (Infrastructure("local", {"dataplane": "ovs"}),)


def test_factors_may_be_used_in_changes(load: Any) -> None:
    workflow = load(
        factors={"n": [1, 2]},
        variants={"one": {"chain.functions.0.count": "${n}"}, "other": {"probes.0.count": "${n}"}},
    )
    lengths = [len(s.chain.functions) for s in workflow.scenarios]
    assert lengths == [1, 2, 2, 2]
    assert [s.probes[0].parameters["count"] for s in workflow.scenarios] == [20, 20, 1, 2]


def test_each_scenario_knows_what_it_is_built_on(load: Any) -> None:
    workflow = load(
        infrastructure={"driver": "local", "config": {"dataplane": "ebpf"}},
        variants={
            "here": {},
            "knob": {"chain.initial_si": 9},
            "there": {"infrastructure.config.site": "x", "infrastructure.driver": "lab"},
        },
    )
    here, there = (
        Infrastructure("local", {"dataplane": "ebpf"}),
        Infrastructure("lab", {"site": "x"}),
    )
    assert [s.infrastructure for s in workflow.scenarios] == [here, here, there]
    assert (workflow.driver, workflow.config) == ("local", {"dataplane": "ebpf"})
    assert workflow.infrastructures == (here, there)
    kept = resolved(workflow)
    assert kept["s002"]["infrastructure"] == {"driver": "lab", "config": {"site": "x"}}


SAME = "same in all variants"


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ([], "", "must be an object"),
        ({"": 1}, "/", "at least 1"),
        ({"design.rounds": 1}, "/design.rounds", SAME),
        ({"factors.n": 1}, "/factors.n", SAME),
        ({"/publish": 1}, "/~1publish", SAME),
        ({"variants.a": 1}, "/variants.a", SAME),
        ({"chain..x": 1}, "/chain..x", "empty"),
        ({"chain.functions.7.count": 1}, "/chain.functions.7.count", "7"),
        ({"vnfs.fdw.knobs": {}}, "/vnfs.fdw.knobs", "no 'fdw'"),
        ({"chain.spi": 2, "chain": {}}, "/chain", "overwrites"),
        # What a change makes wrong is told at the change.
        ({"chain.encapsulation": "gre"}, "/chain.encapsulation", "gre"),
        ({"/chain/encapsulation": "gre"}, "/~1chain~1encapsulation", "gre"),
        ({"vnfs.fwd.knobs": {"engine": "warp"}}, "/vnfs.fwd.knobs/engine", "warp"),
        ({"vnfs.fwd": {"type": "copier", "node": "n9"}}, "/vnfs.fwd/node", "n9"),
        ({"infrastructure.driver": "lab"}, "/infrastructure.driver", "config"),
        ({"monitors": [{"monitor": "nix"}]}, "/monitors/0/monitor", "nix"),
        ({"probes.-": {"probe": "echo", "nix": 1}}, "/probes.-/nix", "nix"),
        ({"chain.functions.0.count": 40}, "/chain.functions.0.count", "40"),
        ({"topology": "${n}"}, "/topology", "no factor 'n'"),
    ],
)
def test_a_wrong_change_is_told_at_the_change(
    refused: Refused, change: Any, place: str, message: str
) -> None:
    error = refused(variants={"a": {}, "b": change})
    assert error.where == f"/variants/b{place}"
    assert message in error.message
    assert message != SAME or "chain" in (error.allowed or "")


@pytest.mark.parametrize(
    ("variants", "where", "message"),
    [
        ({"a": {}}, "/variants", "at least 2"),
        ([], "/variants", "must be an object"),
        ({"a": {}, "b c": {}}, "/variants/b c", "required pattern"),
    ],
)
def test_what_are_no_variants(refused: Refused, variants: Any, where: str, message: str) -> None:
    error = refused(variants=variants)
    assert error.where == where
    assert message in error.message


def test_what_is_wrong_in_all_variants_is_told_once_in_its_place(refused: Refused) -> None:
    error = refused(chain={"functions": [], "encapsulation": "gre"}, variants=SLOW)
    assert pointers(error) == {"/chain/encapsulation"}
    overridden = {"a": {"chain.encapsulation": "auto"}, "b": {"chain.spi": 3}, "c": {}}
    error = refused(chain={"functions": [], "encapsulation": "gre"}, variants=overridden)
    assert pointers(error) == {"/chain/encapsulation"}


def test_a_place_that_only_changes_make_is_not_pointed_to(refused: Refused) -> None:
    changes = {"chain.classifier.match.source": "x", "chain.spi": 2}
    error = refused(variants={"a": changes, "b": dict(changes)})
    assert pointers(error) == {f"/variants/{name}/chain.classifier.match.source" for name in "ab"}


def test_a_factor_that_one_variant_does_not_use_is_refused(refused: Refused) -> None:
    # Its scenarios would not be those of the others.
    error = refused(**FACTORS, variants={"a": {}, "b": {"chain.functions.0.count": 2}})
    assert error.where == "/variants/b/chain.functions.0.count"
    assert "not used" in error.message and "/factors/n" in error.message


def test_a_factor_may_not_have_the_name_of_the_variants_level(refused: Refused) -> None:
    error = refused(
        factors={"variant": [1, 2]},
        chain={"functions": [{"vnf": "fwd", "count": "${variant}"}]},
        variants=SLOW,
    )
    assert error.where == "/factors/variant"


def test_probes_are_the_same_in_all_variants(
    refused: Refused, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = {"probe": "stream", "protocol": "udp"}
    error = refused(variants={"a": {}, "b": {"probes": [stream]}})
    assert error.where == "/variants/b/probes"
    assert "stream-udp" in error.message and "echo" in error.message
    error = refused(
        probes=[stream], variants={"a": {}, "b": {"probes.0.protocol": "tcp", "chain.spi": 2}}
    )
    assert error.where == "/variants/b/probes.0.protocol"
    monkeypatch.setattr(Stream, "metrics", classmethod(lambda cls, parameters: ()))
    error = refused(
        probes=[{"probe": "echo", "name": "p"}],
        variants={"a": {}, "b": {"probes.0.probe": "stream"}},
    )
    assert error.where == "/variants/b/probes.0.probe"
    assert "loss_ratio (1), rtt_us (us)" in error.message
    named = {"a": {}, "b": {"probes": [{"probe": "echo", "count": 5, "name": "echo"}]}}
    assert {s.probes[0].parameters["count"] for s in load(variants=named).scenarios} == {20, 5}


def test_figures_may_draw_the_variants(load: Any, refused: Refused) -> None:
    figure = {"name": "f", "probe": "echo", "metric": "rtt_us", "x": "n", "series": "variant"}
    assert load(**FACTORS, variants=SLOW, figures=[figure]).figures[0].series == "variant"
    assert findings_at(refused(**FACTORS, figures=[figure]), "/figures/0/series")
    pooled = {**figure, "fit": "linear"}
    del pooled["series"]
    assert findings_at(refused(**FACTORS, variants=SLOW, figures=[pooled]), "/figures/0/fit")


def test_changes_and_presets_may_change_variants(load: Any) -> None:
    changed = load(variants=SLOW, overrides=("/variants/slow/vnfs.fwd.knobs.batch=3",))
    assert [s.chain.functions[0].knobs["batch"] for s in changed.scenarios] == [32, 3]
    preset = {"short": {"variants": {"x": {}, "y": {}}}}
    assert [v.name for v in load(variants=SLOW, presets=preset, preset="short").variants] == [
        "x",
        "y",
    ]


def test_another_driver_is_not_put_under_variants_that_choose_theirs(load: Any) -> None:
    there = {"infrastructure": {"driver": "lab", "config": {"site": "x"}}}
    with pytest.raises(InputError, match="contradicts the variants: b"):
        load(variants={"a": {}, "b": there}, driver="lab")
    moved = load(variants=SLOW, driver="local")
    assert moved.driver == "local"
