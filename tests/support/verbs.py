"""The verbs of the command line."""

from __future__ import annotations

from typing import Any

import typer

from sfcperf.cli.app import app


def verbs() -> dict[str, Any]:
    """Verb (`kibana export` as well) -> its command."""
    found: dict[str, Any] = {}
    waiting = dict(typer.main.get_command(app).commands)
    while waiting:
        name, command = waiting.popitem()
        found[name] = command
        for inner, one in getattr(command, "commands", {}).items():
            waiting[f"{name} {inner}"] = one
    return found
