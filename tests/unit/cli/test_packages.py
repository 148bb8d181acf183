"""`sfcperf pack`, `verify`, `replay` without running anything: output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import Command
from support.records.packages import PLAIN, contents, finished_run, packed, sealed
from support.schemas import validator


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("cli-package"), PLAIN)


def test_pack_says_what_it_made_and_what_is_missing(sfcperf: Command, tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run-1", PLAIN).folder
    target = tmp_path / "paper.zip"
    assert sfcperf("pack", run, "-o", target, "--author", "Ada") == 0
    out, err = sfcperf.out, sfcperf.err
    assert out.startswith(f"package: {target} (")
    assert "no licence" in err
    document = json.loads(contents(target)["package.json"])
    assert document["citation"].startswith(f"Ada (2025): {document['title']}")
    assert sfcperf("pack", run, "-o", target) == 2
    assert "--overwrite" in sfcperf.err


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--author", "Ada <1234>", "ORCID"),
        ("--license", "CC BY", "SPDX"),
        ("--sign", "gpg:key", "ssh:KEYFILE"),
        ("--sign", "ssh:/nowhere/key", "key file"),
        ("--deposit", "record.json", "--author"),
        ("--paper", "10.1109/5.771073", "--deposit"),
    ],
)
def test_pack_refuses_before_it_writes(
    sfcperf: Command, tmp_path: Path, option: str, value: str, told: str
) -> None:
    assert sfcperf("pack", "run", "-o", tmp_path / "p.zip", option, value) == 2
    assert told in sfcperf.err
    assert not list(tmp_path.iterdir())


def test_verify_prints_a_line_per_check_or_json(sfcperf: Command, package: Path) -> None:
    assert sfcperf("verify", package) == 0
    lines = sfcperf.out.splitlines()
    checks = ["hashes", "signature", "RO-Crate", "documents", "agreement", "summaries"]
    names = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert names == [*checks, "claims", "figures", "other files"]
    assert sfcperf("verify", package, "--json") == 0
    document = json.loads(sfcperf.out)
    assert not list(validator("verification").iter_errors(document))
    assert document["holds"] is True


def test_verify_and_replay_of_a_changed_package(
    sfcperf: Command, package: Path, tmp_path: Path
) -> None:
    changed = sealed(package, tmp_path / "p.zip", "runs/run-1/summary.json", b"{}")
    assert sfcperf("verify", changed) == 1
    assert "documents:  FAILED" in sfcperf.out
    assert sfcperf("replay", changed, "--trust", "--results", tmp_path / "results") == 2
    assert "fails verification" in sfcperf.err
    assert not (tmp_path / "results").exists()


def test_what_is_no_package(sfcperf: Command, tmp_path: Path) -> None:
    path = tmp_path / "p.zip"
    path.write_text("not a zip")
    for verb in ("verify", "replay"):
        assert sfcperf(verb, path) == 2
        assert "rejected" in sfcperf.err
        assert sfcperf(verb, tmp_path / "none.zip") == 2


def test_a_signature_that_is_asked_for(sfcperf: Command, package: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.write_text("")
    assert sfcperf("verify", package, "--allowed-signers", allowed) == 1
    assert "signature:  FAILED" in sfcperf.out
    assert sfcperf("replay", package, "--allowed-signers", allowed) == 2


def test_replay_shows_and_runs_nothing(sfcperf: Command, package: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert sfcperf("replay", package, "--results", results) == 0
    out = sfcperf.out
    assert "driver: local" in out
    assert "VNF fwd: forwarder" in out
    assert "probe ping: ping" in out
    assert out.endswith("Nothing was executed.\n")
    assert not results.exists()


@pytest.mark.parametrize("arguments", [("--only", "other"), ("--margin", "x"), ("--alpha", "2")])
def test_replay_with_a_wrong_option(
    sfcperf: Command, package: Path, arguments: tuple[str, str]
) -> None:
    assert sfcperf("replay", package, *arguments) == 2
    assert "Traceback" not in sfcperf.err


def test_a_run_that_is_judged_once_more(sfcperf: Command, package: Path, tmp_path: Path) -> None:
    """`--run` with a run that is done: nothing is run, the verdict is made anew."""
    store = finished_run(tmp_path / "run-9", PLAIN)
    store.write_manifest({**store.manifest(), "state": "done"})
    code = sfcperf("replay", package, "--trust", "--run", store.folder, "--margin", "50%")
    out = sfcperf.out
    document = json.loads((store.folder / "replay.json").read_text())
    assert not list(validator("replay").iter_errors(document))
    assert code == (0 if document["reproduced"] else 1)
    assert f"verdict: {store.folder / 'replay.json'}" in out
    assert document["packaged_run"] == "run-1"
