"""Arguments and options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

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
"""A user who gives this name means the run in the results folder that began last."""

RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="[RUN]",
        help="Run folder, its name in --results, or `latest` [default: latest].",
        show_default=False,
    ),
]


def runs_argument(what: str, *, metavar: str = "[RUN]...") -> Any:
    """Return the argument that names runs; `what`: its help."""
    return typer.Argument(metavar=metavar, help=what, show_default=False)


RunsArgument = Annotated[
    list[str] | None,
    runs_argument("Run folders, their names in --results, or `latest` [default: latest]."),
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


def driver_option(use: str) -> Any:
    """Return the option that names a driver; `use`: its help, what the driver is for."""
    return typer.Option("--driver", metavar="NAME", help=use)


def profile_option(use: str) -> Any:
    """Return the option that names a profile; `use`: the start of its help, what it is for."""
    return typer.Option(
        "--profile",
        metavar="FILE",
        help=f"{use}: a JSON file with a driver and its config, or a shipped profile (local, "
        "openstack).",
    )


def set_option(use: str) -> Any:
    """Return the option that sets values; `use`: the start of its help, what values it sets."""
    return typer.Option("--set", metavar="PATH=VALUE", help=f"{use} Repeatable.")


DriverOption = Annotated[str | None, driver_option("Use this driver instead of the workflow's.")]
ProfileOption = Annotated[str | None, profile_option("Replace the workflow's infrastructure")]
SetOption = Annotated[
    list[str] | None,
    set_option("Override a value of the workflow, such as design.rounds=1."),
]


def output_option(what: str, *, metavar: str = "FILE") -> Any:
    """Return the option that names the file or folder to write; `what`: its help."""
    return typer.Option("--output", "-o", metavar=metavar, help=what)


OutputOption = Annotated[Path | None, output_option("File to write [default: stdout].")]


def json_option(what: str = "Print JSON.") -> Any:
    """Return the option that asks for JSON on stdout; `what`: its help."""
    return typer.Option("--json", help=what)


JsonOption = Annotated[bool, json_option()]


def seed_option(effect: str) -> Any:
    """Return the option that sets the seed of what is random; `effect`: its help."""
    return typer.Option("--seed", metavar="N", min=0, help=effect)


TraceDurationOption = Annotated[
    float, typer.Option("--duration-s", metavar="S", help="Length of the trace, seconds.")
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


def label_option(of: str, help_: str) -> Any:
    """Return the option that labels what is compared or shown; `of`: what is labelled, as the help
    names it (SIDE or RUN)."""
    return typer.Option("--label", metavar=f"[{of}=]TEXT", help=help_)


LabelOption = Annotated[
    list[str] | None,
    label_option(
        "RUN",
        "Label of a run: A=TEXT for the first, B=TEXT for the second, or RUN-ID=TEXT; TEXT alone, "
        "given once for each run, in their order.",
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


CaOption = Annotated[
    Path | None,
    typer.Option("--ca", metavar="FILE", help="Certificates of trusted authorities (PEM)."),
]


def stream_prefix_option(default: str = "") -> Any:
    """Return the option that names the prefix of data streams; `default`: the end of its help."""
    return typer.Option(
        "--prefix", metavar="NAME", help=f"Prefix of the data streams' names.{default}"
    )


def group(help_: str) -> typer.Typer:
    """Make a verb with verbs of its own; `help_`: its help."""
    app = typer.Typer(help=help_, no_args_is_help=True, rich_markup_mode=None)
    # Without a callback, typer would make a group of one verb that verb itself.
    app.callback()(lambda: None)
    return app


class Test(StrEnum):
    """Statistical tests by which a comparison or a replay decides."""

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
"""Default of --results."""
