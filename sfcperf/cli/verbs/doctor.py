"""`sfcperf doctor`: check whether this machine has what runs need."""

from __future__ import annotations

from typing import Annotated

import typer

from sfcperf.cli.arguments import driver_option, profile_option, set_option
from sfcperf.errors import ExitCode, InputError


def doctor(
    driver: Annotated[
        str | None, driver_option("Also check the infrastructure of this driver.")
    ] = None,
    profile: Annotated[str | None, profile_option("Also check this infrastructure")] = None,
    set_: Annotated[
        list[str] | None,
        set_option("Set a value of the driver's configuration: infrastructure.config.KEY=VALUE."),
    ] = None,
) -> None:
    """Check this machine and say what to install. With --driver or --profile, also check that
    infrastructure. Exit code: 3 if something is missing."""
    from rich.table import Table

    from sfcperf import plugins
    from sfcperf.cli.terminal.console import console
    from sfcperf.environment.gather import (
        each_once,
        infrastructures_elsewhere,
        of_installed,
        of_services,
    )
    from sfcperf.environment.tools import versions
    from sfcperf.vnfs.sfcmon.bmv2 import compile, switch
    from sfcperf.vnfs.sfcmon.controller import requirements

    config = None
    if profile is not None or set_:
        from sfcperf.cli.inputs import open_profile
        from sfcperf.workflow.infrastructure import load_infrastructure

        chosen = load_infrastructure(set_ or (), driver, open_profile(profile))
        driver, config = chosen.driver, chosen.config
    if driver is not None and driver not in (known := plugins.names("driver")):
        raise InputError(f"there is no driver named {driver!r}", allowed=", ".join(known))
    with versions():
        needed = of_installed(driver, config)
        services = of_services()
    table = Table("", "needed", "found", box=None, pad_edge=False)
    # These are optional: only some workflows need them.
    optional = each_once(
        [
            switch.requirement(),
            compile.requirement(),
            *(need for need in needed if need.of_extra),
            requirements.requirement(),
            *services,
        ]
    )
    needed = [need for need in needed if not need.of_extra]
    # Some are needed by a plug-in that is not optional, too: they are listed once.
    shown = {(need.name, need.detail) for need in needed}
    optional = [need for need in optional if (need.name, need.detail) not in shown]
    for need in needed:
        table.add_row("ok" if need.met else "MISSING", need.name, need.detail)
    for need in optional:
        table.add_row("ok" if need.met else "optional", need.name, need.detail)
    out = console()
    out.print(table)
    if driver is None:
        for name in infrastructures_elsewhere():
            out.print(f"not checked: {name} (`sfcperf doctor --driver {name}`)")
    missing = [need for need in needed if not need.met]
    for need in missing:
        if need.remedy:
            out.print(f"{need.name}: {need.remedy}")
    absent = [need for need in optional if not need.met]
    for remedy in dict.fromkeys(need.remedy for need in absent):
        names = ", ".join(need.name for need in absent if need.remedy == remedy)
        # Without markup: rich would take the brackets of `sfcperf[p4]` for it.
        out.print(f"{names}: {remedy}", markup=False)
    if missing:
        raise typer.Exit(ExitCode.ENVIRONMENT)
