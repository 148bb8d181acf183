"""`infrastructure.config` of the driver `machines`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.drivers.local.layout import WIRE_MTU
from sfcperf.drivers.local.validation import MTU
from sfcperf.drivers.sff.layout import LARGEST_WIRE_MTU
from sfcperf.hosts.agent import AgentAccess
from sfcperf.plugins import array, integer, object_schema

_FILE = {"type": "string", "pattern": '^[^"\\n]+$'}
_MACHINE = object_schema(
    {
        "ssh": {
            "description": "`user@address`, or a name in the user's ssh configuration. A user "
            "other than root needs `sudo` without a password.",
            "type": "string",
            # ssh takes what begins with a dash for an option, and gives the rest to a ProxyCommand.
            "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.@:%-]*$",
        },
        "nics": array(
            "The network card that joins the machine to the others. A run takes it for itself, and "
            "gives it back as it was.",
            {"type": "string", "pattern": "^[^/: ]{1,15}$"},
            maxItems=1,
            default=[],
        ),
        "python": {
            "description": "Name or path of Python on the machine, 3.11 or newer.",
            "type": "string",
            "pattern": "^[A-Za-z0-9._/+-]+$",
            "default": AgentAccess.python,
        },
    },
    required=["ssh"],
)
PARAMETERS = object_schema(
    {
        "machines": {
            "description": "Node of the topology -> the machine that it is.",
            "type": "object",
            "minProperties": 1,
            "additionalProperties": _MACHINE,
        },
        "identity": {
            "description": "File of the private key for SSH. Default: the user's own.",
            **_FILE,
        },
        "known_hosts": {
            "description": "File of the machines' public host keys, as ~/.ssh/known_hosts. "
            "Default: the user's own.",
            **_FILE,
        },
        "mtu": MTU,
        "wire_mtu": integer(
            "MTU of the network cards and of the attachments of SFFs, bytes of IP packet.",
            (WIRE_MTU, LARGEST_WIRE_MTU),
            default=WIRE_MTU,
        ),
    },
    required=["machines"],
)


@dataclass(frozen=True)
class MachineConfig:
    """A machine of the configuration."""

    name: str
    """Of its node."""
    access: AgentAccess
    nic: str | None
    """Its network card; None: it has none that joins it to others."""


def machine_configs(config: Mapping[str, Any]) -> dict[str, MachineConfig]:
    """Return the machines of a configuration by node."""
    options: list[str] = []
    if identity := config.get("identity"):
        options += ["-i", _absolute(identity), "-o", "IdentitiesOnly=yes"]
    if known_hosts := config.get("known_hosts"):
        options += ["-o", f'UserKnownHostsFile="{_absolute(known_hosts)}"']
    return {
        name: MachineConfig(
            name,
            AgentAccess(machine["ssh"], tuple(options), machine.get("python", AgentAccess.python)),
            _nic(machine.get("nics", ())),
        )
        for name, machine in config.get("machines", {}).items()
    }


def _absolute(path: str) -> str:
    """Return a path as `sfcperf clean` finds it from another folder."""
    return str(Path(path).expanduser().absolute())


def _nic(nics: Sequence[str]) -> str | None:
    return nics[0] if nics else None
