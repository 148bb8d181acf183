"""`sfcperf compare RUN [RUN ...]`: runs, or the variants of one run, metric by metric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfcperf.cli.arguments import (
    RESULTS,
    AllMetricsOption,
    AlphaOption,
    MarginOption,
    RarestOption,
    ResultsOption,
    Test,
    TestOption,
    label_option,
    runs_argument,
)
from sfcperf.errors import ExitCode

if TYPE_CHECKING:
    from sfcperf.analysis.comparison import Comparison

_OF_DIFFERENCES = {"better", "worse", "different"}
"""Verdicts that need enough trials to show a difference."""


def compare(
    runs: Annotated[
        list[str],
        runs_argument(
            "What to compare: a run folder or its name in --results; several runs of the same "
            "thing, RUN,RUN,RUN; a package (.zip) of such runs; or a campaign of `sfcperf run "
            "--repeat`. The first one is the baseline. With a single one, its variants are "
            "compared.",
            metavar="SIDE...",
        ),
    ],
    label: Annotated[
        list[str] | None,
        label_option(
            "SIDE",
            "What to call a side in tables, figures and files: A=TEXT for the first, B=TEXT for "
            "the second, or by run or variant; TEXT alone, given once for each side, in their "
            "order.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="Run or variant to compare with [default: the first].",
        ),
    ] = None,
    margin: MarginOption = None,
    rarest: RarestOption = "10%",
    alpha: AlphaOption = 0.05,
    test: TestOption = Test.RANK,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Only compare this metric (rtt_us or ping/rtt_us). Repeatable.",
        ),
    ] = None,
    all_: AllMetricsOption = False,
    match: Annotated[
        list[str] | None,
        typer.Option(
            "--match", metavar="FACTOR", help="Match scenarios by this factor only. Repeatable."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore", metavar="FACTOR", help="Match scenarios across this factor. Repeatable."
        ),
    ] = None,
    json_: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="FILE", help="Write the comparison as JSON; - prints only JSON."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the comparison as an HTML page."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the rows as CSV.")
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="VERDICT",
            help="Exit with 1 if a row, or the count of crashes, has this verdict: worse, "
            "undecided, different, better, equivalent. Repeatable, or comma-separated. Exits with "
            "5 if there are too few trials for worse, better or different, whatever was measured. "
            "With one run per side, chance differences between runs count as differences; with "
            "several runs per side, or a noise floor of this machine, they do not.",
        ),
    ] = None,
    keep_noise_floor: Annotated[
        bool,
        typer.Option(
            "--keep-noise-floor",
            help="All these runs are of the same thing (A/A): keep how much they differ as the "
            "noise floor of this machine, and print it, instead of comparing them.",
        ),
    ] = False,
    results: ResultsOption = RESULTS,
) -> None:
    """Compare runs, or the variants of one run. Shows for each scenario and metric the difference,
    its interval, and a verdict: better, worse, equivalent or undecided. With several runs per side,
    verdicts account for what runs of the same thing differ by."""
    from sfcperf.analysis.comparison import compare_all
    from sfcperf.cli.comparing import (
        check_outputs,
        failing,
        options_of,
        powerless,
        runs_of,
        sides_of,
        write_outputs,
    )
    from sfcperf.cli.noise_floor import known_floors
    from sfcperf.cli.terminal.lines import say

    if keep_noise_floor:
        from sfcperf.cli.noise_floor import keep_and_show

        keep_and_show([store for text in runs for store in runs_of(text, results)])
        return
    verdicts = failing(fail_on or ())
    options = options_of(
        margins=margin or (),
        rarest=rarest,
        alpha=alpha,
        test=test.value,
        all_metrics=all_,
        metrics=tuple(metric or ()),
        match=tuple(match or ()),
        ignore=tuple(ignore or ()),
    )
    sides = sides_of(runs, baseline, results, label or ())
    check_outputs((json_, html, csv), sides)
    # A noise floor says how single runs differ: not variants, and not sides of several runs.
    single = len(sides[0].stores) == 1 and not sides[0].variant
    comparison = compare_all(sides[0], sides[1:], options, known_floors() if single else None)
    if json_ != "-":
        _print(comparison)
    write_outputs(comparison, sides, json_=json_, html=html, csv=csv)
    crashes = (one.verdict for one in comparison.crashes)
    if not verdicts.isdisjoint([*(row.verdict for row in comparison.rows), *crashes]):
        raise typer.Exit(ExitCode.SOME_TRIALS_BAD)
    if verdicts & _OF_DIFFERENCES and (reason := powerless(comparison, options)):
        say(f"--fail-on: {reason}")
        raise typer.Exit(ExitCode.CANNOT_DECIDE)


def _print(comparison: Comparison) -> None:
    """Print the headline, the tables and the remarks of a comparison."""
    from rich.text import Text

    from sfcperf.cli.terminal.console import console
    from sfcperf.comparison import comparison_tables, comparison_texts, headline

    terminal = console()
    terminal.print(Text(headline(comparison), style="bold"))
    terminal.print()
    for table in comparison_tables(comparison, terminal.width):
        terminal.print(table)
    for text in comparison_texts(comparison):
        terminal.print(text)
