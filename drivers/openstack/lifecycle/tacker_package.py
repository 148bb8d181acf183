"""VNF packages (ETSI GS NFV-SOL 004) for Tacker's `vnflcm`: a descriptor and a heat template.

Tacker's convention: it gives `BaseHOT/FLAVOUR/*.yaml` to heat, and the resources there have the
names of the descriptor's nodes. The package defines those of SOL001's types that a function of one
virtual machine needs, so that it depends on no other file.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sfcperf.drivers.openstack.lifecycle import tacker_hot

FLAVOUR = "default"
"""Deployment flavour (SOL001's word, nothing to do with nova's flavors); the only one."""

_DEFINITIONS = "Definitions/vnfd.yaml"
_TYPES = Path(__file__).with_name("tacker_types.yaml")
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of all files: a package of the same content is the same to the byte."""

Template = dict[str, Any]


def vnfd_id(name: str) -> str:
    """Id of the descriptor of the VNF `name`. It is derived from the name alone: the same package
    always has the same id, and the caller need not ask Tacker for it."""
    return str(uuid5(NAMESPACE_URL, f"sfcperf:vnfd:{name}"))


def package(name: str, ports: Sequence[str], hot: tacker_hot.Template) -> bytes:
    """Return the package of the machine `name`, a ZIP file, around its heat template `hot`.
    `ports`: names of its ports in the template."""
    flavor = hot["resources"][tacker_hot.SERVER]["properties"]["flavor"]
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
            info.external_attr = 0o644 << 16  # the file's permissions on Unix
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _base_hot(hot: tacker_hot.Template) -> Template:
    """Return the template with the flavor as a parameter, which Tacker fills in from the
    descriptor. One parameter is needed, because Tacker fails on a template without any; all other
    values are in the template already."""
    server = hot["resources"][tacker_hot.SERVER]
    flavor = {"get_param": ["nfv", "VDU", tacker_hot.SERVER, "computeFlavourId"]}
    filled = {**server, "properties": {**server["properties"], "flavor": flavor}}
    return {
        **hot,
        "parameters": {"nfv": {"type": "json"}},
        "resources": {**hot["resources"], tacker_hot.SERVER: filled},
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
            "name": tacker_hot.SERVER,
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
            "requirements": [{"virtual_binding": tacker_hot.SERVER}],
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
                tacker_hot.SERVER: vdu,
                **points,
            },
        },
    }


def _types(identity: Template) -> Template:
    """Return definitions of the types that the descriptor uses. The values of `identity` are
    defaults of the VNF's type, because TOSCA wants values without a default as inputs."""
    import yaml

    types: Template = yaml.safe_load(_TYPES.read_bytes())
    texts = {"type": "list", "entry_schema": {"type": "string"}}
    properties = {
        name: {**(texts if isinstance(value, list) else {"type": "string"}), "default": value}
        for name, value in identity.items()
    }
    # Tacker reads the properties of the type itself, not those that it inherits.
    for name, parent in (("tosca.nodes.nfv.VNF", "Root"), ("sfcperf.VNF", "nfv.VNF")):
        vnf = {"derived_from": f"tosca.nodes.{parent}", "properties": properties}
        types["node_types"][name] = vnf
    return types
