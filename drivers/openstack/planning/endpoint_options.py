"""`endpoints.NAME.options` of the OpenStack driver: another image, or an existing machine.

The paper's endpoints may be physical machines (section IV). An existing machine is reached by SSH,
and its packets enter the cloud by a neutron port that somebody bound to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.drivers.openstack.model.specs import ExistingMachine
from sfcperf.errors import WorkflowError
from sfcperf.input_file import with_home
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.document import pointer
from sfcperf.workflow.model import EndpointSpec
from sfcperf.workflow.validate import Validator

_NAME = {"type": "string", "minLength": 1}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "image": {**_NAME, "description": "Image of the endpoint's VM, name or id."},
        "flavor": {**_NAME, "description": "Flavor of the endpoint's VM, name or id."},
        "machine": {
            "description": "An existing machine instead of a VM; sfcperf does not change it.",
            "type": "object",
            "additionalProperties": False,
            "required": ["address", "host_key", "key_file", "interface", "port"],
            "properties": {
                "address": {**_NAME, "description": "Its address for SSH."},
                "ssh_port": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 65_535,
                    "default": 22,
                    "description": "TCP port of its SSH server.",
                },
                "ssh_user": {
                    **_NAME,
                    "default": "root",
                    "description": "User; a user other than root needs sudo without a password.",
                },
                "host_key": {
                    **_NAME,
                    "description": "Its public SSH host key, `ssh-ed25519 AAAA...`; any other "
                    "is refused.",
                },
                "key_file": {
                    **_NAME,
                    "description": "Private key to log in with, a file of the machine that runs "
                    "sfcperf.",
                },
                "interface": {
                    **_NAME,
                    "description": "Its interface in the data network, with an address.",
                },
                "port": {
                    **_NAME,
                    "description": "Neutron port, name or id, of this interface; the chain is "
                    "made in the port's network.",
                },
            },
        },
    },
    "not": {"required": ["machine"], "anyOf": [{"required": ["image"]}, {"required": ["flavor"]}]},
}


@dataclass(frozen=True)
class EndpointOptions:
    """The options of one endpoint."""

    image: str | None
    flavor: str | None
    machine: ExistingMachine | None


def options_of(spec: EndpointSpec) -> EndpointOptions:
    """Return the options of an endpoint. Raises WorkflowError if they do not match SCHEMA, or an
    existing machine has resources."""
    where = f"/endpoints/{spec.name}/options"
    for misfit in Validator(SCHEMA).misfits(dict(spec.options)):
        raise WorkflowError(
            misfit.message,
            where=where + pointer.to_pointer(misfit.path),
            allowed=misfit.allowed,
            hint=misfit.hint,
        )
    machine = spec.options.get("machine")
    return EndpointOptions(
        spec.options.get("image"),
        spec.options.get("flavor"),
        None if machine is None else _existing(spec, machine),
    )


def _existing(spec: EndpointSpec, options: Mapping[str, Any]) -> ExistingMachine:
    """Return the existing machine that stands in the options. Raises WorkflowError if the workflow
    sets resources or an address for it."""
    for name, value in (("resources", spec.resources), ("address", spec.address)):
        if value is not None:
            raise WorkflowError(
                f"the {spec.name} is an existing machine, which cannot be changed",
                where=f"/endpoints/{spec.name}/{name}",
                hint="leave it out",
            )
    machine = with_defaults(SCHEMA["properties"]["machine"], options)
    machine["key_file"] = with_home(machine["key_file"])
    return ExistingMachine(spec.name, **machine)
