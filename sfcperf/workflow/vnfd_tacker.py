"""Types of Tacker's legacy descriptors, which a VNFD uses without saying what they are.

Names and properties as in Tacker's documentation of VNF descriptors (Tacker 8, "VNF Descriptor
Template Guide"); properties that sfcperf does not read are there so that they are not refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def _optional(**types: str) -> dict[str, Any]:
    return {name: {"type": type_, "required": False} for name, type_ in types.items()}


TACKER_TYPES: Mapping[str, Any] = {
    "tosca.capabilities.nfv.Compute.Tacker": {
        "derived_from": "tosca.capabilities.Root",
        "properties": {
            **_optional(num_cpus="integer", mem_page_size="string", cpu_allocation="map"),
            **_optional(mem_size="scalar-unit.size", disk_size="scalar-unit.size"),
            **_optional(numa_node_count="integer", numa_nodes="map"),
        },
    },
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
        "derived_from": "tosca.nodes.nfv.CP",
        "properties": {
            **_optional(name="string", mac_address="string", ip_address="string"),
            **_optional(management="boolean", anti_spoofing_protection="boolean"),
            **_optional(security_groups="list", allowed_address_pairs="list", order="integer"),
        },
    },
}
"""For tosca-parser's `local_defs`."""
