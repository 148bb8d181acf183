from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from sfcperf.report.summary_table import summary_notes, summary_table
from sfcperf.results.records import Summary


def printed(summaries: list[Summary], *, width: int = 100, all_metrics: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(summary_table(summaries, all_metrics=all_metrics))
    for note in summary_notes(summaries, all_metrics=all_metrics):
        console.print(note)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_primary_metrics_in_units_for_people(summaries: list[Summary]) -> None:
    text = printed(summaries)
    assert "95 % CI" in text
    assert "µs" in text
    assert "Gbit/s" in text
    assert "loss" not in text
    assert "loss" in printed(summaries, all_metrics=True)
    assert "metric" in printed([])


def test_trials_that_do_not_count_are_marked(summaries: list[Summary]) -> None:
    marked = [line for line in printed(summaries).splitlines() if "2 of 3 ✗" in line]
    assert len(marked) == 3
    assert printed(summaries).count("3 ✓") == 27


def test_markup_in_names_is_text(summaries: list[Summary]) -> None:
    row = replace(summaries[0], label="[red]x[/red]", scenario={"[b]": "[/]"})
    text = printed([row])
    for word in ("[red]x[/red]", "[b]", "[/]"):
        assert word in text


def test_numbers_are_whole_on_a_narrow_terminal(summaries: list[Summary]) -> None:
    text = printed(summaries, width=80)
    assert "1.273 Gbit/s" in text
    assert "[1.263, 1.296]" in text


def test_a_single_trial_has_no_interval(summaries: list[Summary]) -> None:
    why = "one trial shows no dispersion"
    text = printed([replace(summaries[0], n=1, ci_low=None, ci_high=None, ci_withheld=why)])
    assert "–" in text
    assert f"no interval: {why} (1 row)" in text


def test_rounds_that_were_not_run_are_counted(summaries: list[Summary]) -> None:
    row = replace(summaries[0], n=2, planned=3, valid=False, reasons=("round 3 was not run",))
    assert "2 of 3 ✗" in printed([row])
    assert "2 ✗" in printed([replace(row, planned=0, excluded=())])


def test_the_declared_centre_is_shown(summaries: list[Summary]) -> None:
    known = {"median": 312.0, "median_ci_low": 300.0, "median_ci_high": 340.0}
    row = replace(summaries[0], unit="us", metric="rtt_us", centre="median", **known)
    text = printed([row])
    assert "median" in text and "mean" not in text
    assert "312 µs" in text
    assert "[300, 340]" in text


def test_rows_with_warnings_are_marked_and_the_mark_is_explained(summaries: list[Summary]) -> None:
    text = printed([replace(summaries[0], warnings=("The trials drift with time.",)), summaries[1]])
    assert text.count("✓ !") == 1
    assert "!: has a warning, see `sfcperf report`" in text
    assert "!" not in printed(summaries[:2])


def test_rows_with_crashes_or_losses_are_marked(summaries: list[Summary]) -> None:
    row = replace(summaries[0], primary=True, warnings=("A function crashed.",))
    assert "! crash" in printed([replace(row, crashes=1)])
    assert "! loss" in printed([replace(row, loss_ratio=0.08, loss_warning=0.01)])
    assert "loss" not in printed([replace(row, loss_ratio=0.01, loss_warning=0.01)])


def test_notes_are_as_wide_as_the_terminal(summaries: list[Summary]) -> None:
    """Not as the table, which may be narrow."""
    why = "the mean depends on modes that few trials may not show, however many rounds were planned"
    row = replace(summaries[0], ci_low=None, ci_high=None, ci_withheld=why, scenario={})
    lines = printed([row], width=150).splitlines()
    assert f"no interval: {why} (1 row)" in lines
    assert max(len(line.rstrip()) for line in lines[:3]) < len(why)
