"""A VNF descriptor for Tacker's legacy API: in Tacker's own profile, on the run's networks.

Descriptors of the NFV profile (VDU, CP, VL) say what a function is; Tacker's profile
(tosca.nodes.nfv.VDU.Tacker, CP.Tacker) adds image, flavor, key, user data and networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf.drivers.openstack.compute.flavors import Placement
from sfcperf.drivers.openstack.lifecycle.tacker_hot import server_properties
from sfcperf.drivers.openstack.model.specs import MANAGEMENT, MachinePlan
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.errors import InputError
from sfcperf.workflow.vnfd import VDU_TYPES, descriptor_tree, read_descriptor

PROFILE = "tosca_simple_profile_for_nfv_1_0_0"
"""Version of TOSCA by which Tacker recognises its profile."""

_VDU = "tosca.nodes.nfv.VDU.Tacker"
_OURS = ("tosca.nodes.nfv.CP", "tosca.nodes.nfv.VL", "tosca.nodes.nfv.VnfVirtualLink")
"""Types of connection points and links, which the run replaces by its own."""
_OTHERS = ("tosca.nodes.nfv.VduCp", "tosca.nodes.nfv.VNF")
"""Types of SOL001's profile that are left out: they have nothing that Tacker's profile needs."""
_KEPT = ("tosca.nodes.BlockStorage",)
"""Types of nodes that Tacker gets as they are."""

Template = dict[str, Any]


def connection_point(port: str) -> str:
    """Name in the descriptor of one of `MachineSpec.ports`."""
    return f"CP_{port}"


def translated(plan: MachinePlan, networks: RunNetworks, place: Placement) -> Template:
    """The machine's descriptor for Tacker, with one VDU and three CPs: management, in, out.

    Raises InputError for a function without a descriptor, and for one of several VDUs, or with
    parts that Tacker does not know.
    """
    if plan.spec.vnfd is None:
        raise InputError(
            f"the VNF type {plan.spec.type} has no descriptor, which Tacker needs",
            where=f"/vnfs/{plan.spec.vnf}",
            hint='set its `vnfd`, or "lifecycle": "nova" in /infrastructure/config',
        )
    read_descriptor(plan.spec.vnfd)  # refuses what is not TOSCA
    source = descriptor_tree(plan.spec.vnfd)
    nodes = source["topology_template"]["node_templates"]
    name = _vdu(nodes, plan.spec.vnfd)
    templates: Template = {name: _virtual_machine(nodes[name], plan, networks, place)}
    for order, port in enumerate(plan.spec.ports):
        templates[connection_point(port)] = _connection_point(order, port, name, plan, networks)
    templates["VL_management"] = _link(networks.management_id)
    templates["VL_data"] = _link(networks.data_id)
    templates |= {
        other: node
        for other, node in nodes.items()
        if node["type"].startswith(_KEPT) and other != name
    }
    return {
        "tosca_definitions_version": PROFILE,
        "description": source.get("description") or plan.spec.type,
        "metadata": {"template_name": plan.name},
        "topology_template": {"node_templates": templates},
    }


def _vdu(nodes: Mapping[str, Any], path: Path) -> str:
    """Return the name of the one VDU. Raises InputError for another number of VDUs, and for nodes
    that Tacker does not know."""
    found = [name for name, node in nodes.items() if node["type"] in VDU_TYPES]
    if len(found) != 1:
        raise InputError(
            f"the VNF descriptor {path} has {len(found)} VDUs",
            allowed="one: a function is one virtual machine",
        )
    for name, node in nodes.items():
        known = node["type"] in VDU_TYPES or node["type"].startswith((*_OURS, *_OTHERS, *_KEPT))
        if not known:
            raise InputError(
                f"the VNF descriptor {path} has a node {name} of type {node['type']}, "
                "which Tacker does not know",
                allowed="VDU, CP, VL, BlockStorage",
            )
    return found[0]


def _virtual_machine(
    node: Template, plan: MachinePlan, networks: RunNetworks, place: Placement
) -> Template:
    """Return the VDU by Tacker's profile. Its capabilities are left out: with a flavor they have no
    effect, and without one Tacker would make a flavor, which only administrators may."""
    properties: Template = dict(node.get("properties", {})) if node["type"] == _VDU else {}
    properties |= {**server_properties(plan, networks, place), "mgmt_driver": "noop"}
    return {"type": _VDU, "properties": properties}


def _connection_point(
    order: int, port: str, vdu: str, plan: MachinePlan, networks: RunNetworks
) -> Template:
    """Return the connection point of a port in Tacker's profile, with what lets a function send
    packets that have the endpoints' addresses."""
    network = networks.management_id if port == MANAGEMENT else networks.data_id
    properties: Template = {"name": plan.port_name(port), "order": order}
    group = networks.security_groups.get(network)
    if group is not None:
        properties["security_groups"] = [group]
    if port == MANAGEMENT:
        properties["management"] = True
    elif group is None:
        properties["anti_spoofing_protection"] = False
    else:
        # A function's packets have the endpoints' addresses.
        properties["allowed_address_pairs"] = [{"ip_address": "0.0.0.0/0"}]
    link = "VL_management" if port == MANAGEMENT else "VL_data"
    return {
        "type": "tosca.nodes.nfv.CP.Tacker",
        "properties": properties,
        "requirements": [{"virtualLink": {"node": link}}, {"virtualBinding": {"node": vdu}}],
    }


def _link(network_id: str) -> Template:
    """Return a virtual link to a network. Heat accepts an id as `network_name`, and an id is never
    ambiguous."""
    return {
        "type": "tosca.nodes.nfv.VL",
        "properties": {"network_name": network_id, "vendor": "SFCPerf"},
    }
