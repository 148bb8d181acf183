"""`sfcperf init` and `sfcperf schema`: a folder to begin with, for people and their editors."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
from support.command import SFCPERF, Command

TREE = Path(__file__).parents[3]


def test_the_folder_is_one_to_begin_with(tmp_path: Path, sfcperf: Command) -> None:
    folder = tmp_path / "new" / "lab"
    assert sfcperf("init", folder) == 0
    assert f"next: sfcperf validate {folder}/workflow.json" in sfcperf.out
    workflow = folder / "workflow.json"
    assert sfcperf("validate", workflow) == 0
    profile = folder / "profile.json"
    assert sfcperf("plan", workflow, "--profile", profile, "--set", "preset=short") == 0
    document = json.loads(workflow.read_text())
    schema = json.loads((folder / document["$schema"]).read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    # The README explains each key that is in the workflow.
    explained = set(re.findall(r"^\| `(\w+)` \|", (folder / "README.md").read_text(), re.MULTILINE))
    assert document.keys() - {"$schema", "sfcperf", "name", "description", "publish"} == explained


@pytest.mark.parametrize("kind", ["program", "proxy"])
def test_a_program_to_begin_with(tmp_path: Path, sfcperf: Command, kind: str) -> None:
    """tests/e2e/test_any_program.py runs it."""
    assert sfcperf("init", tmp_path, "--kind", kind) == 0
    workflow = tmp_path / "workflow.json"
    assert sfcperf("plan", workflow, "--set", "preset=short") == 0
    document = json.loads(workflow.read_text())
    schema = json.loads((tmp_path / document["$schema"]).read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    # The README explains each knob that is in the workflow.
    rows = re.findall(r"^\| (`\w+`.*?) \|", (tmp_path / "README.md").read_text(), re.MULTILINE)
    explained = {knob for row in rows for knob in re.findall(r"`(\w+)`", row)}
    [vnf] = document["vnfs"].values()
    assert vnf["knobs"].keys() == explained


def test_nothing_is_replaced(tmp_path: Path, sfcperf: Command) -> None:
    (tmp_path / "workflow.json").write_text("mine")
    assert sfcperf("init", tmp_path) == 2
    assert "workflow.json would be replaced" in sfcperf.err
    assert [path.name for path in tmp_path.iterdir()] == ["workflow.json"]
    assert (tmp_path / "workflow.json").read_text() == "mine"


def test_the_schema_is_that_of_the_installed_plugins(sfcperf: Command) -> None:
    assert sfcperf("schema") == 0
    schema = json.loads(sfcperf.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "vnf.firewall" in schema["$defs"]


def test_editors_find_the_schema_of_shipped_workflows() -> None:
    for path in (TREE / "workflows").glob("*.json"):
        named = json.loads(path.read_text())["$schema"]
        assert (path.parent / named).resolve() == TREE / "schemas" / "workflow.schema.json"


def test_a_shell_completes() -> None:
    """As the script that bash gets asks."""
    asked = {"_SFCPERF_COMPLETE": "complete_bash", "COMP_WORDS": "sfcperf re", "COMP_CWORD": "1"}
    done = subprocess.run(
        [SFCPERF], env={**os.environ, **asked}, capture_output=True, text=True, timeout=60
    )
    assert {"resume", "report", "replay"} <= set(done.stdout.split())
