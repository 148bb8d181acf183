"""What a project of a cloud has, for tests that must leave it as it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Inventory = Mapping[str, Mapping[str, str]]
"""Kind of thing: id (of a key pair: its name), and words for it."""

SETTLES_WITHIN_S = 20.0


def inventory(cloud: Any) -> Inventory:
    """Everything that the driver may make, in the project of the connection."""
    network, project = cloud.network, cloud.current_project_id
    # What is shared is of others, and ports of the cloud's own (DHCP, routers) come and go.
    ports = (p for p in network.ports(project_id=project) if not _is_of_the_cloud(p))
    return {
        "servers": _named(cloud.compute.servers(details=False)),
        "ports": _named(ports),
        "networks": _named(network.networks(project_id=project)),
        "subnets": _named(network.subnets(project_id=project)),
        "routers": _named(network.routers(project_id=project)),
        "floating addresses": _named(network.ips(project_id=project)),
        "port chains": _named(network.sfc_port_chains(project_id=project)),
        "port pair groups": _named(network.sfc_port_pair_groups(project_id=project)),
        "port pairs": _named(network.sfc_port_pairs(project_id=project)),
        "flow classifiers": _named(network.sfc_flow_classifiers(project_id=project)),
        "security groups": _named(network.security_groups(project_id=project)),
        "key pairs": _named(cloud.compute.keypairs()),
        "flavors": _named(cloud.compute.flavors()),
        "stacks": _named(cloud.orchestration.stacks()),
        **_of_tacker(cloud),
    }


def left_over(before: Inventory, now: Inventory) -> dict[str, list[str]]:
    """What is there now and was not before, kind by kind."""
    new = {
        kind: sorted(words for key, words in things.items() if key not in before[kind])
        for kind, things in now.items()
    }
    return {kind: words for kind, words in new.items() if words}


def settled(before: Inventory, take: Callable[[], Inventory]) -> dict[str, list[str]]:
    """What is left over, after a while for deletions that were asked for and go on."""
    deadline = time.monotonic() + SETTLES_WITHIN_S
    while (left := left_over(before, take())) and time.monotonic() < deadline:
        time.sleep(0.5)
    return left


def _named(things: Iterable[Any]) -> dict[str, str]:
    return {thing.id or thing.name: f"{thing.name or '(no name)'} ({thing.id})" for thing in things}


def _is_of_the_cloud(port: Any) -> bool:
    return str(port.device_owner).startswith(("network:dhcp", "network:router", "network:ha"))


def _of_tacker(cloud: Any) -> dict[str, dict[str, str]]:
    """By plain requests: openstacksdk has no calls for Tacker."""
    url = cloud.session.get_endpoint(service_type="nfv-orchestration")
    if not url:
        return {}
    found = {}
    for kind in ("vnffgs", "vnffgds", "vnfs", "vnfds", "vims"):
        answer = cloud.session.get(f"{url.rstrip('/')}/v1.0/{kind}").json()
        found[f"Tacker's {kind}"] = {
            one["id"]: f"{one['name']} ({one['id']})" for one in answer[kind]
        }
    for kind, path in (
        ("vnf instances", "vnflcm/v1/vnf_instances"),
        ("vnf packages", "vnfpkgm/v1/vnf_packages"),
    ):
        answer = cloud.session.get(f"{url.rstrip('/')}/{path}").json()
        listed = answer if isinstance(answer, list) else answer[kind.replace(" ", "_")]
        found[f"Tacker's {kind}"] = {one["id"]: one["id"] for one in listed}
    return found
