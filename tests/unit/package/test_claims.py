"""Claims in packages: what verify makes again, what the README says, and both sides of a replay."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import markdown
import pytest
from support.records.claimed_run import CLAIMS, WITH_CLAIMS
from support.records.packages import (
    OPTIONS,
    changed,
    contents,
    edited,
    finding,
    finished_run,
    packed,
    resealed,
    sealed,
    sealed_edit,
)
from support.records.page import Page
from support.records.runs import workflow_document
from support.schemas import validator

from sfcperf.analysis.claims.analysis import ClaimsAnalysis
from sfcperf.package.pack import pack
from sfcperf.package.readme import readme_text
from sfcperf.package.verify import verify
from sfcperf.results.store import RunFile
from sfcperf.workflow.load import load_document

RUN = "runs/run-1"


def test_each_claim_is_listed_and_what_was_not_tested_is_not_counted(claimed: Path) -> None:
    verification = verify(claimed)
    assert verification.holds
    assert not list(validator("verification").iter_errors(verification.document()))
    text = finding(verification, "claims", "ok")
    assert text.startswith("4 verdicts")
    assert text.splitlines()[1:] == [
        f"run-1: {name}: {verdict}"
        for name, verdict in (
            ("fast", "agrees"),
            ("slow", "contradicts"),
            ("flat", "undecided"),
            ("elsewhere", "not comparable"),
            ("spark", "not tested"),
        )
    ]


def test_claims_that_no_run_tests_are_not_checked(tmp_path: Path) -> None:
    package = packed(tmp_path, replace(WITH_CLAIMS, claims=CLAIMS[-1:]))
    assert "run-1: spark: not tested" in finding(verify(package), "claims", "not checked")


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d["claims"][1].update(verdict="agrees"),
        lambda d: d["claims"][0].update(estimate=d["claims"][0]["estimate"] * 1.001),
        lambda d: d["claims"][2].update(reason=""),
        lambda d: d["claims"].pop(1),
        lambda d: d["claims"].reverse(),
        lambda d: d.update(confidence=0.9),
    ],
)
def test_an_edited_document_is_found_though_its_hash_fits(
    claimed: Path, tmp_path: Path, edit: Callable[[Any], object]
) -> None:
    path = sealed_edit(claimed, tmp_path / "p.zip", f"{RUN}/{RunFile.CLAIMS}", edit)
    assert f"run-1/{RunFile.CLAIMS}" in finding(verify(path), "claims")


def test_a_last_digit_of_another_library_is_no_edit(claimed: Path, tmp_path: Path) -> None:
    def other(document: Any) -> None:
        document["claims"][0]["high"] *= 1 + 1e-12

    path = sealed_edit(claimed, tmp_path / "p.zip", f"{RUN}/{RunFile.CLAIMS}", other)
    assert verify(path).holds


def test_a_document_that_is_missing_is_found(tmp_path: Path) -> None:
    store = finished_run(tmp_path / "run-1", WITH_CLAIMS)
    (store.folder / RunFile.CLAIMS).unlink()
    package = pack([store], tmp_path / "p.zip", OPTIONS).path
    assert RunFile.CLAIMS in finding(verify(package), "claims")


def test_what_package_json_says_is_that_of_the_runs(claimed: Path, tmp_path: Path) -> None:
    def flattered(document: Any) -> None:
        document["runs"][0]["claims"][1]["verdict"] = "agrees"

    files = contents(claimed)
    document = json.loads(edited(files["package.json"], flattered))
    new = {
        "package.json": json.dumps(document).encode(),
        "README.md": readme_text(document).encode(),
    }
    path = resealed(claimed, tmp_path / "p.zip", new)
    assert "package.json/runs/0/claims" in finding(verify(path), "agreement")


def test_the_readme_has_each_claim_with_the_command_that_checks_it(claimed: Path) -> None:
    text = contents(claimed)["README.md"].decode()
    words = "".join(Page(markdown.markdown(text, extensions=["tables"])).content["text"])
    for claim in CLAIMS:
        assert claim["text"] in words
        assert f"sfcperf claims PACKAGE.zip --id {claim['id']}" in words
    assert "not tested: there is no Spark" in words


def test_a_run_whose_options_removed_a_level_is_as_it_was_run(tmp_path: Path) -> None:
    """The workflow as run has a note that the workflow as given lacks."""
    store = finished_run(tmp_path / "run-1", replace(WITH_CLAIMS, chain_lengths=(0,), claims=()))
    given = workflow_document(WITH_CLAIMS)
    option = "factors.chain_length=[0]"
    applied = load_document(given, tmp_path, overrides=[option]).document
    store.write_workflow(applied, tmp_path, source=given)
    command = ["sfcperf", "run", "small.json", "--set", option]
    store.write_manifest({**store.manifest(), "command": command})
    ClaimsAnalysis({}).analyse(store)
    verification = verify(pack([store], tmp_path / "p.zip", OPTIONS).path)
    assert verification.holds, verification
    assert "run-1: slow: not tested" in finding(verification, "claims", "ok")


def test_claims_of_a_package_are_those_of_its_run(
    claimed: Path, tmp_path: Path, sfcperf: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfcperf("claims", claimed, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(contents(claimed)[f"{RUN}/{RunFile.CLAIMS}"])
    bad = sealed(claimed, tmp_path / "p.zip", f"{RUN}/{RunFile.WORKFLOW_APPLIED}", b"[]")
    assert sfcperf("claims", bad) == 2
    broken = changed(claimed, tmp_path / "q.zip", f"{RUN}/{RunFile.CLAIMS}", b"{}")
    assert sfcperf("claims", broken) == 2


def test_a_replay_shows_both_verdicts(
    claimed: Path, tmp_path: Path, sfcperf: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    here = finished_run(tmp_path / "run-9", replace(WITH_CLAIMS, claims=CLAIMS[1:], rounds=5))
    here.write_manifest({**here.manifest(), "state": "done"})
    again = ("replay", claimed, "--trust", "--run", here.folder)
    assert sfcperf(*again, "--claims") in (0, 1)
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert lines["fast"][1:4] == ["✓", "agrees", "–"]
    assert lines["slow"][1:5] == ["✕", "contradicts", "?", "undecided"]
    assert lines["slow"].count("µs") == 2
    for wrong in ((*again, "--claims", "--json"), ("replay", claimed, "--claims")):
        assert sfcperf(*wrong) == 2
        assert "--claims" in capsys.readouterr().err
