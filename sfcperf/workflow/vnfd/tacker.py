"""Types of Tacker's legacy descriptors (Tacker 8, VNF Descriptor Template Guide)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def _optional(**types: str) -> dict[str, Any]:
    """Definitions of optional properties, from their types."""
    return {name: {"type": type_, "required": False} for name, type_ in types.items()}


_CAPABILITY_TYPES: Mapping[str, Any] = {
    "tosca.capabilities.nfv.Compute.Tacker": {
        "derived_from": "tosca.capabilities.Root",
        "properties": {
            **_optional(num_cpus="integer", mem_page_size="string", cpu_allocation="map"),
            **_optional(mem_size="scalar-unit.size", disk_size="scalar-unit.size"),
            **_optional(numa_node_count="integer", numa_nodes="map"),
        },
    }
}
_NODE_TYPES: Mapping[str, Any] = {
    "tosca.nodes.nfv.VDU.Tacker": {
        "derived_from": "tosca.nodes.nfv.VDU",
        "capabilities": {"nfv_compute": {"type": "tosca.capabilities.nfv.Compute.Tacker"}},
        "properties": {
            **_optional(name="string", image="string", flavor="string", key_name="string"),
            **_optional(user_data="string", user_data_format="string", config_drive="boolean"),
            **_optional(availability_zone="string", mgmt_driver="string", config="string"),
            **_optional(service_type="string", placement_policy="string", metadata="map"),
            **_optional(monitoring_policy="map", maintenance="boolean"),
        },
    },
    "tosca.nodes.nfv.CP.Tacker": {
        # Not derived from nfv.CP, whose ports would need two links in the simple profile.
        "derived_from": "tosca.nodes.Root",
        "requirements": [
            {
                "virtualLink": {
                    "capability": "tosca.capabilities.nfv.VirtualLinkable",
                    "relationship": "tosca.relationships.nfv.VirtualLinksTo",
                    "node": "tosca.nodes.nfv.VL",
                }
            },
            {
                "virtualBinding": {
                    "capability": "tosca.capabilities.nfv.VirtualBindable",
                    "relationship": "tosca.relationships.nfv.VirtualBindsTo",
                    "node": "tosca.nodes.nfv.VDU",
                }
            },
        ],
        "properties": {
            **_optional(name="string", mac_address="string", ip_address="string"),
            **_optional(management="boolean", anti_spoofing_protection="boolean"),
            **_optional(security_groups="list", allowed_address_pairs="list", order="integer"),
        },
    },
}


def with_tacker_types(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the descriptor and add Tacker's types if it uses one of them. Its own types take
    precedence."""
    if ".Tacker" not in str(tree["topology_template"]):
        return dict(tree)
    return {
        **tree,
        "capability_types": {**_CAPABILITY_TYPES, **(tree.get("capability_types") or {})},
        "node_types": {**_NODE_TYPES, **(tree.get("node_types") or {})},
    }
