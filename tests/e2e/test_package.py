"""From a run to a package, to another place, to a verdict: real namespaces, real tools."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import SFCPERF, spawn
from support.ended import ended
from support.example_plugin import WORKFLOW, installed, leftovers
from support.network.ssh_servers import new_key
from support.schemas import validator, violations

from sfcperf import retry
from sfcperf.control.lock import is_held

pytestmark = pytest.mark.root


def sfcperf(
    folder: Path, *arguments: object, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in `folder`; `path` is where third-party plug-ins are installed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    argv = [SFCPERF, *map(str, arguments)]
    return ended(argv, timeout_s=400, folder=folder, environment=environment)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example plug-in, installed into a folder of its own."""
    return installed(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def paper(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of a real run that used the plug-in, signed; where it was made is gone."""
    folder = tmp_path_factory.mktemp("author")
    state = folder / "state"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFCPERF_STATE_DIR", str(state))
        options = ("--set", "design.rounds=3", "--results", folder / "results", "--quiet")
        done = sfcperf(folder, "run", WORKFLOW, *options, path=site)
        assert done.returncode == 0, done.stderr
        run = Path(done.stdout.strip())
        assert not violations(run)
        public = new_key(folder / "key")
        author = "Ada Lovelace <0000-0002-1825-0097>"
        more = ("--license", "CC-BY-4.0", "--author", author, "--sign", f"ssh:{folder / 'key'}")
        done = sfcperf(folder, "pack", run, "-o", "paper.zip", *more, path=site)
        assert done.returncode == 0, done.stderr
    (folder / "allowed").write_text(f"ada@lab {public}\n")
    shutil.rmtree(folder / "results")
    return folder / "paper.zip"


def test_it_holds_in_a_fresh_place(paper: Path, tmp_path: Path) -> None:
    for name in ("paper.zip", "paper.zip.sig", "allowed"):
        shutil.copy(paper.with_name(name), tmp_path)
    done = sfcperf(tmp_path, "verify", "paper.zip", "--allowed-signers", "allowed", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["signature"]["state"] == "ok"
    assert checks["summaries"]["state"] == "ok"


@pytest.mark.exhaustive
def test_it_is_replayed_where_its_plug_in_is_not_installed(paper: Path, tmp_path: Path) -> None:
    assert "tcp-connect" not in sfcperf(tmp_path, "list", "probes").stdout

    shown = sfcperf(tmp_path, "replay", paper)
    assert shown.returncode == 0, shown.stderr
    assert "driver veth-pair: sfcperf_example.veth_pair:VethPairDriver" in shown.stdout
    assert not (tmp_path / "results").exists()

    options = ("--set", "design.rounds=3", "--test", "t", "--margin", "90%")
    done = sfcperf(tmp_path, "replay", paper, "--trust", *options)
    assert done.returncode in (0, 1), done.stderr
    assert "connect_time_us" in done.stdout
    (run,) = (path.parent for path in (tmp_path / "results").glob("*/run.json"))
    verdict = json.loads((run / "replay.json").read_text())
    assert not list(validator("replay").iter_errors(verdict))
    assert not violations(run)
    assert (done.returncode == 0) is verdict["reproduced"]
    (metric,) = verdict["metrics"]
    assert (metric["n_packaged"], metric["n_here"]) == (3, 3)
    trials = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert [trial["status"] for trial in trials] == ["valid"] * 3
    assert leftovers(tmp_path / "results") == []

    # Judged once more, with another margin: nothing is run.
    again = sfcperf(tmp_path, "replay", paper, "--trust", "--run", run, "--margin", "1%")
    assert again.returncode in (0, 1), again.stderr
    assert len((run / "trials.jsonl").read_text().splitlines()) == 3

    # A result of this replay can be packed again, plug-in and all.
    kept = next((tmp_path / "results").glob("package-*/modules/*"))
    packed = sfcperf(tmp_path, "pack", run, "-o", "again.zip", path=kept)
    assert packed.returncode == 0, packed.stderr
    assert sfcperf(tmp_path, "verify", "again.zip").returncode == 0


@pytest.mark.exhaustive
def test_an_interrupted_replay_goes_on(paper: Path, tmp_path: Path) -> None:
    arguments = ["--trust", "--set", "design.rounds=30", "--test", "t"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    child = spawn(
        *("replay", paper, *arguments), cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: list((tmp_path / "results").glob("*/trials.jsonl")))
        assert child.poll() is None
        child.send_signal(signal.SIGTERM)
        _, err = child.communicate(timeout=120)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 130, err
    assert "Traceback" not in err
    assert leftovers(tmp_path / "results") == []
    (run,) = (path.parent for path in (tmp_path / "results").glob("*/run.json"))
    assert json.loads((run / "run.json").read_text())["status"] == "interrupted"
    assert f"--run results/{run.name}" in err

    done = sfcperf(tmp_path, "replay", paper, "--trust", "--run", run, "--test", "t")
    assert done.returncode in (0, 1), done.stderr
    assert json.loads((run / "run.json").read_text())["status"] == "complete"
    assert len((run / "trials.jsonl").read_text().splitlines()) == 30
    assert (run / "replay.json").is_file()


def test_a_killed_replay_leaves_nothing_that_measures(paper: Path, tmp_path: Path) -> None:
    """Not even by SIGKILL: what runs the workflow then stops in order, and can be gone on with."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    # What only an orderly end removes goes there.
    environment["TMPDIR"] = str(tmp_path)
    parent = spawn(
        *("replay", paper, "--trust", "--set", "design.rounds=60"),
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: list((tmp_path / "results").glob("*/trials.jsonl")))
    finally:
        parent.kill()
        parent.wait()
    (manifest,) = (tmp_path / "results").glob("*/run.json")
    wait_until(lambda: json.loads(manifest.read_text())["status"] == "interrupted")
    wait_until(lambda: not is_held(manifest.parent))
    assert leftovers(tmp_path / "results") == []


def wait_until(holds: Callable[[], object]) -> None:
    assert retry.until(holds, timeout_s=120, period_s=0.02)
