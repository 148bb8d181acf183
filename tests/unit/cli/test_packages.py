"""`sfcperf pack`, `verify`, `replay` without running anything: output and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.records.packages import PLAIN, contents, finished_run, packed, sealed
from support.schemas import validator

Command = Callable[..., int]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("cli-package"), PLAIN)


def test_pack_says_what_it_made_and_what_is_missing(
    sfcperf: Command, capsys: Capture, tmp_path: Path
) -> None:
    run = finished_run(tmp_path / "run-1", PLAIN).folder
    target = tmp_path / "paper.zip"
    assert sfcperf("pack", run, "-o", target, "--author", "Ada") == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"package: {target} (")
    assert "no licence" in err
    document = json.loads(contents(target)["package.json"])
    assert document["citation"].startswith(f"Ada (2025): {document['title']}")
    assert sfcperf("pack", run, "-o", target) == 2
    assert "--overwrite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--author", "Ada <1234>", "ORCID"),
        ("--license", "CC BY", "SPDX"),
        ("--sign", "gpg:key", "ssh:KEYFILE"),
        ("--sign", "ssh:/nowhere/key", "key file"),
    ],
)
def test_pack_refuses_before_it_writes(
    sfcperf: Command, capsys: Capture, tmp_path: Path, option: str, value: str, told: str
) -> None:
    assert sfcperf("pack", "run", "-o", tmp_path / "p.zip", option, value) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_verify_prints_a_line_per_check(sfcperf: Command, capsys: Capture, package: Path) -> None:
    assert sfcperf("verify", package) == 0
    lines = capsys.readouterr().out.splitlines()
    checks = ["hashes", "signature", "RO-Crate", "documents", "agreement", "summaries", "figures"]
    names = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert names == [*checks, "other files"]


def test_verify_as_json(sfcperf: Command, capsys: Capture, package: Path) -> None:
    assert sfcperf("verify", package, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert not list(validator("verification").iter_errors(document))
    assert document["holds"] is True


def test_verify_and_replay_of_a_changed_package(
    sfcperf: Command, capsys: Capture, package: Path, tmp_path: Path
) -> None:
    changed = sealed(package, tmp_path / "p.zip", "runs/run-1/summary.json", b"{}")
    assert sfcperf("verify", changed) == 1
    assert "documents:  FAILED" in capsys.readouterr().out
    assert sfcperf("replay", changed, "--trust", "--results", tmp_path / "results") == 2
    assert "fails verification" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("verb", ["verify", "replay"])
def test_what_is_no_package(sfcperf: Command, capsys: Capture, tmp_path: Path, verb: str) -> None:
    path = tmp_path / "p.zip"
    path.write_text("not a zip")
    assert sfcperf(verb, path) == 2
    assert "rejected" in capsys.readouterr().err
    assert sfcperf(verb, tmp_path / "none.zip") == 2


def test_a_signature_that_is_asked_for(
    sfcperf: Command, capsys: Capture, package: Path, tmp_path: Path
) -> None:
    allowed = tmp_path / "allowed"
    allowed.write_text("")
    assert sfcperf("verify", package, "--allowed-signers", allowed) == 1
    assert "signature:  FAILED" in capsys.readouterr().out
    assert sfcperf("replay", package, "--allowed-signers", allowed) == 2


def test_replay_shows_and_runs_nothing(
    sfcperf: Command, capsys: Capture, package: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    assert sfcperf("replay", package, "--results", results) == 0
    out = capsys.readouterr().out
    assert "driver: local" in out
    assert "VNF fwd: forwarder" in out
    assert "probe ping: ping" in out
    assert out.endswith("Nothing was executed.\n")
    assert not results.exists()


@pytest.mark.parametrize(
    "arguments", [("--only", "other"), ("--margin", "x"), ("--alpha", "2"), ("--margin", "200%")]
)
def test_replay_with_a_wrong_option(
    sfcperf: Command, capsys: Capture, package: Path, arguments: tuple[str, str]
) -> None:
    assert sfcperf("replay", package, *arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_run_that_is_judged_once_more(
    sfcperf: Command, capsys: Capture, package: Path, tmp_path: Path
) -> None:
    """`--run` with a run that is done: nothing is run, the verdict is made anew."""
    store = finished_run(tmp_path / "run-9", PLAIN)
    manifest = {k: v for k, v in store.manifest().items() if k != "schema_version"}
    store.write_manifest({**manifest, "state": "done"})
    code = sfcperf("replay", package, "--trust", "--run", store.folder, "--margin", "50%")
    out = capsys.readouterr().out
    document = json.loads((store.folder / "replay.json").read_text())
    assert not list(validator("replay").iter_errors(document))
    assert code == (0 if document["reproduced"] else 1)
    assert f"verdict: {store.folder / 'replay.json'}" in out
    assert document["packaged_run"] == "run-1"
