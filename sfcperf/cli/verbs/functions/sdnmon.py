"""`sfcperf sdnmon`: the controller of switches that SDN-Mon monitors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Control the monitoring of switches (SDN-Mon).",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Control the monitoring of switches (SDN-Mon)."""


@app.command("controller")
def controller(
    token_file: Annotated[
        Path,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="Contains the token that requests must have; mode 0600.",
            show_default=False,
        ),
    ],
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="ADDRESS",
            help="Where switches connect, through their agents: address:port (port 0: any).",
        ),
    ] = "127.0.0.1:6653",
    rest: Annotated[
        str,
        typer.Option(
            "--rest",
            metavar="ADDRESS",
            help="Where the REST interface listens: unix:/path, or address:port of the management "
            "network (port 0: any).",
        ),
    ] = "127.0.0.1:8643",
    apps: Annotated[
        list[str] | None,
        typer.Option(
            "--app",
            metavar="MODULE",
            help="Run the application of os-ken in this module as well, such as one that forwards; "
            "repeatable.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run the SDN-Mon controller, until SIGTERM. It takes requests by REST, and controls
    switches by OpenFlow, through the agents of SDN-Mon."""
    from sfcperf.errors import EnvironmentLacks
    from sfcperf.vnfs.sdnmon.controller.requirements import requirement

    if not (found := requirement()).met:
        raise EnvironmentLacks(f"{found.name}: {found.detail}", hint=found.remedy)
    from sfcperf.vnfs.sdnmon.controller.daemon import Options, serve

    def ready(openflow: str, interface: str) -> None:
        print(json.dumps({"event": "ready", "openflow": openflow, "rest": interface}), flush=True)

    serve(Options(listen, rest, token_file, tuple(apps or ())), ready)
