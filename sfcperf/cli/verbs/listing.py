"""`sfcperf list KIND`: list what you can choose from."""

from __future__ import annotations

from typing import Annotated

import typer

from sfcperf.errors import InputError, SfcperfError

KINDS = {
    "drivers": "driver",
    "vnfs": "vnf",
    "probes": "probe",
    "monitors": "monitor",
    "analyses": "analysis",
    "services": "service",
    "publishers": "publisher",
}
"""Word that a user types -> kind of plug-in."""
OTHERS = ("workflows", "topologies")


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help=f"What to list: {', '.join([*KINDS, *OTHERS])} [default: everything].",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List plug-ins, shipped workflows and topologies. Each has a line that describes it."""
    known = [*KINDS, *OTHERS]
    if kind is not None and kind not in known:
        from sfcperf.workflow.document.findings import did_you_mean

        raise InputError(
            f"unknown kind {kind!r}", allowed=", ".join(known), hint=did_you_mean(kind, known)
        )
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
    """Return name -> one line about it, for everything of a kind that can be chosen."""
    from sfcperf import plugins
    from sfcperf.cli.shipped import shipped
    from sfcperf.workflow.document import read_document
    from sfcperf.workflow.topology import DESCRIPTIONS

    if kind == "topologies":
        return dict(DESCRIPTIONS)
    titles: dict[str, str] = {}
    for name in shipped() if kind == "workflows" else plugins.names(KINDS[kind]):
        try:
            if kind == "workflows":
                titles[name] = read_document(shipped()[name]).get("description", "")
            else:
                titles[name] = plugins.load(KINDS[kind], name).title
        except SfcperfError as error:
            # An entry that cannot be read or imported does not hide the others.
            titles[name] = f"(unusable: {error.message})"
    return titles
