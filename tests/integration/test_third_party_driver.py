"""A third party's driver in an environment of its own: installed, held to the contract, used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from support.ended import ended

pytestmark = pytest.mark.root

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "third-party-driver"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh virtual environment, with the example in it.

    SFCPerf and what it needs are those of this environment, as if they had been installed: there is
    no network here.
    """
    folder = tmp_path_factory.mktemp("third-party")
    venv.create(folder / "venv", with_pip=False)
    interpreter = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    ours = [path for path in sys.path if path.endswith("site-packages")]
    lines = "".join(f"import site; site.addsitedir({path!r})\n" for path in ours)
    (site / "sfcperf-environment.pth").write_text(lines)
    # A build writes beside its sources.
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--python", str(interpreter), "--no-input"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    run([*pip, "install", *offline, str(folder / "source")], folder)
    return interpreter


def run(argv: list[str], folder: Path) -> str:
    """Run to the end, in a folder that has no part in it; gives stdout."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = ended(argv, timeout_s=300, folder=folder, environment=kept)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sfcperf(python: Path, folder: Path, *arguments: str) -> str:
    program = "from sfcperf.cli.main import main; main()"
    return run([str(python), "-c", program, *arguments], folder)


def test_it_is_a_driver_like_others(python: Path, tmp_path: Path) -> None:
    assert "MTU of all cables" in sfcperf(python, tmp_path, "show", "driver", "policy-routing")
    assert "MISSING" not in sfcperf(python, tmp_path, "doctor", "--driver", "policy-routing")


@pytest.mark.exhaustive
def test_it_keeps_the_contract(python: Path, tmp_path: Path) -> None:
    """Its own tests, as its author runs them; none is skipped but for what it refuses."""
    tests = python.parents[2] / "source" / "tests"
    options = ["-q", "-rs", "-p", "no:cacheprovider"]
    said = run([str(python), "-m", "pytest", *options, str(tests)], tmp_path)
    (summary,) = [line for line in said.splitlines() if " passed" in line]
    skipped = [line for line in said.splitlines() if line.startswith("SKIPPED")]
    assert all(line.endswith("the driver refuses it") for line in skipped)
    assert "failed" not in summary


@pytest.mark.exhaustive
def test_a_shipped_workflow_runs_on_it_unchanged(python: Path, tmp_path: Path) -> None:
    """NSH-aware forwarders in plain IP, and functions that know nothing of NSH."""
    for workflow, length in (("quickstart", 2), ("firewall-chain", 2)):
        results = tmp_path / workflow
        said = sfcperf(
            python,
            tmp_path,
            *("run", workflow, "--driver", "policy-routing", "--set", "preset=short"),
            *("--set", "design.rounds=1", "--set", 'probes=[{"probe": "ping", "count": 20}]'),
            *("--set", "figures=[]", "--results", str(results), "--quiet"),
        )
        folder = Path(said.strip())
        trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
        assert trials
        for trial in trials:
            assert trial["deployment"]["traversal"]["proven"] is True
            assert trial["deployment"]["encapsulation"] == ("ip" if trial["packets"] else "none")
            assert all(packets >= 20 for packets in trial["packets"].values())
        assert max(len(trial["packets"]) for trial in trials) <= length
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert folder.name.rpartition("-")[2] not in listed.stdout
