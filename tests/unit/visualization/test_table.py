from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from sfcperf.results.records import Summary
from sfcperf.visualization.table import summary_table


def printed(summaries: list[Summary], *, width: int = 100, all_metrics: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(summary_table(summaries, all_metrics=all_metrics))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_primary_metrics_in_units_for_people(summaries: list[Summary]) -> None:
    text = printed(summaries)
    assert "95 % CI" in text
    assert "µs" in text
    assert "Gbit/s" in text
    assert "loss" not in text
    assert "loss" in printed(summaries, all_metrics=True)


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
    assert "1.273 ± 0.013 Gbit/s" in text
    assert "[1.260, 1.287]" in text


def test_nothing_to_show() -> None:
    assert "metric" in printed([])


def test_a_single_trial_has_no_interval(summaries: list[Summary]) -> None:
    text = printed([replace(summaries[0], n=1, ci_low=None, ci_high=None)])
    assert "±" not in text
    assert "–" in text
