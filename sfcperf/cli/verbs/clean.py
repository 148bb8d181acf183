"""`sfcperf clean`: remove what dead runs left."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sfcperf.cli.arguments import driver_option
from sfcperf.errors import ExitCode


def clean(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be removed.")
    ] = False,
    driver: Annotated[str | None, driver_option("Only clean runs of this driver.")] = None,
) -> None:
    """Remove what killed runs left behind. Follows the journals that the runs kept on this
    machine; what they name may also be on other infrastructures. Also removes the private
    folders, such as copies of packages, that other killed verbs left. Results are never touched."""
    from sfcperf.control.clean import clean as clean_runs

    cleaned = clean_runs(dry_run=dry_run, driver=driver)
    if not cleaned:
        print("nothing to clean")
    verb = "would remove" if dry_run else "removed"
    for run in cleaned:
        match run.status:
            case "alive":
                print(f"{run.run_id}: is still running, not touched")
            case "failed":
                text = "\n  ".join(run.lines)
                print(f"{run.run_id}: could not be cleaned\n  {text}", file=sys.stderr)
            case "removed":
                print(f"{run.run_id}: {verb} its state" + (" and" if run.lines else ""))
                for line in run.lines:
                    print(f"  {line}")
    if any(run.status == "failed" for run in cleaned):
        raise typer.Exit(ExitCode.ENVIRONMENT)
