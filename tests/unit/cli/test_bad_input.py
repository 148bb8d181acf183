"""What every verb refuses, and how errors are reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Command
from support.engine import Bench

import sfcperf as package


def test_version(sfcperf: Command) -> None:
    assert sfcperf("--version") == 0
    assert sfcperf.out == f"sfcperf {package.__version__}\n"


@pytest.mark.parametrize(
    ("verb", "kind"),
    [("run", "missing"), ("validate", "folder"), ("plan", "binary"), ("run", "empty")],
)
def test_a_workflow_that_is_no_workflow(
    bench: Bench, sfcperf: Command, verb: str, kind: str
) -> None:
    path = bench.results / "w.json"
    match kind:
        case "folder":
            path.mkdir()
        case "binary":
            path.write_bytes(b"\xff\xfe\x00")
        case "empty":
            path.touch()
    assert sfcperf(verb, path) == 2
    out, err = sfcperf.out, sfcperf.err
    assert out == ""
    assert "Traceback" not in err
    assert str(path) in err


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        ("resume", "missing"),
        ("report", "file"),
        ("export", "empty"),
        ("resume", "damaged"),
        ("export", "not-json-lines"),
    ],
)
def test_a_run_folder_that_is_none(bench: Bench, sfcperf: Command, verb: str, kind: str) -> None:
    run = bench.results / "run"
    if kind == "file":
        run.touch()
    elif kind != "missing":
        run.mkdir()
    if kind == "damaged":
        (run / "run.json").write_text("{")
    if kind == "not-json-lines":
        (run / "run.json").write_text('{"schema_version": 1, "status": "running"}')
        (run / "trials.jsonl").write_text("?\n{}\n")
    assert sfcperf(verb, run) == 2
    err = sfcperf.err
    assert "Traceback" not in err
    assert str(run) in err


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
    out, err = sfcperf.out, sfcperf.err
    assert out == ""
    assert err
    assert "Traceback" not in err


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
