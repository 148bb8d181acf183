"""The heat template (HOT) of a machine with its ports, which Tacker's `vnflcm` gives to heat.

Properties as in heat's reference of resource types (OS::Nova::Server, OS::Neutron::Port).
"""

from __future__ import annotations

from typing import Any

from sfcperf.drivers.openstack.compute.flavors import Placement
from sfcperf.drivers.openstack.compute.servers import METADATA
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.model.user_data import joined
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.network.ports import port_body

VERSION = "2018-08-31"
"""Version of the template language (Rocky, 2018)."""

SERVER = "server"
"""Name of the server's resource; those of ports are in `MachineSpec.ports`."""

Template = dict[str, Any]


def machine(plan: MachinePlan, networks: RunNetworks, place: Placement, run: str) -> Template:
    """Return the template of a server with its ports. `run` is the run's tag."""
    names = plan.spec.ports
    properties = {
        **server_properties(plan, networks, place),
        "metadata": {METADATA: run},
        "networks": [{"port": {"get_resource": name}} for name in names],
    }
    resources: Template = {
        name: {"type": "OS::Neutron::Port", "properties": _port(port_body(plan, name, networks))}
        for name in names
    }
    resources[SERVER] = {"type": "OS::Nova::Server", "properties": properties}
    return {"heat_template_version": VERSION, "resources": resources}


def server_properties(plan: MachinePlan, networks: RunNetworks, place: Placement) -> Template:
    """Return the properties of a machine by the names of OS::Nova::Server, which are also those of
    Tacker's VDUs."""
    properties: Template = {
        "name": plan.name,
        "image": place.image_id,
        "flavor": place.flavor_id,
        "key_name": networks.key_name,
        "config_drive": True,
        "user_data": joined(networks.user_data, plan.spec.user_data),
        "user_data_format": "RAW",
    }
    if place.zone is not None:
        properties["availability_zone"] = place.zone
    return properties


_HEAT_NAMES = {
    "network_id": "network",
    "subnet_id": "subnet",
    "security_group_ids": "security_groups",
}


def _port(body: Template) -> Template:
    """Translate the properties of a port from neutron's names to heat's."""
    properties = {_HEAT_NAMES.get(key, key): value for key, value in body.items()}
    if "fixed_ips" in body:
        properties["fixed_ips"] = [_port(fixed) for fixed in body["fixed_ips"]]
    return properties
