"""`sfcperf setup`: prepare a machine on which SFCPerf was installed with pip."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sfcperf.counts import count_text
from sfcperf.errors import EnvironmentLacks


def setup(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Install without asking.")] = False,
    packages: Annotated[
        bool,
        typer.Option(
            "--packages/--no-packages", help="Whether to install packages of the distribution."
        ),
    ] = True,
    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check",
            help="Whether to check the result; not while an image is built, which may do less "
            "than a run.",
        ),
    ] = True,
) -> None:
    """Prepare this machine for runs. Installs the packages that they need (Debian, Ubuntu; asks
    first), compiles the data planes, and checks the result as `sfcperf doctor` does. Run it
    again after each upgrade of SFCPerf.

    Exit code: 3 if something is missing in the end.
    """
    from sfcperf.cli import preparing
    from sfcperf.cli.verbs.doctor import doctor

    if packages and (missing := preparing.missing_packages()):
        are = "is" if len(missing) == 1 else "are"
        print(f"{count_text(len(missing), 'package')} {are} missing: {' '.join(missing)}")
        if yes or _agreed():
            preparing.install_packages()
        else:
            print("nothing was installed")
    print("compiling the data planes", flush=True)
    print(f"compiled: {preparing.compile_data_planes()}")
    if check:
        doctor()


def _agreed() -> bool:
    """Ask the user whether to install. Raises EnvironmentLacks without a terminal."""
    if not sys.stdin.isatty():
        raise EnvironmentLacks(
            "nobody can be asked whether to install them", hint="sfcperf setup --yes"
        )
    return typer.confirm("Install them?", default=True)
