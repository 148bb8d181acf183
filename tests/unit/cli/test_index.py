"""`sfcperf index`, as far as it goes without a server."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Command
from support.records.runs import RunOptions, build_run


@pytest.fixture
def run(tmp_path: Path) -> str:
    options = RunOptions(topologies=("T1",), chain_lengths=(0,), rounds=1, telemetry=False)
    return str(build_run(tmp_path / "20260131-120000-a-abc123", options).folder)


def test_nothing_waits(sfcperf: Command) -> None:
    assert sfcperf("index", "--pending") == 0
    assert sfcperf.out == "no run is waiting to be sent\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "either name runs or use --pending"),
        (["RUN", "--pending"], "either name runs or use --pending"),
        (["--pending", "--verify"], "either name runs or use --pending"),
        (["RUN"], "--url"),
        (["RUN", "--url", "https://me:geheim@es.lab"], "SFCPERF_ES_PASSWORD"),
    ],
)
def test_what_is_sent_where_must_be_said_once_and_without_a_password(
    sfcperf: Command, run: str, state_dir: Path, words: list[str], told: str
) -> None:
    assert sfcperf("index", *(run if word == "RUN" else word for word in words)) == 2
    out, err = sfcperf.out, sfcperf.err
    assert told in err
    assert "geheim" not in out + err
    assert list(state_dir.rglob("*.json")) == []


def test_a_server_that_is_away(sfcperf: Command, run: str, state_dir: Path) -> None:
    assert sfcperf("index", run, "--url", "http://127.0.0.1:1", "--patience", "0") == 3
    err = sfcperf.err
    assert "does not answer" in err
    assert "sfcperf index --pending" in err
    assert len(list((state_dir / "spool").glob("*.json"))) == 1
    assert sfcperf("index", "--pending", "--patience", "0") == 3
    assert "still waiting: 1 run" in sfcperf.err
