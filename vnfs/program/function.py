"""Any program as a VNF type: the workflow says what runs, and how packets reach it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfcperf.environment.tools import tool
from sfcperf.errors import InputError
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import Redirection
from sfcperf.plugins import Requirement, commands
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.vnfs.kernel_forwarding import requirements
from sfcperf.vnfs.nftables import Table
from sfcperf.vnfs.program import container, redirect
from sfcperf.vnfs.program import knobs as described
from sfcperf.vnfs.program.proxied import Proxied
from sfcperf.vnfs.program.routed import Routed
from sfcperf.vnfs.program.unrouted import Unrouted


class AnyProgram(NetworkFunction):
    """Runs a program that the workflow describes.

    With the knob `attach` set to `nsh`, it is NSH-aware and has one interface."""

    name = "program"
    title = "Any program, described in the workflow"
    nsh_aware = False
    interfaces = 2
    parameters = described.PARAMETERS

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require `ip`, `sysctl`, the commands that the program has, `nft` for a proxy, and what an
        image needs."""
        named = dict.fromkeys(argv[0] for _, argv in described.outside(knobs))
        rules = Table.requirements() if knobs["attach"] == "proxy" else []
        # What a placeholder stands for is not known yet.
        needs = [*requirements(), *rules, *(_command(name) for name in named if "{{" not in name)]
        if knobs["image"]:
            needs += container.requirements(knobs)
        return needs

    @classmethod
    def commands(cls, knobs: Mapping[str, Any]) -> Iterable[tuple[str, Sequence[str]]]:
        """Return its image and commands, in the order in which they are run, with their
        environment."""
        return described.shown(knobs)

    @classmethod
    def programs(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the commands that it has, and absolute paths among their arguments: `python3
        /opt/own.py` is a program of two files. Also what redirects to a proxy, and what unpacks and
        runs an image."""
        rules = commands(Table.requirements()) if knobs["attach"] == "proxy" else ()
        runtime = container.TOOLS if knobs["image"] else ()
        return tuple(dict.fromkeys((*described.programs(knobs), *rules, *runtime)))

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse a program that does nothing, own knobs without or outside their schema, and
        unknown placeholders."""
        described.check(knobs)

    @classmethod
    def files(cls, knobs: Mapping[str, Any]) -> Iterable[tuple[str | int, ...]]:
        """Return the places of the program, scripts and data that come with the workflow."""
        return described.files(knobs)

    @classmethod
    def redirection(cls, knobs: Mapping[str, Any]) -> Redirection | None:
        """Return the connections that a program ends that is attached as `proxy`."""
        return redirect.redirection(knobs["redirect"]) if knobs["attach"] == "proxy" else None

    @classmethod
    def carried_by_process(cls, knobs: Mapping[str, Any]) -> bool:
        """Whether there is a program, and packets cross it."""
        return described.has_process(knobs) and knobs["data_plane"] == "program"

    @classmethod
    def here_only(cls, knobs: Mapping[str, Any]) -> str | None:
        """Return the knob `image`, if there is one: it is unpacked on this machine."""
        return "image" if knobs["image"] else None

    @classmethod
    def form(cls, knobs: Mapping[str, Any]) -> type[NetworkFunction]:
        """Return NshProgram for a program that is attached `nsh`."""
        return NshProgram if knobs["attach"] == "nsh" else cls

    @classmethod
    def inline(cls, knobs: Mapping[str, Any]) -> bool:
        """Whether the program is attached `bridged`."""
        return bool(knobs["attach"] == "bridged")

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Run the setup commands, start the program, and return when it is ready. Raises
        DeploymentError with its last lines of output."""
        return _ATTACHED.get(knobs["attach"], Unrouted).launch(host, attachment, knobs)


class NshProgram(AnyProgram):
    """A program that gets NSH frames as they are."""

    nsh_aware = True
    interfaces = 1

    @classmethod
    def check_encapsulation(cls, encapsulation: str, knobs: Mapping[str, Any]) -> None:
        """Refuse plain IP, and what is not among the program's `encapsulations`."""
        takes = knobs["encapsulations"]
        if encapsulation == "none":
            raise InputError(
                "it gets NSH frames, but functions of this chain get plain IP",
                where="attach",
                allowed='"routed"',
                hint='or set "/chain/encapsulation" to "nsh-eth", if the infrastructure has it',
            )
        if encapsulation not in takes:
            raise InputError(
                f"the chain's encapsulation is {encapsulation}, which it does not take",
                where="encapsulations",
                allowed=f'a list with "{encapsulation}", if the program takes it',
                hint=f'or set "/chain/encapsulation" to "{takes[0]}"',
            )


_ATTACHED: Mapping[str, type[Routed | Unrouted]] = {"routed": Routed, "proxy": Proxied}
"""Knob `attach` -> how the program runs, where its host does forward."""


def _command(name: str) -> Requirement:
    """Require a command of the search path, or an executable file."""
    if "/" not in name:
        return tool(name, name, remedy="install the package that has it, or give its path")
    if not os.path.isfile(name):  # noqa: PTH113
        return Requirement(name, False, "there is no such file", "correct the path")
    if not os.access(name, os.X_OK):
        return Requirement(name, False, "it is not executable", f"`chmod +x {name}`")
    return Requirement(name, True, name)
