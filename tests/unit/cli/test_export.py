"""`sfcperf export` and `report`: files made from a finished run."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest
from support.engine import SMALL, Bench

Command = Callable[..., int]
Capture = pytest.CaptureFixture[str]


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


def test_export_prints_its_files(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    bench.start(**SMALL, monitors=[{"monitor": "fake"}])
    assert sfcperf("export", bench.folder()) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(bench.folder() / "samples.csv"),
        str(bench.folder() / "samples-telemetry.csv"),
        str(bench.folder() / "samples-flows.csv"),
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


def test_openmetrics_replaces_its_file(finished: Path, sfcperf: Command, capsys: Capture) -> None:
    for _ in range(2):
        assert sfcperf("export", finished, "--format", "openmetrics") == 0
        assert capsys.readouterr().out == f"{finished / 'summary.prom'}\n"
    assert (finished / "summary.prom").read_text().endswith("\n# EOF\n")
    # node_exporter would read a temporary file that ends in .prom.
    assert [path.name for path in finished.glob("*.prom")] == ["summary.prom"]
    assert sfcperf("export", finished, "--format", "openmetrics", "-o", finished / "run.json") == 2
