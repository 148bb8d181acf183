"""What every verb refuses, and how errors are reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import Command
from support.engine import Bench

import sfcperf as package


def test_version(sfcperf: Command) -> None:
    assert sfcperf("--version") == 0
    assert sfcperf.out == f"sfcperf {package.__version__}\n"


def not_json_lines(run: Path) -> None:
    run.mkdir()
    (run / "run.json").write_text('{"schema_version": 1, "status": "running"}')
    (run / "trials.jsonl").write_text("?\n{}\n")


def damaged(run: Path) -> None:
    run.mkdir()
    (run / "run.json").write_text("{")


@pytest.mark.parametrize(
    ("verb", "make"),
    [
        ("run", lambda _: None),
        ("validate", Path.mkdir),
        ("plan", lambda path: path.write_bytes(b"\xff\xfe\x00")),
        ("run", Path.touch),
        ("resume", lambda _: None),
        ("report", Path.touch),
        ("export", Path.mkdir),
        ("resume", damaged),
        ("export", not_json_lines),
    ],
)
def test_what_is_no_workflow_and_no_run_folder(
    bench: Bench, sfcperf: Command, verb: str, make: Callable[[Path], object]
) -> None:
    path = bench.results / "w.json"
    make(path)
    assert sfcperf(verb, path) == 2
    assert "Traceback" not in sfcperf.err
    assert str(path) in sfcperf.err


@pytest.mark.parametrize(
    "argv",
    [
        ["run"],
        ["bogus"],
        ["run", "w.json", "--bogus"],
        ["export", "run", "--format", "xml"],
        ["show", "workflow", "bogus"],
        ["run", "no-such-workflow"],
        ["resume", "no-such-run"],
    ],
)
def test_a_wrong_command_line(sfcperf: Command, argv: list[str]) -> None:
    assert sfcperf(*argv) == 2
    assert sfcperf.out == ""
    assert sfcperf.err
    assert "Traceback" not in sfcperf.err


def test_a_bug_is_an_internal_error_with_its_traceback_in_a_file(
    bench: Bench, sfcperf: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("sfcperf.control.session.Rounds", broken)
    assert sfcperf("run", bench.write(), "--results", bench.results) == 4
    err = sfcperf.err
    assert "internal error: ZeroDivisionError: a bug" in err
    assert "Traceback" not in err
    log = Path(err.split("the traceback is in ")[1].strip())
    assert "ZeroDivisionError: a bug" in log.read_text()
    log.unlink()
    assert bench.manifest()["status"] == "failed"
    assert bench.leftovers() == []


def test_a_full_disk_is_the_environments_fault(
    bench: Bench, sfcperf: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device", "trials.jsonl")

    monkeypatch.setattr("sfcperf.results.store.RunStore.append_trial", full)
    assert sfcperf("run", bench.write(), "--results", bench.results) == 3
    assert "No space left on device" in sfcperf.err
    assert bench.leftovers() == []


@pytest.mark.parametrize(
    ("verb", "name"),
    [("run", "a" * 300), ("resume", "a/" * 3000), ("validate", "/" + "b" * 300 + ".json")],
)
def test_a_name_that_is_too_long(bench: Bench, sfcperf: Command, verb: str, name: str) -> None:
    assert sfcperf(verb, name) == 2
    assert "File name too long" in sfcperf.err
