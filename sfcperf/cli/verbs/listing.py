"""`sfcperf list KIND`: list what you can choose from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from sfcperf.errors import InputError, SfcperfError

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

        plugin = KINDS[kind]
        return {
            name: _usable(lambda name=name: plugins.load(plugin, name).title)
            for name in plugins.names(plugin)
        }
    if kind == "workflows":
        from sfcperf.cli.shipped import shipped
        from sfcperf.workflow.document import read_document

        return {
            name: _usable(lambda file=file: read_document(file).get("description", ""))
            for name, file in shipped().items()
        }
    from sfcperf.workflow.topology import DESCRIPTIONS

    return dict(DESCRIPTIONS)


def _usable(text: Callable[[], str]) -> str:
    """What cannot be read or imported is listed as unusable and does not hide the others."""
    try:
        return text()
    except SfcperfError as error:
        return f"(unusable: {error.message})"
