"""The Deployment, as probes and monitors see it, of a site that stands."""

from __future__ import annotations

from sfcperf.drivers.local.build import Site
from sfcperf.drivers.local.layout import FunctionLayout, Port
from sfcperf.management.deployment import Deployment, Endpoint, Hop, ServiceFunction


def describe(identity: str, site: Site) -> Deployment:
    """What was built, in the words of RFC 7665."""
    layout = site.layout
    return Deployment(
        id=identity,
        client=_endpoint(site, layout.client),
        server=_endpoint(site, layout.server),
        functions=tuple(_function(site, function) for function in layout.functions),
        hops=tuple(_hops(site)),
        meters=dict(site.groups),
        encapsulation=layout.encapsulation,
        facts=site.facts(),
    )


def _endpoint(site: Site, port: Port) -> Endpoint:
    if port.address is None:
        raise AssertionError("an endpoint has an address")
    mtu = int(site.context.config["mtu"])
    host = site.hosts[port.instance]
    return Endpoint(port.instance, port.node, host, port.address, port.inner, mtu)


def _function(site: Site, function: FunctionLayout) -> ServiceFunction:
    spec = function.spec
    running = site.running[spec.name]
    return ServiceFunction(
        name=spec.name,
        vnf=spec.vnf,
        type=spec.type,
        position=spec.position,
        node=spec.node,
        host=site.hosts[spec.name],
        interfaces=tuple(port.inner for port in function.ports),
        nsh_aware=function.type.nsh_aware,
        vcpus=site.cpus.assigned[spec.name],
        counters=running.counters,
        alive=running.problem,
    )


def _hops(site: Site) -> list[Hop]:
    """In forward order: client, each SF's attachments, server; then the links."""
    layout = site.layout
    ports = [layout.client, *(p for f in layout.functions for p in f.ports), layout.server]
    hops = [Hop(port.outer, site.hosts[f"sff@{port.node}"], port.outer) for port in ports]
    for link in layout.links:
        first, second = link.nodes
        hops.append(Hop(f"{first}-{second}", site.hosts[f"sff@{first}"], link.interfaces[0]))
    return hops
