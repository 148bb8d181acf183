"""The profiles that come with SFCPerf fit the drivers that do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.workflows.file import load_workflow

from sfcperf.cli.shipped import shipped
from sfcperf.workflow.profile import read_profile

ROOT = Path(__file__).parents[3]
PORTABLE = ("quickstart", "firewall-chain")
SCHEMA = json.loads((ROOT / "schemas" / "profile.schema.json").read_text())


def test_there_is_one_for_each_driver_of_ours() -> None:
    assert set(shipped("profiles")) == {"local", "openstack"}


@pytest.mark.parametrize("name", shipped("profiles"))
def test_it_is_named_after_its_driver_and_fits_it(name: str) -> None:
    file = shipped("profiles")[name]
    assert read_profile(file).driver == name
    Draft202012Validator(SCHEMA).validate(json.loads(file.read_text()))


@pytest.mark.parametrize("name", shipped("profiles"))
@pytest.mark.parametrize("workflow", PORTABLE)
def test_workflows_load_with_it_unchanged(workflow: str, name: str) -> None:
    file = ROOT / "workflows" / f"{workflow}.json"
    alone = load_workflow(file)
    loaded = load_workflow(file, profile=read_profile(shipped("profiles")[name]))
    assert loaded.driver == name
    assert (loaded.scenarios, loaded.design) == (alone.scenarios, alone.design)
