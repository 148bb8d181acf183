"""Configurations for other systems parse, and their commands are ones that the program takes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml
from dockerfile_parse import DockerfileParser

from sfcperf.cli.app import click_command
from sfcperf.cli.comparing import failing

TREE = Path(__file__).resolve().parents[2]
PAGE = TREE / "docs" / "how-to" / "continuous-benchmarking.md"


def snippets() -> list[dict[Any, Any]]:
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    return [yaml.safe_load(block) for block in blocks]


def commands(script: str) -> Iterator[list[str]]:
    """Arguments of each `sfcperf` in a shell script."""
    lexer = shlex.shlex(script.replace("\\\n", " "), posix=True, punctuation_chars=";&|<>\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    command: list[str] = []
    for word in [*lexer, "\n"]:
        if not set(word) <= set(";&|<>\n"):
            command.append(word)
            continue
        plain = [w for w in command if w != "sudo"]
        if plain and Path(plain[0]).name == "sfcperf":
            yield plain[1:]
        command = []


def check(arguments: list[str]) -> dict[str, Any]:
    """Parse as the program does, without doing anything; gives the values."""
    verb, *rest = arguments
    group = click_command()
    known = group.commands  # type: ignore[attr-defined]
    assert verb in known, verb
    values: dict[str, Any] = known[verb].make_context(verb, rest).params
    return values


def scripts() -> list[str]:
    github, gitlab = snippets()
    (job,) = github["jobs"].values()
    return [
        *(step["run"] for step in job["steps"] if "run" in step),
        "\n".join(gitlab["benchmark"]["script"]),
    ]


def test_ci_measures_and_compares() -> None:
    asked = [
        (arguments[0], check(arguments)) for script in scripts() for arguments in commands(script)
    ]
    assert [verb for verb, _ in asked] == ["run", "compare"] * 2
    for verb, values in asked:
        if verb == "run":
            assert values["quiet"]
        else:
            assert failing(values["fail_on"]) == {"worse"}
            assert len(values["runs"]) == 2
    gitlab = snippets()[1]["benchmark"]
    assert gitlab["allow_failure"] == {"exit_codes": [5]}


def test_the_containerfile_prepares_and_runs() -> None:
    recipe = DockerfileParser(fileobj=BytesIO((TREE / "Containerfile").read_bytes()))
    steps = [(step["instruction"], step["value"]) for step in recipe.structure]
    (setup,) = (
        arguments for kind, value in steps if kind == "RUN" for arguments in commands(value)
    )
    values = check(setup)
    assert (values["yes"], values["packages"], values["check"]) == (True, True, False)
    (entry,) = (json.loads(value) for kind, value in steps if kind == "ENTRYPOINT")
    assert any(entry[0].startswith(f"{v.split()[-1]}/bin/") for k, v in steps if "venv " in v)
    # What is copied is what the page says to build.
    assert ("COPY", "dist/sfcperf-*.whl /opt/") in steps
