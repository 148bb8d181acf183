"""The verbs of the `sfcperf` command; what is heavy they import inside, so that --help is quick."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer

import sfcperf
from sfcperf.cli.verbs import (
    clean,
    doctor,
    init,
    listing,
    plan,
    resume,
    run,
    setup,
    show,
    validate,
    watch,
)
from sfcperf.cli.verbs.functions import heavy_hitters, sdnmon, sfcmon, traffic
from sfcperf.cli.verbs.packages import pack, replay, verify
from sfcperf.cli.verbs.results import (
    claims,
    compare,
    export,
    figures,
    index,
    kibana,
    query,
    report,
    runs,
)

app = typer.Typer(
    name="sfcperf",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Help is plain text: importing rich takes longer than all the rest of `--help`.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("setup")(setup.setup)
app.command("init")(init.init)
app.command("run")(run.run)
app.command("validate")(validate.validate)
app.command("plan")(plan.plan)
app.command("list")(listing.list_)
app.command("show")(show.show)
app.command("schema")(init.schema)
app.command("resume")(resume.resume)
app.command("watch")(watch.watch)
app.command("report")(report.report)
app.command("claims")(claims.claims)
app.command("compare")(compare.compare)
app.command("figures")(figures.figures)
app.command("query")(query.query)
app.command("runs")(runs.runs)
app.command("export")(export.export)
app.command("index")(index.index)
app.add_typer(heavy_hitters.app, name="heavy-hitters")
app.add_typer(kibana.app, name="kibana")
app.add_typer(sdnmon.app, name="sdnmon")
app.add_typer(sfcmon.app, name="sfcmon")
app.add_typer(traffic.app, name="traffic")
app.command("pack")(pack.pack)
app.command("verify")(verify.verify)
app.command("replay")(replay.replay)
app.command("clean")(clean.clean)
app.command("doctor")(doctor.doctor)


@cache
def click_command() -> Any:
    """Return the command that `typer` makes of all verbs, a click.Command. The result is kept,
    since making it takes time."""
    return typer.main.get_command(app)


def _version(value: bool) -> None:
    """Print the version and end, if the user gave --version (`value`). typer calls this in any
    case."""
    if value:
        print(f"sfcperf {sfcperf.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Benchmark service function chains from one JSON workflow.

    Begin with `sfcperf run quickstart`, or with `sfcperf init my-lab` for a workflow of your own.
    `sfcperf VERB --help` explains a verb.
    """
