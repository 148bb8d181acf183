"""Profiles: a file says where to run, the workflow stays as it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.workflows.plugins import document

from sfcperf.errors import InputError, WorkflowError
from sfcperf.workflow.infrastructure import load_infrastructure
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Infrastructure, Workflow
from sfcperf.workflow.profile import Profile, read_profile

Profiled = Callable[..., Workflow]

pytestmark = pytest.mark.usefixtures("loaded")


def written(folder: Path, content: Any) -> Path:
    file = folder / "lab.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


@pytest.fixture
def run_with(tmp_path: Path) -> Profiled:
    """The small workflow, loaded with the profile of a laboratory."""
    profile = read_profile(written(tmp_path, {"driver": "lab", "config": {"site": "south"}}))

    def run(*overrides: str, driver: str | None = None, **keys: Any) -> Workflow:
        given = document(**keys)
        return load_document(given, tmp_path, overrides=overrides, driver=driver, profile=profile)

    return run


def test_it_takes_the_place_of_the_whole_section(run_with: Profiled) -> None:
    """Also of a configuration for the same driver."""
    for section in (None, {"driver": "local"}, {"driver": "lab", "config": {"site": "north"}}):
        workflow = run_with(infrastructure=section)
        assert (workflow.driver, workflow.config) == ("lab", {"site": "south"})


def test_it_is_part_of_what_is_kept(run_with: Profiled, tmp_path: Path) -> None:
    """`resume` and packages need the file no more."""
    workflow = run_with()
    assert workflow.document["infrastructure"] == {"driver": "lab", "config": {"site": "south"}}
    assert load_document(workflow.document, tmp_path) == workflow


def test_overrides_change_it_and_not_the_profile(run_with: Profiled) -> None:
    assert run_with("infrastructure.config.site=east").config == {"site": "east"}
    assert run_with().config == {"site": "south"}
    assert run_with(driver="lab").driver == run_with("infrastructure.driver=lab").driver == "lab"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"driver": "local"}, "--driver local contradicts --profile"),
        ({"overrides": ["infrastructure.driver=local"]}, "contradict each other"),
        (
            {"variants": {"a": {}, "b": {"infrastructure.driver": "local"}}},
            "contradicts the variants: b",
        ),
    ],
)
def test_contradictions_are_refused(run_with: Profiled, options: dict[str, Any], said: str) -> None:
    overrides = options.pop("overrides", ())
    with pytest.raises(InputError, match=said) as refused:
        run_with(*overrides, **options)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("content", "pointer", "said"),
    [
        ({"driver": "lba"}, "/driver", "no driver named 'lba'"),
        ({"driver": "lab", "config": {"sight": "x", "site": "y"}}, "/config/sight", "not known"),
        ({"driver": "lab", "config": {}}, "/config", "'site' is missing"),
        ({"driver": "lab"}, "/config", "'site' is missing"),
        ({"driver": "local", "config": {"dataplane": "x"}}, "/config/dataplane", "not known"),
        ({"driver": "local", "conifg": {}}, "/conifg", "not known"),
        ({"driver": "local", "config": []}, "/config", "must be an object"),
        ({"driver": 7}, "/driver", "must be a string"),
        ({}, "as a whole", "'driver' is missing"),
        ('{"driver": "local", "driver": "lab"}', "/driver", "duplicate key"),
        ({"driver": "lab", "config": {"site": "http://me:word@x"}}, "/config/site", "secrets"),
        ({"driver": "lab", "config": {"password": "hunter2"}}, "/config/password", "secrets"),
        ({"driver": "lab", "config": {"a": [{"auth_token": 1}]}}, "/config/a/0/auth_token", "secr"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_place(
    tmp_path: Path, content: Any, pointer: str, said: str
) -> None:
    file = written(tmp_path, content)
    with pytest.raises(WorkflowError, match=said) as refused:
        read_profile(file)
    assert refused.value.where == f"{file} {pointer}"
    assert "hunter2" not in str(refused.value)


def test_the_infrastructure_alone() -> None:
    """As `doctor` has it."""
    profile = Profile("lab.json", "lab", {"site": "south"})
    assert load_infrastructure((), None, None) == Infrastructure("local", {"dataplane": "ovs"})
    assert load_infrastructure((), None, profile) == Infrastructure("lab", {"site": "south"})
    changed = load_infrastructure(["infrastructure.config.site=7a"], "lab", None)
    assert changed == Infrastructure("lab", {"site": "7a"})


def test_of_the_infrastructure_alone_nothing_else_can_be_set() -> None:
    with pytest.raises(InputError, match="without a workflow"):
        load_infrastructure(["design.rounds=1"], "lab", None)
    with pytest.raises(WorkflowError) as refused:
        load_infrastructure(
            [f"infrastructure.config.{key}=x" for key in ("site", "sight")], "lab", None
        )
    assert refused.value.where == "/infrastructure/config/sight"
    with pytest.raises(WorkflowError):
        load_infrastructure((), "lba", None)
