"""The verbs on the fakes: what they print, where, and their exit codes."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pyarrow.parquet
import pytest
from support.engine import Bench
from support.fakes import FakeDriver

import sfcperf as package
from sfcperf.control.lock import held

Command = Callable[..., int]
Capture = pytest.CaptureFixture[str]

SMALL = {"probes": [{"probe": "fake", "name": "a"}], "design": {"rounds": 2, "warmup_rounds": 0}}


@pytest.fixture
def finished(bench: Bench) -> Path:
    bench.start(**SMALL)
    return bench.folder()


def test_version(sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("--version") == 0
    assert capsys.readouterr().out == f"sfcperf {package.__version__}\n"


def test_run_prints_table_counts_and_places(
    bench: Bench, sfcperf: Command, capsys: Capture
) -> None:
    assert sfcperf("run", bench.write(**SMALL), "--results", bench.results) == 0
    out, err = capsys.readouterr()
    assert "4 trials: 4 valid" in out
    assert f"results: {bench.folder()}" in out
    assert "95 % CI" in out
    assert err.splitlines()[0] == f"{bench.folder()}: 4 trials planned, including warm-up"
    assert "round 1: chain_length=2" in err


def test_quiet_prints_the_path_and_nothing_else_on_stdout(
    bench: Bench, sfcperf: Command, capsys: Capture
) -> None:
    assert sfcperf("run", bench.write(**SMALL), "--results", bench.results, "--quiet") == 0
    out, err = capsys.readouterr()
    assert out == f"{bench.folder()}\n"
    assert err == ""


def test_trials_that_do_not_count_are_named_with_reasons(
    bench: Bench, sfcperf: Command, capsys: Capture
) -> None:
    script = {"r001-s001-a/attempt-1": "untrusted"}
    path = bench.write(probes=[{"probe": "fake", "name": "a", "script": script}])
    assert sfcperf("run", path, "--results", bench.results, "--quiet") == 1
    assert "untrusted: r001-s001-a: the sender was late" in capsys.readouterr().err


def test_overrides_reach_the_run(bench: Bench, sfcperf: Command) -> None:
    argv = ["run", bench.write(), "--results", bench.results, "--set", "design.rounds=1", "-q"]
    assert sfcperf(*argv, "--set", "factors.chain_length=[1]") == 0
    assert len(bench.trials()) == 2


def test_dry_run_makes_nothing(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("run", bench.write(), "--results", bench.results, "--dry-run") == 0
    assert "s001  chain_length=2: sf-1 -> sf-2" in capsys.readouterr().out
    assert list(bench.results.iterdir()) == []
    assert bench.leftovers() == []


def test_a_quiet_dry_run_prints_nothing(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    argv = ["run", bench.write(), "--results", bench.results, "--dry-run", "--quiet"]
    assert sfcperf(*argv) == 0
    assert capsys.readouterr() == ("", "")


def test_the_given_workflow_is_kept_beside_the_one_that_is_run(
    bench: Bench, sfcperf: Command
) -> None:
    path = bench.write(**SMALL, presets={"one": {"design.rounds": 1}})
    assert sfcperf("run", path, "--results", bench.results, "-q", "--set", "preset=one") == 0
    assert json.loads((bench.folder() / "workflow.json").read_text()) == bench.document(
        **SMALL, presets={"one": {"design.rounds": 1}}
    )
    assert len(bench.trials()) == 2


def test_plan_shows_the_order_that_is_run(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("plan", bench.write()) == 0
    out = capsys.readouterr().out
    assert "8 trials, about" in out
    rounds = out.split("round 1\n")[1].split("round 2\n")[0].split()
    planned = [trial.split("-", 2)[1:] for trial in bench.planned()[:4]]
    assert rounds[0] == f"{planned[0][0]}:"


def test_plan_asks_the_driver(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("plan", bench.write(factors={"chain_length": [9]})) == 2
    said = capsys.readouterr()
    assert said.err.startswith("/chain/functions: longer than a fake chain\n")
    assert said.out == ""


@pytest.mark.parametrize(("elsewhere", "code"), [(False, 0), (True, 3)])
def test_plan_tells_what_an_infrastructure_elsewhere_lacks(
    bench: Bench,
    sfcperf: Command,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    elsewhere: bool,
    code: int,
) -> None:
    """What this machine lacks, another one may have."""
    monkeypatch.setattr(FakeDriver, "elsewhere", elsewhere)
    config = {"folder": str(bench.resources), "missing": True}
    path = bench.write(infrastructure={"driver": "fake", "config": config})
    assert sfcperf("plan", path) == code
    assert ("fake-tool (not there)" in capsys.readouterr().err) is elsewhere


def test_validate(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("validate", bench.write()) == 0
    assert capsys.readouterr().out == "fake: valid, 2 scenarios\n"


def test_validate_asks_the_driver(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("validate", bench.write(factors={"chain_length": [9]})) == 2
    assert capsys.readouterr().err.startswith("/chain/functions: longer than a fake chain\n")


def test_a_wrong_workflow_is_told_by_pointers(
    bench: Bench, sfcperf: Command, capsys: Capture
) -> None:
    path = bench.write(design={"rounds": "many", "seed": -1.5})
    assert sfcperf("run", path, "--results", bench.results) == 2
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("/design/rounds: ") for line in lines)
    assert any(line.startswith("/design/seed: ") for line in lines)
    assert list(bench.results.iterdir()) == []


def test_what_is_missing_is_named_with_its_remedy(
    bench: Bench, sfcperf: Command, capsys: Capture
) -> None:
    config = {"folder": str(bench.resources), "missing": True}
    path = bench.write(infrastructure={"driver": "fake", "config": config})
    assert sfcperf("run", path, "--results", bench.results) == 3
    err = capsys.readouterr().err
    assert "fake-tool (not there)" in err
    assert "install fakes" in err


def test_plan_shows_the_blocks_of_variants(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    variants = {"first": {}, "second": {"vnfs.sf.node": "node1", "probes.0.packets": 20}}
    assert sfcperf("plan", bench.write(**SMALL, variants=variants)) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "first: unchanged workflow" in lines
    assert 'second: vnfs.sf.node = "node1", probes.0.packets = 20' in lines
    at = [index for index, line in enumerate(lines) if line.startswith("block ")]
    assert len(at) == len(bench.planned(**SMALL, variants=variants)) // 2
    for index in at:
        assert {line.split()[0] for line in lines[index + 1 : index + 3]} == {"first", "second"}


@pytest.mark.parametrize("verb", ["run", "validate", "plan"])
@pytest.mark.parametrize("kind", ["missing", "folder", "binary", "empty"])
def test_a_workflow_that_is_no_workflow(
    bench: Bench, sfcperf: Command, capsys: Capture, verb: str, kind: str
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
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert str(path) in err


@pytest.mark.parametrize("verb", ["resume", "report", "export"])
@pytest.mark.parametrize("kind", ["missing", "file", "empty", "damaged", "not-json-lines"])
def test_a_run_folder_that_is_none(
    bench: Bench, sfcperf: Command, capsys: Capture, verb: str, kind: str
) -> None:
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
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert str(run) in err


@pytest.mark.parametrize(
    "argv",
    [
        ["run"],
        ["run", "a", "b"],
        ["bogus"],
        ["run", "w.json", "--bogus"],
        ["export", "run", "--format", "xml"],
        ["list", "bogus"],
        ["show", "bogus", "ping"],
        ["show", "probe", "bogus"],
        ["show", "workflow", "bogus"],
        ["run", "no-such-workflow"],
        ["resume", "no-such-run"],
    ],
)
def test_a_wrong_command_line(sfcperf: Command, capsys: Capture, argv: list[str]) -> None:
    assert sfcperf(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err
    assert "Traceback" not in err


def test_a_bug_is_an_internal_error_with_its_traceback_in_a_file(
    bench: Bench, sfcperf: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("sfcperf.control.session.Rounds", broken)
    assert sfcperf("run", bench.write(), "--results", bench.results) == 4
    err = capsys.readouterr().err
    assert "internal error: ZeroDivisionError: a bug" in err
    assert "Traceback" not in err
    log = Path(err.split("the traceback is in ")[1].strip())
    assert "ZeroDivisionError: a bug" in log.read_text()
    log.unlink()
    assert bench.manifest()["status"] == "failed"
    assert bench.leftovers() == []


def test_a_full_disk_is_the_environments_fault(
    bench: Bench, sfcperf: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device", "trials.jsonl")

    monkeypatch.setattr("sfcperf.results.store.RunStore.append_trial", full)
    assert sfcperf("run", bench.write(), "--results", bench.results) == 3
    assert "No space left on device" in capsys.readouterr().err
    assert bench.leftovers() == []


def test_runs_lists_by_status(
    bench: Bench, finished: Path, sfcperf: Command, capsys: Capture
) -> None:
    damaged = bench.results / "damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    killed = bench.results / "killed"
    killed.mkdir()
    manifest = {**json.loads((finished / "run.json").read_text()), "status": "running"}
    (killed / "run.json").write_text(json.dumps({**manifest, "run_id": "killed"}))
    assert sfcperf("runs", "--results", bench.results) == 0
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert lines[finished.name][1] == "complete"
    assert lines[finished.name][3:] == ["4", "0", "0"]
    assert lines["killed"][1] == "killed"
    assert lines["damaged"][1] == "damaged"


def test_a_run_that_is_alive_is_not_called_killed(
    bench: Bench, finished: Path, sfcperf: Command, capsys: Capture
) -> None:
    """Also where SFCPERF_STATE_DIR is another one than the run's, or not ours to read."""
    manifest = json.loads((finished / "run.json").read_text())
    (finished / "run.json").write_text(json.dumps({**manifest, "status": "running"}))
    with held(finished, finished.name):
        assert sfcperf("runs", "--results", bench.results) == 0
    assert " running " in capsys.readouterr().out


