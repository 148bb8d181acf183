"""`sfcperf export` and `report`: files made from a finished run."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pyarrow.parquet
from support.command import Command
from support.engine import SMALL, Bench


def test_an_export_replaces_no_document_of_the_run_and_no_device(
    finished: Path, sfcperf: Command, tmp_path: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    for name in ("trials.jsonl", "run.json", "workflow.json", "report.html", "lock", "raw/x.csv"):
        assert sfcperf("export", finished, "-o", finished / "raw" / ".." / name) == 2
        assert "document of the run folder" in sfcperf.err
    assert sfcperf("export", finished, "--format", "openmetrics", "-o", finished / "run.json") == 2
    assert sfcperf("export", finished, "-o", finished / "no" / "such" / "folder") == 2
    os.mkfifo(tmp_path / "pipe")
    assert sfcperf("export", finished, "-o", tmp_path / "pipe") == 2
    assert (tmp_path / "pipe").is_fifo()
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


def test_export_prints_its_files(bench: Bench, sfcperf: Command) -> None:
    bench.start(**SMALL, monitors=[{"monitor": "fake"}])
    assert sfcperf("export", bench.folder()) == 0
    assert sfcperf.out.splitlines() == [
        str(bench.folder() / "samples.csv"),
        str(bench.folder() / "samples-telemetry.csv"),
        str(bench.folder() / "samples-flows.csv"),
    ]


def test_report_makes_the_formats_that_the_workflow_asks_for(
    bench: Bench, sfcperf: Command
) -> None:
    figure = {"name": "f", "probe": "a", "metric": "rtt_us", "x": "chain_length"}
    publish = [{"to": "report", "formats": ["png"]}]
    bench.start(**SMALL, figures=[figure], publish=publish)
    assert sfcperf("report", bench.folder()) == 0
    drawn = {path.suffix for path in (bench.folder() / "figures").iterdir()}
    assert drawn == {".png", ".csv"}


def test_export_writes_every_sample(
    bench: Bench, finished: Path, sfcperf: Command, tmp_path: Path
) -> None:
    """Of a run that is named by its path or by its id."""
    target = tmp_path / "out"
    assert sfcperf("export", finished, "--format", "csv", "-o", target) == 0
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert len(rows) == 4
    assert {row["factor_chain_length"] for row in rows} == {"0", "2"}
    named = (finished.name, "--results", bench.results)
    assert sfcperf("export", *named, "--format", "parquet") == 0
    assert sfcperf.out == f"{finished / 'samples.parquet'}\n"
    assert pyarrow.parquet.read_table(finished / "samples.parquet").num_rows == 4


def test_report_makes_anew_what_was_lost(finished: Path, sfcperf: Command) -> None:
    summary = (finished / "summary.json").read_text()
    (finished / "summary.json").unlink()
    assert sfcperf("report", finished) == 0
    assert (finished / "summary.json").read_text() == summary
    assert f"report:  {finished / 'report.html'}" in sfcperf.out
    assert (finished / "report.html").is_file()


def test_openmetrics_replaces_its_file(finished: Path, sfcperf: Command) -> None:
    for _ in range(2):
        assert sfcperf("export", finished, "--format", "openmetrics") == 0
        assert sfcperf.out == f"{finished / 'summary.prom'}\n"
    assert (finished / "summary.prom").read_text().endswith("\n# EOF\n")
    # node_exporter would read a temporary file that ends in .prom.
    assert [path.name for path in finished.glob("*.prom")] == ["summary.prom"]
