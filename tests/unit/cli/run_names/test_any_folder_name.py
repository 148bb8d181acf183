"""Run folders of any name that Linux allows: libraries in other languages take names for UTF-8, or
for patterns."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pyarrow.parquet
import pytest
from support.command import Command
from support.records.page import Page
from support.records.runs import RunOptions, build_run

from sfcperf.analysis.telemetry import MergeAnalysis

SMALL = RunOptions(
    topologies=("T1",), chain_lengths=(1,), rounds=2, flows=True, failed=frozenset(), figures=()
)


@pytest.fixture(params=[b"r\xe9sultats", b"a[1]*?", b'it\'s 100 % "$x"\n#1'], ids=repr)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """With telemetry and flows, merged and joined, in a folder of this name."""
    store = build_run(tmp_path / os.fsdecode(request.param) / "run", SMALL)
    MergeAnalysis({}).analyse(store)
    return store.folder


def test_sql(run: Path, sfcperf: Command) -> None:
    asked = "select (select count(*) from telemetry) > 0, (select count(*) from flows) > 0, "
    asked += "(select count(*) from joined) > 0, folder is not null from runs"
    assert sfcperf("query", run, asked, "--format", "csv") == 0
    assert sfcperf.out.splitlines()[1] == "true,true,true,true"


def test_tables(run: Path, sfcperf: Command) -> None:
    assert sfcperf("export", run, "--format", "parquet") == 0
    assert sfcperf("export", run) == 0
    assert sfcperf("query", run, "select 1 a", "--format", "parquet", "-o", run / "q.parquet") == 0
    assert sfcperf("export", run, "--format", "openmetrics") == 0
    for kind in ("samples", "samples-telemetry", "samples-flows"):
        rows = list(csv.DictReader((run / f"{kind}.csv").open()))
        with (run / f"{kind}.parquet").open("rb") as file:
            assert pyarrow.parquet.read_table(file).num_rows == len(rows) > 0


def test_pages(run: Path, sfcperf: Command, tmp_path: Path) -> None:
    """Their links lead where the files are."""
    assert sfcperf("report", run) == 0
    other = build_run(tmp_path / "other", SMALL).folder
    page = tmp_path / "c.html"
    assert sfcperf("compare", run, other, "--html", page, "--csv", tmp_path / "c.csv") == 0
    links = [link for link in Page(page.read_text()).all("href") if not link.startswith("#")]
    targets = {tmp_path / os.fsdecode(unquote_to_bytes(link)) for link in links}
    assert run in {target.parent for target in targets}


def test_packages(run: Path, sfcperf: Command, tmp_path: Path) -> None:
    options = ("--allow-incomplete", "-o", run.parent / "p.zip")
    assert sfcperf("pack", run, *options) == 0
    assert sfcperf("verify", run.parent / "p.zip", "--json") in (0, 1)
