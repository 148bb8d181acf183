"""`sfcperf index`, as far as it goes without a server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.command import SFCPERF
from support.records.runs import RunOptions, build_run


@pytest.fixture
def run(tmp_path: Path) -> str:
    options = RunOptions(topologies=("T1",), chain_lengths=(0,), rounds=1, telemetry=False)
    return str(build_run(tmp_path / "20260131-120000-a-abc123", options).folder)


def index(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SFCPERF, "index", *arguments], capture_output=True, text=True)


def test_nothing_waits() -> None:
    done = index("--pending")
    assert (done.returncode, done.stdout) == (0, "no run is waiting to be sent\n")


@pytest.mark.parametrize("arguments", [(), ("RUN", "--pending"), ("--pending", "--verify")])
def test_what_to_send_must_be_said_once(arguments: tuple[str, ...], run: str) -> None:
    done = index(*(run if argument == "RUN" else argument for argument in arguments))
    assert done.returncode == 2
    assert "either name runs or use --pending" in done.stderr


def test_a_server_must_be_named(run: str) -> None:
    done = index(run)
    assert done.returncode == 2
    assert "--url" in done.stderr


def test_a_password_in_a_url_is_refused_and_not_repeated(run: str, state_dir: Path) -> None:
    done = index(run, "--url", "https://me:geheim@es.lab")
    assert done.returncode == 2
    assert "SFCPERF_ES_PASSWORD" in done.stderr
    assert "geheim" not in done.stdout + done.stderr
    assert list(state_dir.rglob("*.json")) == []


def test_a_server_that_is_away(run: str, state_dir: Path) -> None:
    done = index(run, "--url", "http://127.0.0.1:1", "--patience", "0")
    assert done.returncode == 3
    assert "does not answer" in done.stderr
    assert "sfcperf index --pending" in done.stderr
    assert len(list((state_dir / "spool").glob("*.json"))) == 1
    again = index("--pending", "--patience", "0")
    assert again.returncode == 3
    assert "still waiting: 1 run" in again.stderr
