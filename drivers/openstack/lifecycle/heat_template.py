"""Heat templates: a machine with its ports, and a chain through machines.

Properties as in heat's reference of resource types (OS::Nova::Server, OS::Neutron::Port,
OS::Neutron::PortChain and its parts).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sfcperf.drivers.openstack.compute import servers
from sfcperf.drivers.openstack.compute.placement import Placement
from sfcperf.drivers.openstack.lifecycle.base import Ground
from sfcperf.drivers.openstack.model.specs import MANAGEMENT, MachinePlan
from sfcperf.drivers.openstack.model.user_data import joined
from sfcperf.drivers.openstack.network import ports

VERSION = "2018-08-31"
"""Of the template language (Rocky): older than any cloud that is still in use."""

SERVER = "server"
"""Name of the server's resource; ports have the names of `plan`."""
REVISION = "revision"
"""Output that says which template a stack stands for."""

Template = dict[str, Any]


def machine(plan: MachinePlan, ground: Ground, place: Placement, run: str) -> Template:
    """A server with its ports, and what they became as outputs: `server` its id, and of each port
    `[id, MAC address, IPv4 address, network's id]`. `run` is the run's tag."""
    names = ports.roles(plan)
    properties: Template = {
        "name": plan.name,
        "image": place.image_id,
        "flavor": place.flavor_id,
        "key_name": ground.key_name,
        "config_drive": True,
        "user_data": joined(ground.user_data, plan.shape.user_data),
        "user_data_format": "RAW",
        "metadata": {servers.METADATA: run},
        "networks": [{"port": {"get_resource": name}} for name in names],
    }
    if place.zone is not None:
        properties["availability_zone"] = place.zone
    resources: Template = {
        name: {"type": "OS::Neutron::Port", "properties": _port(name, plan, ground)}
        for name in names
    }
    resources[SERVER] = {"type": "OS::Nova::Server", "properties": properties}
    outputs: Template = {SERVER: {"value": {"get_resource": SERVER}}}
    outputs |= {name: {"value": _port_output(name)} for name in names}
    return _template(resources, outputs)


def _port(name: str, plan: MachinePlan, ground: Ground) -> Template:
    properties: Template = {"name": ports.port_name(plan.name, name)}
    if name == MANAGEMENT:
        properties["network"] = ground.management_network_id
    else:
        properties["network"] = ground.data_network_id
        fixed: Template = {"subnet": ground.data_subnet_id}
        if plan.address is not None:
            fixed["ip_address"] = plan.address
        properties["fixed_ips"] = [fixed]
    guard = ground.guards.get(properties["network"])
    if guard is not None:
        properties["security_groups"] = [guard]
        if name != MANAGEMENT:
            # A function sends packets that bear the endpoints' addresses.
            properties["allowed_address_pairs"] = [{"ip_address": "0.0.0.0/0"}]
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

    `functions`: machine -> ids of its ingress and egress port, in forward order; `classifier`: what
    matches, in the words of networking-sfc's API, which are heat's too.
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
    """What the stack's output `revision` says when it stands for this template."""
    revision: str = template["outputs"][REVISION]["value"]
    return revision


def _template(resources: Template, outputs: Template) -> Template:
    revision = _digest([resources, outputs])
    return {
        "heat_template_version": VERSION,
        "resources": resources,
        "outputs": {**outputs, REVISION: {"value": revision}},
    }


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
