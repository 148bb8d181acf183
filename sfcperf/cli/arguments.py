"""Arguments and options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

WorkflowArgument = Annotated[
    str,
    typer.Argument(
        metavar="WORKFLOW",
        help="Workflow file, or the name of a shipped one (`sfcperf list workflows`).",
        show_default=False,
    ),
]

LATEST = "latest"
"""As a name, the run in the results folder that was begun last."""

RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="[RUN]",
        help="Run folder, its name in --results, or `latest` [default: latest].",
        show_default=False,
    ),
]

RunsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN]...",
        help="Run folders, their names in --results, or `latest` [default: latest].",
        show_default=False,
    ),
]

ResultsOption = Annotated[
    Path,
    typer.Option(
        "--results",
        metavar="DIR",
        envvar="SFCPERF_RESULTS",
        help="Folder that contains the run folders.",
    ),
]

DriverOption = Annotated[
    str | None,
    typer.Option("--driver", metavar="NAME", help="Use this driver instead of the workflow's."),
]

ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="FILE",
        help="Replace the workflow's infrastructure: a JSON file with a driver and its config, "
        "or a shipped profile (local, openstack).",
    ),
]

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Override a value of the workflow, such as design.rounds=1. Repeatable.",
    ),
]

RepeatOption = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="N",
        min=1,
        max=99,
        help="Measure N independent runs, each in its own run folder [default: design.runs "
        "of the workflow].",
        show_default=False,
    ),
]

LabelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="[RUN=]TEXT",
        help="Label of a run: A=TEXT for the first, B=TEXT for the second, or RUN-ID=TEXT; TEXT "
        "alone, given once for each run, in their order.",
    ),
]

QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only the path of the run folder.")
]

AllMetricsOption = Annotated[bool, typer.Option("--all", help="Include secondary metrics.")]

MarginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--margin",
        metavar="[METRIC=]SIZE",
        help="Largest difference that does not matter: 3% (of the baseline or of the packaged "
        "value, for all metrics), rtt_us=10%, ping/rtt_us=10%, loss_ratio=0.001 (in the metric's "
        "unit). Repeatable [default: 5%].",
    ),
]

RarestOption = Annotated[
    str,
    typer.Option(
        "--rarest",
        metavar="SHARE",
        help="Call no row equivalent that has too few trials to show a second mode (a slow trial "
        "now and then) with this share of the trials. 10% needs 29 trials per side, 25% needs 11, "
        "40% needs 6.",
    ),
]


class Test(StrEnum):
    """Tests to decide by."""

    RANK = "rank"
    T = "t"


AlphaOption = Annotated[
    float,
    typer.Option("--alpha", metavar="P", help="Probability of a false claim in any of the rows."),
]

TestOption = Annotated[
    Test,
    typer.Option(
        "--test",
        help="rank: Wilcoxon tests, exact for any distribution. t: t tests, which need fewer "
        "trials but assume that these are near normal.",
    ),
]


RESULTS = Path("results")
