"""The Deployment, as probes and monitors see it, of a site on OpenStack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfcperf import plugins
from sfcperf.drivers.openstack.compute.guest import Guest
from sfcperf.drivers.openstack.model.specs import DATA, EGRESS, INGRESS
from sfcperf.drivers.openstack.scenario_deployment import Site
from sfcperf.management.deployment import Deployment, Endpoint, Hop, ServiceFunction
from sfcperf.vnfs.base import NetworkFunction
from sfcperf.workflow.model import FunctionSpec

Diagnostics = Mapping[str, Callable[[], Mapping[str, float]]]


def describe(identity: str, site: Site, diagnostics: Diagnostics) -> Deployment:
    """What was built, in the words of RFC 7665."""
    return Deployment(
        id=identity,
        client=_endpoint(site, "client", site.client),
        server=_endpoint(site, "server", site.server),
        functions=tuple(_function(site, spec) for spec in site.scenario.chain.functions),
        hops=_hops(site),
        meters={name: guest.meter for name, guest in site.guests.items()},
        encapsulation=str(site.chain.get("correlation") or "none"),
        facts=_facts(site),
        diagnostics=diagnostics,
    )


def _endpoint(site: Site, name: str, guest: Guest) -> Endpoint:
    spec = site.scenario.client if name == "client" else site.scenario.server
    interface, mtu = guest.interfaces[DATA], site.mtu
    if not guest.made:
        mtu = int(guest.host.read_text(f"/sys/class/net/{interface}/mtu"))
    return Endpoint(name, spec.node, guest.host, guest.port(DATA).address, interface, mtu)


def _function(site: Site, spec: FunctionSpec) -> ServiceFunction:
    guest, running = site.functions[spec.name], site.running[spec.name]
    return ServiceFunction(
        name=spec.name,
        vnf=spec.vnf,
        type=spec.type,
        position=spec.position,
        node=spec.node,
        host=guest.host,
        interfaces=(guest.interfaces[INGRESS], guest.interfaces[EGRESS]),
        nsh_aware=False,
        vcpus=tuple(range(min(spec.resources.vcpus, guest.vcpus))),
        counters=running.counters,
        alive=running.problem,
    )


def _hops(site: Site) -> tuple[Hop, ...]:
    """In forward order; the cloud's own ends of the ports are out of sight."""
    hops = [Hop("client", site.client.host, site.client.interfaces[DATA], inside=True)]
    for spec in site.scenario.chain.functions:
        guest = site.functions[spec.name]
        # As on an infrastructure where a type with one interface has one hop.
        kind: type[NetworkFunction] = plugins.load("vnf", spec.type)
        ingress = spec.name if kind.interfaces == 1 else f"{spec.name}-in"
        hops.append(Hop(ingress, guest.host, guest.interfaces[INGRESS], inside=True))
        hops.append(Hop(f"{spec.name}-out", guest.host, guest.interfaces[EGRESS], inside=True))
    hops.append(Hop("server", site.server.host, site.server.interfaces[DATA], inside=True))
    return tuple(hops)


def _facts(site: Site) -> Mapping[str, Any]:
    return {
        "mtu": site.mtu,
        "chain": dict(site.chain),
        "machines": {name: _machine(guest, site) for name, guest in site.guests.items()},
        "provided_tools": {name: tools for name, tools in site.carried.items() if tools},
        "functions": {name: dict(r.facts()) for name, r in site.running.items() if r.facts()},
    }


def _machine(guest: Guest, site: Site) -> Mapping[str, Any]:
    shape = guest.machine.plan.shape
    image = site.images.get(shape.image, {})
    return {
        "name": guest.name,
        "server": guest.machine.server_id,
        "image": shape.image,
        "image_id": image.get("id"),
        "image_hash": image.get("hash"),
        "flavor": shape.flavor,
        "vcpus": guest.vcpus,
        "memory_mib": guest.memory_mib,
        "hypervisor": shape.hypervisor,
        "active_after_s": round(guest.machine.made_s, 3),
        "reachable_after_s": round(guest.machine.made_s + guest.booted_s, 3),
        "interfaces": dict(guest.interfaces),
    }
