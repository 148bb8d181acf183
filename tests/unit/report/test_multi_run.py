"""`sfcperf report RUN RUN...`: one page for many runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
from support.records.page import Page
from support.records.runs import RunOptions, build_run
from typer.testing import CliRunner

from sfcperf.cli.app import app
from sfcperf.errors import InputError
from sfcperf.figures.run_data import label_runs
from sfcperf.report.multi_run import run_differences
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.store import RunStore

HOSTILE = "</script><script>alert(1)</script>"
SMALL = RunOptions(topologies=("T1",), chain_lengths=(0, 1), rounds=2, figures=())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunStore]:
    """Two runs with reports of their own, the second on a newer kernel and with a chain more."""
    folder = tmp_path_factory.mktemp("many") / "results"
    folder.mkdir()
    options = (SMALL, replace(SMALL, name="newer", chain_lengths=(0, 1, 2)))
    stores = [build_run(folder / name, o) for name, o in zip(("a", "b"), options, strict=True)]
    manifest = stores[1].manifest()
    kernel = {**manifest["host"]["kernel"], "release": "6.99.0"}
    stores[1].write_manifest({**manifest, "host": {**manifest["host"], "kernel": kernel}})
    for store in stores:
        ReportPublisher({"formats": []}).publish(store)
    return stores


@pytest.fixture(scope="module")
def target(runs: list[RunStore]) -> Path:
    target = runs[0].folder.parent.parent / "side by side.html"
    folders = [str(run.folder) for run in runs]
    labels = ["--label", "A=old", "--label", "B=new"]
    done = CliRunner().invoke(app, ["report", *folders, "-o", str(target), *labels])
    assert done.exit_code == 0, done.exception
    assert done.stdout == f"{target}\n"
    return target


def test_runs_are_the_series_of_each_chart(target: Path) -> None:
    page = Page(target.read_text())
    assert len(page.data) == 8
    for chart in page.data.values():
        assert [series["name"] for series in chart["series"]] == ["old", "new"]
        assert [tick["at"] for tick in chart["ticks"]] == [0, 1, 2]
        assert chart["xLabel"] == "chain length"
        assert re.search(r"[\[(][^\])]+[\])]$", chart["yLabel"]), chart["yLabel"]


def test_every_point_leads_to_the_trial_in_a_report(target: Path, runs: list[RunStore]) -> None:
    page = Page(target.read_text())
    own = {run.report.resolve(): Page(run.report.read_text()).all("id") for run in runs}
    anchors = [
        trial["anchor"]
        for chart in page.data.values()
        for series in chart["series"]
        for trial in series["trials"]
    ]
    assert len(anchors) > 50
    for anchor in anchors:
        path, _, fragment = anchor.partition("#")
        assert unquote(fragment) in own[(target.parent / unquote(path)).resolve()]
    for link in page.all("href"):
        if link.startswith("#"):
            assert link[1:] in page.all("id")
        else:
            assert (target.parent / unquote(link)).is_file()


def test_in_what_the_runs_differ(target: Path, runs: list[RunStore]) -> None:
    found = {(c.kind, c.name): c.values for c in run_differences(label_runs(runs, {}))}
    assert found["host", "kernel.release"][1] == "6.99.0"
    assert found["host", "kernel.release"][0] != "6.99.0"
    assert any(kind == "workflow" and "chain_length" in name for kind, name in found)
    assert "6.99.0" in target.read_text()


def test_the_page_needs_nothing_and_stays_the_same(target: Path, runs: list[RunStore]) -> None:
    text = target.read_text()
    assert "default-src 'none'" in text
    assert not [link for link in Page(text).all("href") if "://" in link]
    folders = [str(run.folder) for run in runs]
    again = target.with_name("again.html")
    labels = ["--label", "A=old", "--label", "B=new"]
    CliRunner().invoke(app, ["report", *folders, "-o", str(again), *labels])
    assert again.read_text() == text


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    options = replace(SMALL, name=HOSTILE[:20], description=HOSTILE, reason=HOSTILE)
    folders = []
    for name in ("a", "b"):
        store = build_run(tmp_path / name, replace(options, name=f"{name}-x"))
        store.write_manifest({**store.manifest(), "name": f"{name}{HOSTILE}", "driver": HOSTILE})
        folders.append(str(store.folder))
    target = tmp_path / "many.html"
    CliRunner().invoke(app, ["report", *folders, "-o", str(target)], catch_exceptions=False)
    assert Page(target.read_text()).tags.count("script") == 3


def test_runs_that_measured_different_things(tmp_path: Path, runs: list[RunStore]) -> None:
    """A run is no missing point of a chart of what it did not measure."""
    other = build_run(tmp_path / "c", replace(SMALL, name="other"))
    rows = [row for row in other.summaries() if row.label == "ping"]
    other.write_summary(rows)
    target = tmp_path / "many.html"
    folders = [str(runs[0].folder), str(other.folder)]
    CliRunner().invoke(app, ["report", *folders, "-o", str(target)], catch_exceptions=False)
    text = target.read_text()
    assert "Not measured in: other" in text
    assert "No number for" not in text


def test_what_cannot_be_done_is_refused(runs: list[RunStore], tmp_path: Path) -> None:
    """Options of many runs for one, and places that cannot be written."""
    folders = [str(run.folder) for run in runs]
    for arguments, message in (
        ([folders[0], "-o", "x.html"], "two or more runs"),
        ([folders[0], "--label", "A=x"], "two or more runs"),
        ([*folders, "-o", str(tmp_path)], ""),
        ([*folders, "-o", str(tmp_path / "none" / "x.html")], ""),
    ):
        done = CliRunner().invoke(app, ["report", *arguments])
        assert isinstance(done.exception, InputError), done.exception
        assert message in str(done.exception)
