"""`sfcperf list KIND`: list what you can choose from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

KINDS = {
    "drivers": "driver",
    "vnfs": "vnf",
    "probes": "probe",
    "monitors": "monitor",
    "analyses": "analysis",
    "publishers": "publisher",
}
"""As typed -> kind of plug-in."""
OTHERS = ("workflows", "topologies")


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[" + "|".join([*KINDS, *OTHERS]) + "]",
            help="What to list [default: everything].",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List plug-ins, shipped workflows and topologies, with a one-line description each."""
    from sfcperf.errors import InputError

    known = [*KINDS, *OTHERS]
    if kind is not None and kind not in known:
        raise InputError(f"unknown kind {kind!r}", allowed=", ".join(known))
    if kind is not None:
        _print(_entries(kind))
        return
    for name in known:
        print(f"{name}:")
        _print(_entries(name), indent="  ")


def _print(entries: dict[str, str], indent: str = "") -> None:
    width = max(map(len, entries), default=0)
    for name, title in entries.items():
        print(f"{indent}{name:{width}}  {title}".rstrip())


def _entries(kind: str) -> dict[str, str]:
    """Name -> one line about it."""
    if kind in KINDS:
        from sfcperf import plugins

        return {name: _title(KINDS[kind], name) for name in plugins.names(KINDS[kind])}
    if kind == "workflows":
        from sfcperf.cli.shipped import shipped_workflows

        return {name: _description(file) for name, file in shipped_workflows().items()}
    from sfcperf.workflow.topology import DESCRIPTIONS

    return dict(DESCRIPTIONS)


def _title(kind: str, name: str) -> str:
    """A plug-in that cannot be imported is listed as unusable and does not hide the others."""
    from sfcperf import plugins
    from sfcperf.errors import SfcperfError

    try:
        return str(plugins.load(kind, name).title)
    except SfcperfError as error:
        return f"(unusable: {error.message})"


def _description(file: Path) -> str:
    from sfcperf.errors import SfcperfError
    from sfcperf.workflow.document import read_document

    try:
        return str(read_document(file).get("description", ""))
    except SfcperfError as error:
        return f"(unusable: {error.message})"
