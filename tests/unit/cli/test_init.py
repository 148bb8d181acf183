"""`sfcperf init` and `sfcperf schema`: a folder to begin with, for people and their editors."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from support.command import SFCPERF

Command = Callable[..., int]
Capture = pytest.CaptureFixture[str]
TREE = Path(__file__).parents[3]


def test_the_folder_is_one_to_begin_with(tmp_path: Path, sfcperf: Command, capsys: Capture) -> None:
    folder = tmp_path / "new" / "lab"
    assert sfcperf("init", folder) == 0
    assert f"next: sfcperf validate {folder}/workflow.json" in capsys.readouterr().out
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


def test_nothing_is_replaced(tmp_path: Path, sfcperf: Command, capsys: Capture) -> None:
    (tmp_path / "workflow.json").write_text("mine")
    assert sfcperf("init", tmp_path) == 2
    assert "workflow.json would be replaced" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["workflow.json"]
    assert (tmp_path / "workflow.json").read_text() == "mine"


def test_the_schema_is_that_of_the_installed_plugins(sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("schema") == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "vnf.firewall" in schema["$defs"]


def test_editors_find_the_schema_of_shipped_workflows() -> None:
    for path in (TREE / "workflows").glob("*.json"):
        named = json.loads(path.read_text())["$schema"]
        assert (path.parent / named).resolve() == TREE / "schemas" / "workflow.schema.json"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete(shell: str) -> None:
    """As the script that a shell gets asks."""
    typed = "sfcperf re"
    asked = {
        "_SFCPERF_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": typed,
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": typed,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    argv = [SFCPERF]
    done = subprocess.run(
        argv, env={**os.environ, **asked}, capture_output=True, text=True, timeout=60, check=False
    )
    assert {"resume", "report", "replay"} <= set(re.findall(r"[a-z]+", done.stdout))
