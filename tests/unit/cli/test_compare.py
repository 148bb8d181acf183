"""`sfcperf compare` as a user types it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.records.compared_runs import ping_run, variants_run
from support.schemas import validator

from sfcperf.results.store import RunStore

Command = Callable[..., int]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    ping_run(tmp_path / "old")
    ping_run(tmp_path / "new", ratio=1.1, seed=2)
    variants_run(tmp_path / "both")
    return tmp_path


def test_a_table_a_verdict_an_exit_code(sfcperf: Command, runs: Path, capsys: Capture) -> None:
    assert sfcperf("compare", "old", "new", "--results", runs) == 0
    shown = capsys.readouterr().out
    assert "new against old" in shown
    assert shown.count("▼ worse") == 2
    assert "2 rows: 2 worse" in shown
    assert "Holm over 2 rows" in " ".join(shown.split())
    assert sfcperf("compare", "old", "new", "--results", runs, "--fail-on", "undecided,worse") == 1
    assert sfcperf("compare", "old", "new", "--results", runs, "--fail-on", "better") == 0
    assert (
        sfcperf(
            "compare", "old", "new", "--results", runs, "--baseline", "new", "--fail-on", "better"
        )
        == 1
    )
    assert (
        sfcperf("compare", "old", "new", "--results", runs, "--margin", "20%", "--fail-on", "worse")
        == 0
    )


def test_variants_of_one_run(sfcperf: Command, runs: Path, capsys: Capture) -> None:
    assert sfcperf("compare", runs / "both", "--fail-on", "worse") == 0
    shown = capsys.readouterr().out
    assert "ebpf against ovs" in shown
    assert "signed-rank" in shown
    assert "runs at different times" not in shown
    assert sfcperf("compare", runs / "both", "--baseline", "ebpf", "--fail-on", "worse") == 1


@pytest.mark.parametrize("words", ["worse", "better,undecided", "different"])
def test_too_few_rounds_to_fail_are_no_pass(
    tmp_path: Path, sfcperf: Command, capsys: Capture, words: str
) -> None:
    """Three trials against three cannot go below p = 0.1, even at half the speed."""
    ping_run(tmp_path / "few", rounds=3)
    ping_run(tmp_path / "slow", rounds=3, ratio=2.0)
    given = ["compare", "few", "slow", "--results", tmp_path, "--fail-on"]
    assert sfcperf(*given, words) == (1 if "undecided" in words else 5)
    if "undecided" not in words:
        assert "use at least 5 rounds" in capsys.readouterr().err
    assert sfcperf(*given, "equivalent") == 0


def test_json_alone_on_stdout(sfcperf: Command, runs: Path, capsys: Capture) -> None:
    assert sfcperf("compare", "old", "new", "--results", runs, "--json", "-") == 0
    document = json.loads(capsys.readouterr().out)
    validator("comparison").validate(document)
    assert document["counts"]["worse"] == 2


@pytest.mark.parametrize("labels", [["before", "B=after <i>"], ["new=after <i>", "old=before"]])
def test_labels_name_the_sides_everywhere(
    sfcperf: Command, runs: Path, labels: list[str], capsys: Capture
) -> None:
    files = [runs / name for name in ("c.json", "c.csv", "c.html")]
    options = [item for file in files for item in (f"--{file.suffix[1:]}", file)]
    options += [item for label in labels for item in ("--label", label)]
    assert sfcperf("compare", "old", "new", "--results", runs, *options) == 0
    assert "after <i> against before" in capsys.readouterr().out
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


def test_a_labelled_side_is_the_baseline_by_any_of_its_names(
    sfcperf: Command, runs: Path, capsys: Capture
) -> None:
    for name in ("ebpf", "new plane"):
        given = ["--label", "ebpf=new plane", "--baseline", name]
        assert sfcperf("compare", runs / "both", *given) == 0
        assert "ovs against new plane" in capsys.readouterr().out


def test_intervals_say_that_they_are_not_adjusted(
    sfcperf: Command, runs: Path, capsys: Capture
) -> None:
    assert sfcperf("compare", "old", "new", "--results", runs, "--html", runs / "c.html") == 0
    for shown in (capsys.readouterr().out, (runs / "c.html").read_text()):
        assert "95 % interval" in shown
        assert "each interval is for its row alone" in " ".join(shown.split())


def test_what_few_trials_leave_to_correct_is_said_once(
    sfcperf: Command, tmp_path: Path, capsys: Capture
) -> None:
    """Neither "no correction" beside a number that it requires, nor intervals beside no p."""
    ping_run(tmp_path / "few", rounds=3)
    ping_run(tmp_path / "slow", rounds=3, ratio=2.0)
    assert sfcperf("compare", "few", "slow", "--results", tmp_path) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "with enough rounds, Holm's correction over these 2 rows will require 0.025" in shown
    assert "Holm over no row (so few trials cannot decide any)" in shown
    assert "no correction" not in shown
    assert "each interval is for its row alone" not in shown


def test_files(sfcperf: Command, runs: Path, capsys: Capture) -> None:
    files = [runs / name for name in ("c.json", "c.csv", "c.html")]
    options = [item for file in files for item in (f"--{file.suffix[1:]}", file)]
    assert sfcperf("compare", "old", "new", "--results", runs, "--all", *options) == 0
    assert all(f"wrote {file}" in capsys.readouterr().out or file.is_file() for file in files)
    rows = list(csv.DictReader(files[1].open()))
    assert [row["metric"] for row in rows] == ["rtt_us", "loss_ratio"] * 2
    assert [row["factor_chain_length"] for row in rows] == ["0", "0", "1", "1"]
    document = json.loads(files[0].read_text())
    assert float(rows[0]["relative"]) == document["rows"][0]["relative"]["value"]
    assert "<!doctype html>" in files[2].read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["old"], "without variants cannot be compared"),
        (["old", "old"], "named twice"),
        (["old", "nothing"], "no such run"),
        (["old", "new", "--margin", "5"], "'5' is not a margin"),
        (["old", "new", "--margin", "rtt_us=x"], "is not a margin"),
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
def test_bad_input_is_2(
    sfcperf: Command, runs: Path, arguments: list[str], said: str, capsys: Capture
) -> None:
    before = (runs / "old" / "trials.jsonl").read_bytes()
    assert sfcperf("compare", *(a.format(runs=runs) for a in arguments), "--results", runs) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""
    assert (runs / "old" / "trials.jsonl").read_bytes() == before


def test_copies_of_a_run_are_told_apart_by_folder(
    sfcperf: Command, runs: Path, capsys: Capture
) -> None:
    copy = runs / "copy"
    ping_run(copy, seed=5)
    manifest = RunStore.open(copy).manifest()
    RunStore(copy).write_manifest({**manifest, "run_id": "old"})
    assert sfcperf("compare", "old", "copy", "--results", runs) == 0
    assert "copy against" in capsys.readouterr().out
