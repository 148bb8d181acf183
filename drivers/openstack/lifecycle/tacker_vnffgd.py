"""VNF forwarding graph descriptors: the SFP and its classifier for Tacker.

One path (FP.TackerV2) with an ACL policy, from which Tacker makes networking-sfc's port pairs,
groups, classifier and chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.drivers.openstack.lifecycle.tacker_vnfd import PROFILE, connection_point
from sfcperf.drivers.openstack.model.specs import EGRESS, INGRESS

_PROTOCOLS: Mapping[str, int] = {"icmp": 1, "tcp": 6, "udp": 17}
"""IANA's protocol numbers; Tacker's back-end knows no others."""

_ACL: Mapping[str, str] = {
    "source_ip_prefix": "ip_src_prefix",
    "destination_ip_prefix": "ip_dst_prefix",
    "logical_source_port": "network_src_port_id",
    "logical_destination_port": "network_dst_port_id",
}
"""networking-sfc's name of a field -> Tacker's, where their values are the same."""

_PATH, _GROUP = "Forwarding_path1", "VNFFG1"

Template = dict[str, Any]


def descriptor(
    vnfds: Sequence[str], classifier: Mapping[str, Any], *, name: str, symmetric: bool
) -> Template:
    """The descriptor of a chain through one VNF of each VNFD, in forward order.

    `classifier`: by the names of networking-sfc's API; `name`: its name there.
    """
    hops = [(vnfd, connection_point(port)) for vnfd in vnfds for port in (INGRESS, EGRESS)]
    points = sorted({point for _, point in hops})
    criterion = {"name": name, "classifier": criteria(classifier)}
    path = {
        "symmetrical": symmetric,
        "policy": {"type": "ACL", "criteria": [criterion]},
        "path": [
            {"forwarder": vnfd, "capability": point, "sfc_encap": False} for vnfd, point in hops
        ],
    }
    group = {
        "vendor": "SFCPerf",
        "version": "1.0",
        "number_of_endpoints": len(points),
        "dependent_virtual_link": ["VL_data"],
        "connection_point": points,
        "constituent_vnfs": list(vnfds),
    }
    return {
        "tosca_definitions_version": PROFILE,
        "description": f"service function path through {len(vnfds)} functions",
        "topology_template": {
            "node_templates": {_PATH: {"type": "tosca.nodes.nfv.FP.TackerV2", "properties": path}},
            "groups": {
                _GROUP: {"type": "tosca.groups.nfv.VNFFG", "properties": group, "members": [_PATH]}
            },
        },
    }


def criteria(classifier: Mapping[str, Any]) -> Template:
    """Translate a classifier of networking-sfc, IPv4, to the names of Tacker's ACLs."""
    found: Template = {
        theirs: classifier[ours] for ours, theirs in _ACL.items() if ours in classifier
    }
    if "protocol" in classifier:
        found["ip_proto"] = _PROTOCOLS[classifier["protocol"]]
    for side in ("source", "destination"):
        if f"{side}_port_range_min" in classifier:
            low, high = (classifier[f"{side}_port_range_{end}"] for end in ("min", "max"))
            found[f"{side}_port_range"] = f"{low}-{high}"
    return found
