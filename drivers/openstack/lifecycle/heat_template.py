"""Heat templates: a machine with its ports, and a chain through machines.

Properties as in heat's reference of resource types (OS::Nova::Server, OS::Neutron::Port,
OS::Neutron::PortChain and its parts).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sfcperf.drivers.openstack.compute.flavors import Placement
from sfcperf.drivers.openstack.compute.servers import METADATA
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.model.user_data import joined
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.network.ports import port_body

VERSION = "2018-08-31"
"""Of the template language (Rocky, 2018)."""

SERVER = "server"
"""Name of the server's resource; those of ports are in `MachineSpec.ports`."""
REVISION = "revision"
"""Output that tells from which template the stack was made."""

Template = dict[str, Any]


def machine(plan: MachinePlan, networks: RunNetworks, place: Placement, run: str) -> Template:
    """A server with its ports. Outputs: the server's id as `server`, and for each port
    `[id, MAC address, IPv4 address, network's id]`. `run` is the run's tag."""
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
    outputs: Template = {SERVER: {"value": {"get_resource": SERVER}}}
    outputs |= {name: {"value": _port_output(name)} for name in names}
    return _template(resources, outputs)


def server_properties(plan: MachinePlan, networks: RunNetworks, place: Placement) -> Template:
    """Of a machine, by the names of OS::Nova::Server, which are also those of Tacker's VDUs."""
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
    """By the names of heat's properties."""
    properties = {_HEAT_NAMES.get(key, key): value for key, value in body.items()}
    if "fixed_ips" in body:
        properties["fixed_ips"] = [_port(fixed) for fixed in body["fixed_ips"]]
    return properties


def _port_output(name: str) -> list[Template]:
    return [
        {"get_resource": name},
        {"get_attr": [name, "mac_address"]},
        {"get_attr": [name, "fixed_ips", 0, "ip_address"]},
        {"get_attr": [name, "network_id"]},
    ]


def chain(
    functions: Mapping[str, tuple[str, str]],
    classifier: Mapping[str, Any],
    *,
    symmetric: bool,
    name: str,
) -> Template:
    """Port pairs, their groups, a classifier and the chain; the output `chain` is its id.

    `functions`: machine -> ids of its ingress and egress port, in forward order; `classifier`: by
    the names of networking-sfc's API, which are heat's too.
    """
    resources: Template = {
        "classifier": {
            "type": "OS::Neutron::FlowClassifier",
            "properties": {"name": name, **classifier},
        }
    }
    for function, (ingress, egress) in functions.items():
        resources[f"{function}-pair"] = {
            "type": "OS::Neutron::PortPair",
            "properties": {"name": function, "ingress": ingress, "egress": egress},
        }
        pair = {"get_resource": f"{function}-pair"}
        resources[f"{function}-group"] = {
            "type": "OS::Neutron::PortPairGroup",
            "properties": {"name": function, "port_pairs": [pair]},
        }
    resources["chain"] = {
        "type": "OS::Neutron::PortChain",
        "properties": {
            "name": name,
            "port_pair_groups": [{"get_resource": f"{each}-group"} for each in functions],
            "flow_classifiers": [{"get_resource": "classifier"}],
            "chain_parameters": {"correlation": "mpls", "symmetric": symmetric},
        },
    }
    return _template(resources, {"chain": {"value": {"get_resource": "chain"}}})


def revision_of(template: Template) -> str:
    """The output `revision` of stacks that are made from this template."""
    revision: str = template["outputs"][REVISION]["value"]
    return revision


def _template(resources: Template, outputs: Template) -> Template:
    content = json.dumps([resources, outputs], sort_keys=True)
    revision = hashlib.sha256(content.encode()).hexdigest()[:16]
    return {
        "heat_template_version": VERSION,
        "resources": resources,
        "outputs": {**outputs, REVISION: {"value": revision}},
    }
