"""`sfcperf compare` as a user types it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from support.command import Command
from support.records.compared_runs import ping_run, variants_run
from support.schemas import validator


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder that tests only read."""
    folder = tmp_path_factory.mktemp("runs")
    ping_run(folder / "old")
    ping_run(folder / "new", ratio=1.1, seed=2)
    variants_run(folder / "both")
    return folder


def test_a_table_a_verdict_an_exit_code(sfcperf: Command, runs: Path) -> None:
    given = ("compare", "old", "new", "--results", runs)
    assert sfcperf(*given) == 0
    shown = sfcperf.out
    assert "new against old" in shown
    assert shown.count("▼ worse") == 2
    assert "2 rows: 2 worse" in shown
    assert sfcperf(*given, "--fail-on", "undecided,worse") == 1
    assert sfcperf(*given, "--fail-on", "better") == 0
    assert sfcperf(*given, "--baseline", "new", "--fail-on", "better") == 1
    assert sfcperf(*given, "--margin", "20%", "--fail-on", "worse") == 0


def test_variants_of_one_run(sfcperf: Command, runs: Path) -> None:
    assert sfcperf("compare", runs / "both", "--fail-on", "worse") == 0
    shown = sfcperf.out
    assert "ebpf against ovs" in shown
    assert "signed-rank" in shown
    assert "runs at different times" not in shown
    assert sfcperf("compare", runs / "both", "--baseline", "ebpf", "--fail-on", "worse") == 1


@pytest.mark.parametrize("words", ["worse", "better,undecided"])
def test_too_few_rounds_to_fail_are_no_pass(tmp_path: Path, sfcperf: Command, words: str) -> None:
    """Three trials against three cannot go below p = 0.1, even at half the speed."""
    ping_run(tmp_path / "few", rounds=3)
    ping_run(tmp_path / "slow", rounds=3, ratio=2.0)
    given = ["compare", "few", "slow", "--results", tmp_path, "--fail-on"]
    assert sfcperf(*given, words) == (1 if "undecided" in words else 5)
    if "undecided" not in words:
        assert "use at least 5 rounds" in sfcperf.err
    assert sfcperf(*given, "equivalent") == 0


@pytest.mark.parametrize("labels", [["before", "B=after <i>"], ["new=after <i>", "old=before"]])
def test_labels_name_the_sides_everywhere(
    sfcperf: Command, runs: Path, labels: list[str], tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("c.json", "c.csv", "c.html")]
    options = [item for file in files for item in (f"--{file.suffix[1:]}", file)]
    options += [item for label in labels for item in ("--label", label)]
    assert sfcperf("compare", "old", "new", "--results", runs, *options) == 0
    assert "after <i> against before" in sfcperf.out
    document = json.loads(files[0].read_text())
    validator("comparison").validate(document)
    sides = [document["baseline"], *document["candidates"]]
    assert [(side["name"], side["run_id"]) for side in sides] == [
        ("before", "old"), ("after <i>", "new"),
    ]  # fmt: skip
    rows = list(csv.DictReader(files[1].open()))
    assert {(row["baseline"], row["candidate"]) for row in rows} == {("before", "after <i>")}
    page = files[2].read_text()
    assert "<h1>after &lt;i&gt; against before</h1>" in page
    assert "<code>before</code> of run <code>old</code>" in page
    [data] = re.findall(r'id="report-data">(.*?)</script>', page, re.DOTALL)
    names = [series["name"] for series in json.loads(data)["trials-0"]["series"]]
    assert names == ["before", "after &lt;i&gt;"]


def test_a_labelled_side_is_the_baseline_by_any_of_its_names(sfcperf: Command, runs: Path) -> None:
    for name in ("ebpf", "new plane"):
        given = ["--label", "ebpf=new plane", "--baseline", name]
        assert sfcperf("compare", runs / "both", *given) == 0
        assert "ovs against new plane" in sfcperf.out


def test_files_and_standard_output_hold_the_same_rows(
    sfcperf: Command, runs: Path, tmp_path: Path
) -> None:
    table = tmp_path / "c.csv"
    given = ("compare", "old", "new", "--results", runs, "--all")
    assert sfcperf(*given, "--csv", table, "--json", "-") == 0
    document = json.loads(sfcperf.out)
    validator("comparison").validate(document)
    assert document["counts"]["worse"] == 2
    rows = list(csv.DictReader(table.open()))
    assert [row["metric"] for row in rows] == ["rtt_us", "loss_ratio"] * 2
    assert [row["factor_chain_length"] for row in rows] == ["0", "0", "1", "1"]
    assert float(rows[0]["relative"]) == document["rows"][0]["relative"]["value"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["old"], "without variants cannot be compared"),
        (["old", "old"], "named twice"),
        (["old", "nothing"], "no such run"),
        (["old", "new", "--margin", "5"], "'5' is not a margin"),
        (["old", "new", "--margin", "200%"], "below 100 %"),
        (["old", "new", "--label", "C=third"], "no side 'C' to label"),
        (["old", "new", "--label", "same", "--label", "same"], "the label 'same'"),
        (["old", "new", "--label", "A="], "'A=' is not a label"),
        (["old", "new", "--alpha", "0.7"], "below 0.5"),
        (["old", "new", "--fail-on", "worst"], "unknown verdict 'worst'"),
        (["old", "new", "--baseline", "middle"], "is named 'middle'"),
        (["old", "new", "--metric", "speed"], "no metric 'speed'"),
        (["old", "new", "--html", "missing/c.html"], "no such folder"),
        (["old", "new", "--json", "{runs}/old/trials.jsonl"], "belongs to the run itself"),
    ],
)
def test_bad_input_is_2(sfcperf: Command, runs: Path, arguments: list[str], said: str) -> None:
    before = (runs / "old" / "trials.jsonl").read_bytes()
    assert sfcperf("compare", *(a.format(runs=runs) for a in arguments), "--results", runs) == 2
    assert said in sfcperf.err
    assert sfcperf.out == ""
    assert (runs / "old" / "trials.jsonl").read_bytes() == before


def test_copies_of_a_run_are_told_apart_by_folder(sfcperf: Command, tmp_path: Path) -> None:
    ping_run(tmp_path / "old")
    copy = ping_run(tmp_path / "copy", seed=5)
    copy.write_manifest({**copy.manifest(), "run_id": "old"})
    assert sfcperf("compare", "old", "copy", "--results", tmp_path) == 0
    assert "copy against" in sfcperf.out
