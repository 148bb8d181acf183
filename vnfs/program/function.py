"""Any program as a VNF type: the workflow says what runs, and how packets reach it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfcperf.environment.tools import tool
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.vnfs.kernel_forwarding import requirements
from sfcperf.vnfs.program import knobs as described
from sfcperf.vnfs.program.bridged import Bridged
from sfcperf.vnfs.program.routed import Routed
from sfcperf.workflow.references import level_text


class AnyProgram(NetworkFunction):
    """Runs a program that the workflow describes."""

    name = "program"
    title = "Any program, described in the workflow"
    nsh_aware = False
    interfaces = 2
    parameters = described.PARAMETERS

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require `ip`, `sysctl`, and the commands that the program has."""
        named = dict.fromkeys(argv[0] for _, argv in described.commands(knobs))
        # What a placeholder stands for is not known yet.
        return [*requirements(), *(_command(name) for name in named if "{{" not in name)]

    @classmethod
    def commands(cls, knobs: Mapping[str, Any]) -> Iterable[tuple[str, Sequence[str]]]:
        """Return its commands, in the order in which they are run, with their environment."""
        variables = [f"{name}={level_text(value)}" for name, value in knobs["env"].items()]
        environment = ["env", *variables] if variables else []
        for place, argv in described.commands(knobs):
            yield "/".join(map(str, place)), [*environment, *argv]

    @classmethod
    def programs(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the commands that it has, and absolute paths among their arguments: `python3
        /opt/own.py` is a program of two files."""
        return tuple(dict.fromkeys(described.programs(knobs)))

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
    def inline(cls, knobs: Mapping[str, Any]) -> bool:
        """Whether the program is attached `bridged`."""
        return bool(knobs["attach"] == "bridged")

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Run the setup commands, start the program, and return when it is ready. Raises
        DeploymentError with its last lines of output."""
        return (Bridged if cls.inline(knobs) else Routed).launch(host, attachment, knobs)


def _command(name: str) -> Requirement:
    """Require a command of the search path, or an executable file."""
    if "/" not in name:
        return tool(name, name, remedy="install the package that has it, or give its path")
    if not os.path.isfile(name):  # noqa: PTH113
        return Requirement(name, False, "there is no such file", "correct the path")
    if not os.access(name, os.X_OK):
        return Requirement(name, False, "it is not executable", f"`chmod +x {name}`")
    return Requirement(name, True, name)
