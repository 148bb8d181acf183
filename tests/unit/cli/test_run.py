"""`sfcperf run` on the fakes: what it prints, where, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Command
from support.engine import SMALL, Bench, faulty
from support.records.trials import trial

from sfcperf.cli.outcome import warnings


def test_run_prints_table_counts_and_places(bench: Bench, sfcperf: Command) -> None:
    assert sfcperf("run", bench.write(**SMALL), "--results", bench.results) == 0
    out, err = sfcperf.out, sfcperf.err
    assert "4 trials: 4 valid" in out
    assert f"results: {bench.folder()}" in out
    assert "Read with care: all 4 trials are valid, but " in out
    assert out.splitlines()[-1] == f"next:    sfcperf report {bench.folder()}"
    assert f"{bench.folder()}: 4 trials planned, about " in err
    assert "round 1: chain_length=2" in err


def test_variants_are_compared_next(bench: Bench, sfcperf: Command) -> None:
    """They need no other run."""
    document = {**SMALL, "publish": [{"to": "report"}]}
    variants = {"first": {}, "second": {"vnfs.sf.node": "node1"}}
    assert (
        sfcperf("run", bench.write(**document, variants=variants), "--results", bench.results) == 0
    )
    next_line = sfcperf.out.splitlines()[-1]
    assert next_line.endswith(f"sfcperf compare {bench.folder()}")
    assert sfcperf(*next_line.rpartition("sfcperf ")[2].split()) == 0


def test_the_last_lines_name_trials_that_do_not_count(
    bench: Bench, sfcperf: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a resumed run as well, which a SIGKILL ended before."""
    script = {"r001-s001-a/attempt-1": "untrusted", "r002-s001-a/attempt-1": "untrusted"}
    probe = {"probe": "fake", "name": "a", "script": script}
    path = bench.write(probes=[probe], design={"rounds": 2, "warmup_rounds": 0})

    bench.kill_after(2, **json.loads(path.read_text()))
    # Both streams in one place, as on a terminal.
    monkeypatch.setattr(sys, "stderr", sys.stdout)
    assert sfcperf("resume", bench.folder()) == 1
    *_, last = sfcperf.out.splitlines()
    assert last == "untrusted: r001-s001-a, r002-s001-a: the sender was late"


def test_reasons_that_differ_in_figures_are_one_line() -> None:
    records = [
        trial(number, status="untrusted", reasons=(f"the test took {seconds} s",))
        for number, seconds in enumerate(("0.04", "0.021", "0.5"), 1)
    ]
    ids = ", ".join(record.trial_id for record in records)
    assert warnings(records) == [f"untrusted: {ids}: the test took 0.04 s (figures of the first)"]
    assert warnings(records[:1]) == [f"untrusted: {records[0].trial_id}: the test took 0.04 s"]


def test_the_first_word_comes_before_what_takes_time(tmp_path: Path) -> None:
    (tmp_path / "workflow.json").write_text("{}")
    script = "from sfcperf.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", script, "run", "workflow.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    said, slow = done.stderr.index("checking workflow.json"), done.stderr.index("| jsonschema\n")
    assert said < slow
    # What draws reports is imported when one is drawn.
    assert "sfcperf.report.run_page" not in done.stderr


def test_quiet_prints_the_path_alone_and_overrides_reach_the_run(
    bench: Bench, sfcperf: Command
) -> None:
    argv = ["run", bench.write(), "--results", bench.results, "--set", "design.rounds=1", "-q"]
    assert sfcperf(*argv, "--set", "factors.chain_length=[1]") == 0
    assert (sfcperf.out, sfcperf.err) == (f"{bench.folder()}\n", "")
    assert len(bench.trials()) == 2


@pytest.mark.parametrize("quiet", [False, True])
def test_dry_run_makes_nothing(bench: Bench, sfcperf: Command, quiet: bool) -> None:
    argv = ["run", bench.write(), "--results", bench.results, "--dry-run"]
    assert sfcperf(*argv, *(["--quiet"] if quiet else [])) == 0
    out, err = sfcperf.out, sfcperf.err
    assert (out, err) == ("", "") if quiet else "s001  chain_length=2: sf-1 -> sf-2" in out
    assert list(bench.results.iterdir()) == []
    assert bench.leftovers() == []


def test_the_given_workflow_is_kept_beside_the_one_that_is_run(
    bench: Bench, sfcperf: Command
) -> None:
    path = bench.write(**SMALL, presets={"one": {"design.rounds": 1}})
    assert sfcperf("run", path, "--results", bench.results, "-q", "--set", "preset=one") == 0
    assert json.loads((bench.folder() / "workflow.json").read_text()) == bench.document(
        **SMALL, presets={"one": {"design.rounds": 1}}
    )
    applied = json.loads((bench.folder() / "workflow.applied.json").read_text())
    assert applied["design"]["rounds"] == 1
    assert "presets" not in applied
    assert len(bench.trials()) == 2


def test_a_wrong_workflow_is_told_by_pointers(bench: Bench, sfcperf: Command) -> None:
    path = bench.write(design={"rounds": "many", "seed": -1.5})
    assert sfcperf("run", path, "--results", bench.results) == 2
    lines = sfcperf.err.splitlines()
    assert any(line.startswith("/design/rounds: ") for line in lines)
    assert any(line.startswith("/design/seed: ") for line in lines)
    assert list(bench.results.iterdir()) == []


def test_what_is_missing_is_named_with_its_remedy(bench: Bench, sfcperf: Command) -> None:
    config = {"folder": str(bench.resources), "missing": True}
    path = bench.write(infrastructure={"driver": "fake", "config": config})
    assert sfcperf("run", path, "--results", bench.results) == 3
    err = sfcperf.err
    assert "fake-tool (not there)" in err
    assert "install fakes" in err
    assert list(bench.results.iterdir()) == []
    assert bench.leftovers() == []


def test_an_attempt_that_failed_is_told_last_although_its_retry_is_valid(
    bench: Bench, sfcperf: Command
) -> None:
    path = bench.write(probes=[faulty(attempt1="break")])
    assert sfcperf("run", path, "--results", bench.results, "--quiet") == 0
    counted, named = sfcperf.err.splitlines()
    assert counted == "1 of 5 attempts failed: a function crashed in 1 (sf-1 in 1)"
    assert "r001-s001-a" in named
    assert "sf-1: it crashed" in named
