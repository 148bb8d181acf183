"""VNF packages (ETSI GS NFV-SOL 004) for Tacker's `vnflcm`: a descriptor and a heat template.

Tacker's convention: it gives `BaseHOT/FLAVOUR/*.yaml` to heat, and the resources there have the
names of the descriptor's nodes. The package defines those of SOL001's types that a function of one
virtual machine needs, so that it depends on no other file.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sfcperf.drivers.openstack.lifecycle import heat_template

FLAVOUR = "default"
"""Deployment flavour (SOL001's word, nothing to do with nova's flavors); the only one."""

_DEFINITIONS = "Definitions/vnfd.yaml"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of all files: a package of the same content is the same to the byte."""

Template = dict[str, Any]


def vnfd_id(name: str) -> str:
    """Id of the descriptor of the machine `name`: always the same."""
    return str(uuid5(NAMESPACE_URL, f"sfcperf:vnfd:{name}"))


def package(name: str, ports: Sequence[str], hot: heat_template.Template) -> bytes:
    """The package of the machine `name`, as a ZIP file. `ports`: names of its ports' resources."""
    flavor = hot["resources"][heat_template.SERVER]["properties"]["flavor"]
    import yaml

    meta = (
        "TOSCA-Meta-File-Version: 1.0\n"
        "CSAR-Version: 1.1\n"
        "Created-By: SFCPerf\n"
        f"Entry-Definitions: {_DEFINITIONS}\n"
    )
    files: Mapping[str, str] = {
        "TOSCA-Metadata/TOSCA.meta": meta,
        _DEFINITIONS: yaml.safe_dump(descriptor(name, ports, flavor), sort_keys=False),
        f"BaseHOT/{FLAVOUR}/hot.yaml": yaml.safe_dump(_base_hot(hot), sort_keys=False),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            info = zipfile.ZipInfo(path, _EPOCH)
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _base_hot(hot: heat_template.Template) -> Template:
    """With the flavor as a parameter, which Tacker fills in from the descriptor: it fails where it
    finds none. All other values are in the template already."""
    server = hot["resources"][heat_template.SERVER]
    flavor = {"get_param": ["nfv", "VDU", heat_template.SERVER, "computeFlavourId"]}
    filled = {**server, "properties": {**server["properties"], "flavor": flavor}}
    return {
        **hot,
        "parameters": {"nfv": {"type": "json"}},
        "resources": {**hot["resources"], heat_template.SERVER: filled},
    }


def descriptor(name: str, ports: Sequence[str], flavor: str) -> Template:
    """VNFD of a function with one VDU, which has the name of the server in its heat template.
    nova's `flavor` is an additional capability, because SOL001 has no better place for it."""
    identity: Template = {
        "descriptor_id": vnfd_id(name),
        "provider": "SFCPerf",
        "product_name": name,
        "software_version": "1.0",
        "descriptor_version": "1.0",
        "vnfm_info": ["Tacker"],
        "flavour_id": FLAVOUR,
        "flavour_description": "one virtual machine",
    }
    vdu = {
        "type": "tosca.nodes.nfv.Vdu.Compute",
        "properties": {
            "name": heat_template.SERVER,
            "description": "virtual machine of the function",
            "vdu_profile": {"min_number_of_instances": 1, "max_number_of_instances": 1},
        },
        "capabilities": {
            "virtual_compute": {
                "properties": {
                    "requested_additional_capabilities": {
                        "properties": {"requested_additional_capability_name": flavor}
                    }
                }
            }
        },
    }
    points = {
        port: {
            "type": "tosca.nodes.nfv.VduCp",
            "properties": {"layer_protocols": ["ipv4"], "order": order},
            "requirements": [{"virtual_binding": heat_template.SERVER}],
        }
        for order, port in enumerate(ports)
    }
    return {
        "tosca_definitions_version": "tosca_simple_yaml_1_2",
        "description": f"SFCPerf's service function {name}",
        **_types(identity),
        "topology_template": {
            "substitution_mappings": {
                "node_type": "sfcperf.VNF",
                "properties": {"flavour_id": FLAVOUR},
            },
            "node_templates": {
                "VNF": {"type": "sfcperf.VNF", "properties": identity},
                heat_template.SERVER: vdu,
                **points,
            },
        },
    }


def _types(identity: Template) -> Template:
    """Definitions of the types above: names and properties as in SOL001. The values of `identity`
    are defaults of the VNF's type, else TOSCA wants them as inputs."""
    text = {"type": "string"}
    texts = {"type": "list", "entry_schema": {"type": "string"}}
    mapping = {"type": "map", "entry_schema": {"type": "integer"}}
    properties = {
        name: {**(texts if isinstance(value, list) else text), "default": value}
        for name, value in identity.items()
    }
    compute = {
        "requested_additional_capabilities": {"type": "map", "entry_schema": {"type": "map"}}
    }
    return {
        "capability_types": {
            "tosca.capabilities.nfv.VirtualCompute": {
                "derived_from": "tosca.capabilities.Node",
                "properties": compute,
            },
            "tosca.capabilities.nfv.VirtualBindable": {"derived_from": "tosca.capabilities.Node"},
        },
        "relationship_types": {
            "tosca.relationships.nfv.VirtualBindsTo": {
                "derived_from": "tosca.relationships.DependsOn",
                "valid_target_types": ["tosca.capabilities.nfv.VirtualBindable"],
            }
        },
        "node_types": {
            "tosca.nodes.nfv.VNF": {"derived_from": "tosca.nodes.Root", "properties": properties},
            # Tacker reads the properties of the type itself, not those that it inherits.
            "sfcperf.VNF": {"derived_from": "tosca.nodes.nfv.VNF", "properties": properties},
            "tosca.nodes.nfv.Vdu.Compute": {
                "derived_from": "tosca.nodes.Root",
                "properties": {"name": text, "description": text, "vdu_profile": mapping},
                "capabilities": {
                    "virtual_compute": {"type": "tosca.capabilities.nfv.VirtualCompute"},
                    "virtual_binding": {"type": "tosca.capabilities.nfv.VirtualBindable"},
                },
            },
            "tosca.nodes.nfv.VduCp": {
                "derived_from": "tosca.nodes.Root",
                "properties": {"layer_protocols": texts, "order": {"type": "integer"}},
                "requirements": [
                    {
                        "virtual_binding": {
                            "capability": "tosca.capabilities.nfv.VirtualBindable",
                            "relationship": "tosca.relationships.nfv.VirtualBindsTo",
                            "node": "tosca.nodes.nfv.Vdu.Compute",
                        }
                    }
                ],
            },
        },
    }
