"""The Deployment, as probes and monitors see it, of a ScenarioDeployment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sfcperf.drivers.openstack.compute.diagnostics import Diagnostics
from sfcperf.drivers.openstack.compute.guest import Guest
from sfcperf.drivers.openstack.scenario_deployment import ScenarioDeployment
from sfcperf.management.deployment import Deployment, Endpoint, Hop, ServiceFunction
from sfcperf.vnfs.base import function_type
from sfcperf.workflow.model import EndpointSpec, FunctionSpec


def describe(identity: str, deployed: ScenarioDeployment, diagnostics: Diagnostics) -> Deployment:
    """Return what was built, in the terms of RFC 7665."""
    return Deployment(
        id=identity,
        client=_endpoint(deployed, deployed.scenario.client, deployed.client),
        server=_endpoint(deployed, deployed.scenario.server, deployed.server),
        functions=tuple(_function(deployed, spec) for spec in deployed.scenario.chain.functions),
        hops=_hops(deployed),
        meters={name: guest.meter for name, guest in deployed.guests.items()},
        encapsulation=deployed.encapsulation,
        facts=_facts(deployed),
        diagnostics=diagnostics,
        sffs={f"sff@{name}": sff for name, sff in deployed.sffs.items()},
        unparsed=deployed.unparsed,
        show_packets=deployed.show_packets,
    )


def _endpoint(deployed: ScenarioDeployment, spec: EndpointSpec, guest: Guest) -> Endpoint:
    interface, mtu = deployed.endpoint_interface(spec.name), deployed.config.mtu
    # The run does not set the MTU of a machine that it did not make.
    if not guest.made:
        mtu = guest.mtu(interface.name)
    return Endpoint(spec.name, spec.node, guest.host, interface.address, interface.name, mtu)


def _function(deployed: ScenarioDeployment, spec: FunctionSpec) -> ServiceFunction:
    guest = deployed.functions[spec.name]
    vcpus = tuple(range(min(spec.resources.vcpus, guest.vcpus)))
    connector, running = deployed.at_ports.get(spec.name), deployed.running[spec.name]
    described = running.described(
        spec,
        guest.host,
        deployed.interfaces(spec.name),
        vcpus,
        nsh_aware=deployed.gets_nsh(spec.name),
    )
    if connector is None:
        return described
    return replace(described, alive=lambda: running.problem() or connector.problem())


def _hops(deployed: ScenarioDeployment) -> tuple[Hop, ...]:
    """Return the hops in forward order."""

    def crossed(instance: str, names: Sequence[str], own: Sequence[str]) -> Iterator[Hop]:
        """Yield the hops at one instance, whose interfaces are `own`. They are the ports of an SFF
        in its guest, or else these interfaces, because the cloud's ends of them are not visible."""
        ports = deployed.sff_ports(instance)
        for name, interface in zip(names, ports or own, strict=False):
            yield Hop(name, deployed.guests[instance].host, interface, inside=not ports)

    hops = [*crossed("client", ["client"], [deployed.endpoint_interface("client").name])]
    for spec in deployed.scenario.chain.functions:
        # The ingress of a type with one interface has the same name on all infrastructures.
        kind = function_type(spec)
        ingress = spec.name if kind.interfaces == 1 else f"{spec.name}-in"
        own = deployed.interfaces(spec.name)
        hops += crossed(spec.name, [ingress, f"{spec.name}-out"], own)
    hops += crossed("server", ["server"], [deployed.endpoint_interface("server").name])
    return tuple(hops)


def _facts(deployed: ScenarioDeployment) -> Mapping[str, Any]:
    """Return the facts for Deployment.facts."""
    return {
        "mtu": deployed.config.mtu,
        "chain": dict(deployed.chain),
        "machines": {name: _machine(guest, deployed) for name, guest in deployed.guests.items()},
        "provided_tools": {name: tools for name, tools in deployed.carried.items() if tools},
        "functions": {name: dict(r.facts()) for name, r in deployed.running.items() if r.facts()},
        **deployed.facts(),
    }


def _machine(guest: Guest, deployed: ScenarioDeployment) -> Mapping[str, Any]:
    """Return the facts about one machine. Of an existing machine some are unknown: they are empty
    or None, and its times are 0."""
    spec = guest.machine.plan.spec
    image = deployed.images.get(spec.image, {})
    return {
        "name": guest.name,
        "server": guest.machine.server_id,
        "image": spec.image,
        "image_id": image.get("id"),
        "image_hash": image.get("hash"),
        "flavor": spec.flavor,
        "vcpus": guest.vcpus,
        "memory_mib": guest.memory_mib,
        "hypervisor": spec.hypervisor,
        "active_after_s": round(guest.machine.made_s, 3),
        "reachable_after_s": round(guest.machine.made_s + guest.booted_s, 3),
        "interfaces": dict(guest.interfaces),
    }