def test_before_the_first_run_there_are_none(
    sfcperf: Command, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFCPERF_RESULTS", raising=False)
    assert sfcperf("runs") == 0
    assert capsys.readouterr().out == "no runs in results\n"
    assert sfcperf("runs", "--results", "elsewhere") == 2


@pytest.mark.parametrize("verb", ["run", "validate", "plan", "resume", "report", "export"])
@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000, "/" + "b" * 300 + ".json"])
def test_a_name_that_is_too_long(
    bench: Bench, sfcperf: Command, capsys: Capture, verb: str, name: str
) -> None:
    assert sfcperf(verb, name) == 2
    assert "File name too long" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    ["trials.jsonl", "run.json", "workflow.json", "report.html", "lock", "raw/x.csv"],
)
def test_an_export_replaces_no_document_of_the_run(
    finished: Path, sfcperf: Command, capsys: Capture, name: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    assert sfcperf("export", finished, "-o", finished / "raw" / ".." / name) == 2
    assert "document of the run folder" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


def test_an_export_replaces_no_device(
    finished: Path, sfcperf: Command, capsys: Capture, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert sfcperf("export", finished, "-o", tmp_path / "pipe") == 2
    assert (tmp_path / "pipe").is_fifo()


def test_export_prints_both_files(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    bench.start(**SMALL, monitors=[{"monitor": "fake"}])
    assert sfcperf("export", bench.folder()) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(bench.folder() / "samples.csv"),
        str(bench.folder() / "samples-telemetry.csv"),
    ]


def test_report_makes_the_formats_that_the_workflow_asks_for(
    bench: Bench, sfcperf: Command, capsys: Capture
) -> None:
    figure = {"name": "f", "probe": "a", "metric": "rtt_us", "x": "chain_length"}
    publish = [{"to": "report", "formats": ["png"]}]
    bench.start(**SMALL, figures=[figure], publish=publish)
    assert sfcperf("report", bench.folder()) == 0
    drawn = {path.suffix for path in (bench.folder() / "figures").iterdir()}
    assert drawn == {".png", ".csv"}


def test_a_run_is_named_by_its_id_or_by_its_path(
    bench: Bench, finished: Path, sfcperf: Command, capsys: Capture
) -> None:
    assert sfcperf("export", finished.name, "--results", bench.results) == 0
    assert sfcperf("export", finished) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second == str(finished / "samples.csv")


def test_export_writes_every_sample(finished: Path, sfcperf: Command, tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert sfcperf("export", finished, "--format", "csv", "-o", target) == 0
    with target.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert {row["factor_chain_length"] for row in rows} == {"0", "2"}
    assert sfcperf("export", finished, "--format", "parquet") == 0
    assert pyarrow.parquet.read_table(finished / "samples.parquet").num_rows == 4


def test_export_into_nowhere_is_bad_input(finished: Path, sfcperf: Command) -> None:
    assert sfcperf("export", finished, "-o", finished / "no" / "such" / "folder") == 2


def test_report_makes_anew_what_was_lost(finished: Path, sfcperf: Command, capsys: Capture) -> None:
    summary = (finished / "summary.json").read_text()
    (finished / "summary.json").unlink()
    assert sfcperf("report", finished) == 0
    assert (finished / "summary.json").read_text() == summary
    assert f"report:  {finished / 'report.html'}" in capsys.readouterr().out
    assert (finished / "report.html").is_file()


def test_resume_of_a_complete_run_is_refused(
    finished: Path, sfcperf: Command, capsys: Capture
) -> None:
    assert sfcperf("resume", finished) == 2
    assert "complete" in capsys.readouterr().err


def test_clean_with_nothing_to_clean(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("clean") == 0
    assert capsys.readouterr().out == "nothing to clean\n"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("drivers", "fake"),
        ("vnfs", "fake"),
        ("probes", "iperf3"),
        ("monitors", "fake"),
        ("publishers", "report"),
        ("analyses", "summary"),
        ("topologies", "T3"),
    ],
)
def test_list(bench: Bench, sfcperf: Command, capsys: Capture, kind: str, name: str) -> None:
    assert sfcperf("list", kind) == 0
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if line.split()[0] == name)
    assert len(line.split()) > 2
    assert sfcperf("list") == 0
    assert f"  {line}" in capsys.readouterr().out


BROKEN = {
    "nowhere:Bad": "No module named 'nowhere'",
    "broken_syntax:Bad": "SyntaxError",
    "broken_import:Bad": "ZeroDivisionError",
    "support.fakes:NotThere": "has no attribute 'NotThere'",
    "support.fakes:ROOT": "is not a class derived from Probe",
    "support.fakes:FakeMonitor": "is not a class derived from Probe",
    "broken_title:Bad": "has no `title`",
    "broken_parameters:Bad": "has no JSON Schema",
}
PROBE = "from sfcperf.active.base import Probe\nclass Bad(Probe):\n"
MODULES = {
    "broken_syntax": "class Bad(:\n",
    "broken_import": "1 / 0\n",
    "broken_title": f"{PROBE}    parameters = {{}}\n",
    "broken_parameters": f"{PROBE}    title = 'Bad'\n    parameters = 5\n",
}


@pytest.mark.parametrize("target", BROKEN)
def test_a_broken_plug_in_is_named_and_hides_no_other(
    bench: Bench, sfcperf: Command, capsys: Capture, tmp_path: Path, target: str
) -> None:
    installed = tmp_path / "installed"
    for name, text in MODULES.items():
        (installed / f"{name}.py").write_text(text)
    points = installed / "sfcperf_fakes-1.dist-info" / "entry_points.txt"
    with_bad = points.read_text().replace("[sfcperf.probes]", f"[sfcperf.probes]\nbad = {target}")
    points.write_text(with_bad)
    assert sfcperf("list", "probes") == 0
    out = capsys.readouterr().out
    assert "unusable" in out
    assert "Sends packets that do not exist" in out
    assert sfcperf("show", "probe", "bad") == 3
    err = capsys.readouterr().err
    assert BROKEN[target] in err
    assert "package sfcperf-fakes" in err
    assert sfcperf("doctor", "--driver", "fake") == 3
    assert "probe bad" in capsys.readouterr().out
    assert sfcperf("validate", bench.write()) == 0


def test_show_a_probe(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("show", "probe", "fake") == 0
    out = capsys.readouterr().out
    assert "probe fake: Sends packets that do not exist" in out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert rows["packets"] == ["packets", "integer", "10", "Packets", "to", "send."]
    assert rows["rtt_us"][:4] == ["rtt_us", "*", "us", "lower"]


@pytest.mark.parametrize("kind", ["driver", "vnf", "monitor", "publisher"])
def test_show_others(bench: Bench, sfcperf: Command, capsys: Capture, kind: str) -> None:
    assert sfcperf("show", kind, "fake") == 0
    assert f"{kind} fake: " in capsys.readouterr().out


def test_show_a_topology_as_a_workflow_would_write_it(
    bench: Bench, sfcperf: Command, capsys: Capture
) -> None:
    assert sfcperf("show", "topology", "T2") == 0
    title, _, text = capsys.readouterr().out.partition("\n")
    assert title == "topology T2: client and server on one node, the chain on another"
    assert sfcperf("validate", bench.write(**json.loads(text))) == 0
    assert sfcperf("show", "topology", "T9") == 2


def test_the_shown_schema_accepts_a_shown_workflow(sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("show", "schema", "workflow") == 0
    schema = json.loads(capsys.readouterr().out)
    assert sfcperf("show", "workflow", "quickstart") == 0
    jsonschema.Draft202012Validator(schema).validate(json.loads(capsys.readouterr().out))
    assert sfcperf("show", "schema", "elsewhere") == 2


def test_a_shown_workflow_is_one(
    bench: Bench, sfcperf: Command, capsys: Capture, tmp_path: Path
) -> None:
    assert sfcperf("show", "workflow", "quickstart") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["name"] == "quickstart"
    assert err.rstrip().endswith("quickstart.json")


def test_doctor_of_one_driver(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    sfcperf("doctor", "--driver", "fake")
    assert "fake-tool" in capsys.readouterr().out
