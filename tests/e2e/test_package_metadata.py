"""What archives read of a package, judged by their own tools."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from rocrate.vocabs import RO_CRATE
from support import crate_judge
from support.other_python import python_with
from support.records.packages import (
    OPTIONS,
    PLAIN,
    contents,
    finished_run,
    packed,
    sealed_edit,
)
from support.records.runs import RunOptions, build_run
from support.wheel import TREE, run_command

from sfcperf.errors import EnvironmentLacks
from sfcperf.package.crate import _YOUNGER_TERMS
from sfcperf.package.pack import pack
from sfcperf.package.pack_document import PackOptions
from sfcperf.package.verify import verify

LEFT = (
    # Nobody tells SFCPerf.
    "The `publisher` property of a `Root Data Entity` SHOULD be an `Organization`",
    "The author SHOULD have an organizational affiliation.",
    "The author SHOULD have a Contextual Entity which specifies the organizational `affiliation`.",
    # SFCPerf has no home page, and workflows have neither an address nor a version.
    "The Application SHOULD have a url",
    "The SoftwareApplication id SHOULD be an absolute URI",
    "The SoftwareSourceCode or ComputationalWorkflow SHOULD have a version",
)
"""Recommendations that a package with an author and a licence does not follow."""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with an author and a licence."""
    return packed(tmp_path / "packed", PLAIN)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Command that judges a crate."""
    folder = tmp_path_factory.mktemp("judge")
    # The context of 1.1 itself is on the network. That of the installed rocrate is a newer one,
    # which also has terms that 1.1 lacks.
    terms = {k: v for k, v in RO_CRATE["@context"].items() if k not in _YOUNGER_TERMS}
    context = folder / "context.json"
    context.write_text(json.dumps({"@context": terms}))
    python = python_with(folder / "env", "roc-validator==0.13.0")
    return [str(python), crate_judge.__file__, str(context)]


def issues(judge: list[str], package: Path, severity: str) -> set[str]:
    python, script, context = judge
    argv = [python, script, str(package), context, severity]
    return set(run_command(argv, package.parent).splitlines())


@pytest.mark.exhaustive
def test_a_package_follows_the_profile_of_process_runs(
    judge: list[str], package: Path, tmp_path: Path
) -> None:
    run = finished_run(tmp_path / "run-1", PLAIN)
    (run.folder / "100 % äöü #1?.txt").write_text("x")
    named = pack([run], tmp_path / "names.zip", PackOptions()).path
    cut = build_run(tmp_path / "run-2", RunOptions(status="interrupted", trials=5))
    shutil.copy(run.folder / "plan.json", cut.folder)
    short = pack([cut], tmp_path / "cut.zip", replace(OPTIONS, allow_incomplete=True)).path
    for each in (package, named, short):
        assert not issues(judge, each, "REQUIRED"), each.name
    assert issues(judge, package, "RECOMMENDED") == {f"RECOMMENDED {text}" for text in LEFT}


@pytest.mark.exhaustive
def test_its_judge_finds_what_is_missing(judge: list[str], package: Path, tmp_path: Path) -> None:
    def without_profile(crate: dict[str, list[dict[str, object]]]) -> None:
        for entity in crate["@graph"]:
            if entity["@id"] == "./":
                del entity["conformsTo"]

    bad = sealed_edit(package, tmp_path / "p.zip", "ro-crate-metadata.json", without_profile)
    assert any("versioned permalink" in text for text in issues(judge, bad, "REQUIRED"))


@pytest.mark.exhaustive
def test_a_package_has_its_sfcperf_with_all_that_it_needs(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run-1", PLAIN)
    try:
        made = pack([run], tmp_path / "p.zip", replace(OPTIONS, with_sfcperf=True)).path
    except EnvironmentLacks as lacking:
        if lacking.where != "--with-sfcperf":
            raise
        pytest.skip(f"no package index: {lacking.message}")
    verification = verify(made)
    assert verification.holds, verification
    needed = contents(made)["software/requirements.txt"].decode()
    assert f"\nnumpy=={version('numpy')} " in needed
    (wheel,) = (name for name in contents(made) if name.endswith(".whl"))
    assert wheel.startswith("software/sfcperf-")


@pytest.mark.exhaustive
def test_citation_files_are_valid(package: Path, tmp_path: Path) -> None:
    cffconvert = python_with(tmp_path / "env", "cffconvert==2.0.0").with_name("cffconvert")
    of_package = tmp_path / "CITATION.cff"
    of_package.write_bytes(contents(package)["CITATION.cff"])
    for file in (TREE / "CITATION.cff", of_package):
        run_command([str(cffconvert), "--validate", "--infile", str(file)], tmp_path)
    shown = run_command(
        [str(cffconvert), "--format", "apalike", "--infile", str(of_package)], tmp_path
    )
    assert shown.startswith("Lovelace A.")
