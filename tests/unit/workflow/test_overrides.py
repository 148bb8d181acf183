"""`--set`, presets and `--driver`."""

from __future__ import annotations

from typing import Any

import pytest

from sfcperf.errors import InputError, WorkflowError
from sfcperf.workflow.load import load_document

PRESETS = {"short": {"design.rounds": 2, "/probes/0/count": 3}}


@pytest.mark.parametrize("path", ["design.rounds", "/design/rounds"])
def test_dotted_paths_and_pointers(load: Any, path: str) -> None:
    assert load(overrides=(f"{path}=7",)).design.rounds == 7


def test_values_are_json_or_text(load: Any) -> None:
    workflow = load(
        overrides=(
            "name=other",
            "probes.0.count=5",
            'probes.-={"probe": "stream"}',
            "factors.n=[0, 1]",
            "chain.functions.0.count=${n}",
            "vnfs.fwd.knobs.engine=slow",
            "infrastructure.config.dataplane=ebpf",
            "description=a=b",
        )
    )
    assert (workflow.name, workflow.description) == ("other", "a=b")
    assert [p.label for p in workflow.scenarios[0].probes] == ["echo", "stream-tcp"]
    assert [len(s.chain.functions) for s in workflow.scenarios] == [0, 1]
    assert workflow.scenarios[1].chain.functions[0].knobs["engine"] == "slow"
    assert workflow.config == {"dataplane": "ebpf"}


def test_later_overrides_win_and_the_document_is_what_is_run(load: Any) -> None:
    workflow = load(overrides=("design.rounds=7", "design.rounds=8"), design={"seed": 4})
    assert workflow.document["design"] == {"seed": 4, "rounds": 8}
    assert load_document(workflow.document, workflow.folder) == workflow


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("rounds", "not PATH=VALUE"),
        ("design..rounds=1", "empty"),
        ("desing.rounds=1", "the workflow has no 'desing'"),
        ("probes.1.count=1", "/probes exists, but it is a list of 1"),
        ("probes.-1.count=1", "a list of 1"),
        ("probes.²=1", "a list of 1"),
        ("name.first=1", "/name exists, but it is neither an object nor a list"),
        ("vnfs.gwd.type=copier", "/vnfs exists, but it has no 'gwd'"),
        ("design.seed=[1, NaN]", "64 bits"),
        ("name=\x00", "control character"),
        ("presets.short={}", "cannot be changed"),
        ("preset.short=1", "cannot be changed"),
        ('design={"a": 1, "a": 2}', "duplicate key"),
    ],
)
def test_overrides_without_a_place(load: Any, override: str, message: str) -> None:
    with pytest.raises(InputError, match="(?s)" + message.replace("(", r"\(")):
        load(overrides=(override,))


def test_a_preset_cannot_change_presets(load: Any) -> None:
    with pytest.raises(InputError, match="cannot be changed"):
        load(presets={"short": {"presets.other": {"name": "x"}}}, preset="short")


def test_a_new_key_must_fit_the_schema(load: Any) -> None:
    with pytest.raises(WorkflowError) as caught:
        load(overrides=("design.round=1",))
    assert caught.value.where == "/design/round"
    with pytest.raises(WorkflowError) as caught:
        load(overrides=("desing=1",))
    assert caught.value.where == "/desing"


def test_a_preset_is_chosen_by_an_override_or_by_the_document(load: Any) -> None:
    for workflow in (
        load(presets=PRESETS, overrides=("preset=short",)),
        load(presets=PRESETS, preset="short"),
    ):
        assert workflow.design.rounds == 2
        assert workflow.scenarios[0].probes[0].parameters["count"] == 3
        assert not {"preset", "presets"} & workflow.document.keys()
    assert load(presets=PRESETS).design.rounds == 6
    overridden = load(presets=PRESETS, overrides=("design.rounds=9", "preset=short"))
    assert overridden.design.rounds == 9


def test_a_claim_on_a_level_that_was_removed_is_not_tested(load: Any) -> None:
    """The levels are replaced inside of the section `factors`, which the file's document keeps."""
    operand = {"probe": "echo", "metric": "rtt_us", "at": {"n": 2}}
    claim = {"id": "slow", "text": "Slow.", "source": "own", "order": [operand, operand]}
    keys: dict[str, Any] = {
        "claims": [claim],
        "factors": {"n": [0, 1, 2]},
        "chain": {"functions": [{"vnf": "fwd", "count": "${n}"}]},
        "presets": {"short": {"factors.n": [0, 1]}},
    }
    assert load(**keys).claims[0].not_tested == ""
    for overrides in (("preset=short",), ("factors.n=[0, 1]",)):
        assert load(**keys, overrides=overrides).claims[0].not_tested


def test_an_unknown_preset_is_suggested(load: Any) -> None:
    with pytest.raises(WorkflowError) as caught:
        load(presets=PRESETS, overrides=("preset=shrot",))
    assert (caught.value.where, caught.value.hint) == ("/presets", "did you mean 'short'?")
    with pytest.raises(WorkflowError, match="there is no preset"):
        load(overrides=("preset=short",))


def test_another_driver_starts_from_its_own_defaults(load: Any) -> None:
    infrastructure = {"driver": "lab", "config": {"site": "here"}}
    workflow = load(infrastructure=infrastructure, driver="local")
    assert (workflow.driver, workflow.config) == ("local", {"dataplane": "ovs"})
    same = load(infrastructure=infrastructure, driver="lab")
    assert same.config == {"site": "here"}
    other = load(driver="lab", overrides=("infrastructure.config.site=there",))
    assert (other.driver, other.config) == ("lab", {"site": "there"})


def test_two_drivers_contradict_each_other(load: Any) -> None:
    with pytest.raises(InputError, match="contradict"):
        load(driver="lab", overrides=("infrastructure.driver=local",))


def test_an_unknown_driver(load: Any) -> None:
    with pytest.raises(WorkflowError) as caught:
        load(driver="locla")
    assert caught.value.where == "/infrastructure/driver"
    assert caught.value.hint == "did you mean 'local'?"
