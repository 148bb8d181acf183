"""`sfcperf sdnmon`: the controller of switches that SDN-Mon monitors."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from sfcperf.cli.arguments import group
from sfcperf.cli.verbs.functions.rest_options import TokenFileOption, rest_address

app = group("Control the monitoring of switches (SDN-Mon).")


@app.command("controller")
def controller(
    token_file: TokenFileOption,
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="ADDRESS",
            help="Where switches connect, through their agents: address:port (port 0: any).",
        ),
    ] = "127.0.0.1:6653",
    rest: Annotated[str, rest_address("--rest")] = "127.0.0.1:8643",
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
    from sfcperf.dataplane.sdnmon.controller.requirements import requirement

    requirement().demand()
    from sfcperf.dataplane.sdnmon.controller.daemon import Options, serve

    def ready(openflow: str, interface: str) -> None:
        # For whoever started this process: switches and requests are answered now, at these
        # addresses.
        print(json.dumps({"event": "ready", "openflow": openflow, "rest": interface}), flush=True)

    serve(Options(listen, rest, token_file, tuple(apps or ())), ready)
