"""Options of commands that serve a REST interface."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TokenFileOption = Annotated[
    Path,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="Contains the token that requests must have; mode 0600.",
        show_default=False,
    ),
]


def rest_address(option: str) -> Any:
    """Return the option with this name that says where the REST interface listens."""
    return typer.Option(
        option,
        metavar="ADDRESS",
        help="Where the REST interface listens: unix:/path, or address:port of the management "
        "network (port 0: any).",
    )
