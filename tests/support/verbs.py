"""The verbs of the command line."""

from __future__ import annotations

from typing import Any

from sfcperf.cli.commands import contexts


def verbs() -> dict[str, Any]:
    """Verb (`kibana export` as well) -> its command."""
    _, *found = contexts()
    return {context.command_path.removeprefix("sfcperf "): context.command for context in found}
