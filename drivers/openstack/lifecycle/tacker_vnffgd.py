"""VNF forwarding graph descriptors: the SFP and its classifier in Tacker's words.

One path (FP.TackerV2) with an ACL policy, from which Tacker makes networking-sfc's port pairs,
groups, classifier and chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.drivers.openstack.lifecycle.tacker_vnfd import PROFILE, connection_point
from sfcperf.drivers.openstack.plan import EGRESS, INGRESS
from sfcperf.workflow.model import Match

_PROTOCOLS: Mapping[str, int] = {"icmp": 1, "tcp": 6, "udp": 17}
"""IANA's protocol numbers; Tacker's back-end knows no others."""

_PATH, _GROUP = "Forwarding_path1", "VNFFG1"

Template = dict[str, Any]


def descriptor(
    vnfds: Sequence[str],
    match: Match,
    *,
    classifier: str,
    client_port: str,
    server_port: str,
    symmetric: bool,
) -> Template:
    """The descriptor of a chain through one VNF of each VNFD, in forward order.

    `classifier`: name that it gets in neutron; ports: ids in neutron of the endpoints' ports.
    """
    hops = [(vnfd, connection_point(port)) for vnfd in vnfds for port in (INGRESS, EGRESS)]
    points = sorted({point for _, point in hops})
    replies_of = server_port if symmetric else None
    criterion = {"name": classifier, "classifier": criteria(match, client_port, replies_of)}
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
                _GROUP: {
                    "type": "tosca.groups.nfv.VNFFG",
                    "properties": group,
                    "members": [_PATH],
                }
            },
        },
    }


def criteria(match: Match, client_port: str, server_port: str | None) -> Template:
    """What matches, in the words of Tacker's ACLs. By the server's port a symmetric chain
    recognises replies; None: they bypass it."""
    found: Template = {"network_src_port_id": client_port}
    if server_port is not None:
        found["network_dst_port_id"] = server_port
    if match.ip_proto != "any":
        found["ip_proto"] = _PROTOCOLS[match.ip_proto]
    if match.source is not None:
        found["ip_src_prefix"] = match.source
    if match.destination is not None:
        found["ip_dst_prefix"] = match.destination
    if match.source_port is not None:
        found["source_port_range"] = f"{match.source_port}-{match.source_port}"
    if match.destination_port is not None:
        found["destination_port_range"] = f"{match.destination_port}-{match.destination_port}"
    return found
