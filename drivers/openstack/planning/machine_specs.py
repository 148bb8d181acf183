"""Shapes of the machines that a scenario needs: from the workflow, the VNFDs, the configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfcperf import plugins
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import Shape
from sfcperf.drivers.openstack.model.user_data import subtype
from sfcperf.drivers.openstack.planning.endpoint_options import Standing, options_of
from sfcperf.errors import WorkflowError
from sfcperf.vnfs.base import NetworkFunction
from sfcperf.workflow.model import EndpointSpec, FunctionSpec, Resources, Scenario
from sfcperf.workflow.vnfd import Descriptor, read_descriptor

ENDPOINT_RESOURCES = Resources(vcpus=1, memory_mib=256)
"""Of an endpoint for which the workflow asks nothing."""
AS_THE_FLAVOR = Resources(vcpus=0, memory_mib=0)


@dataclass(frozen=True)
class Needs:
    """Machines of one scenario."""

    client: Shape | Standing
    server: Shape | Standing
    functions: tuple[Shape, ...]
    """In forward order."""
    addresses: tuple[str | None, str | None] = (None, None)
    """Of client and server, where the workflow names them."""

    @property
    def standing(self) -> tuple[Standing, ...]:
        """Those that are there already."""
        return tuple(e for e in (self.client, self.server) if isinstance(e, Standing))

    @property
    def machines(self) -> tuple[Shape, ...]:
        """Those that are made, in this order."""
        ends = (self.client, self.server)
        return (*(end for end in ends if isinstance(end, Shape)), *self.functions)


def needs(scenario: Scenario, config: Config) -> Needs:
    """Raises WorkflowError when it is not said from which image a machine is made."""
    return Needs(
        _endpoint(scenario.client, config),
        _endpoint(scenario.server, config),
        tuple(_function(spec, config) for spec in scenario.chain.functions),
        (scenario.client.address, scenario.server.address),
    )


def _endpoint(spec: EndpointSpec, config: Config) -> Shape | Standing:
    options = options_of(spec)
    if options.machine is not None:
        return options.machine
    image = options.image or config.image
    if image is None:
        raise WorkflowError(
            f"it is not said from which image the {spec.name}'s VM is made",
            where="/infrastructure/config",
            hint=f'set "image" there, or /endpoints/{spec.name}/options/image',
        )
    flavor = options.flavor or config.flavor
    resources = spec.resources or (ENDPOINT_RESOURCES if flavor is None else AS_THE_FLAVOR)
    return Shape(
        role="endpoint",
        vnf=spec.name,
        type="endpoint",
        image=image,
        flavor=flavor,
        vcpus=resources.vcpus,
        memory_mib=resources.memory_mib,
        hypervisor=config.hosts.get(spec.node),
        vnfd=None,
    )


def _function(spec: FunctionSpec, config: Config) -> Shape:
    vnfd = descriptor_of(spec)
    descriptor = read_descriptor(vnfd)
    image = config.image or descriptor.image
    default = Resources()
    own_size = Resources(
        descriptor.vcpus or default.vcpus, descriptor.memory_mib or default.memory_mib
    )
    # Resources that the workflow asks for go before what the descriptor does.
    asked = spec.resources != own_size
    sized_by_it = config.flavor is None and not asked
    flavor = descriptor.flavor if sized_by_it else config.flavor
    resources = spec.resources if asked or flavor is None else AS_THE_FLAVOR
    wanted = {"user_data": True, "flavor": sized_by_it, "image": config.image is None}
    _check_descriptor(descriptor, wanted, f"/vnfs/{spec.vnf}/vnfd", vnfd)
    if image is None:
        raise WorkflowError(
            f"it is not said from which image the VMs of {spec.vnf} are made",
            where=f"/vnfs/{spec.vnf}",
            hint="set /infrastructure/config/image, or give its VNFD an image artifact",
        )
    return Shape(
        role="function",
        vnf=spec.vnf,
        type=spec.type,
        image=image,
        flavor=flavor,
        vcpus=resources.vcpus,
        memory_mib=resources.memory_mib,
        hypervisor=config.hosts.get(spec.node),
        vnfd=vnfd,
        user_data=descriptor.user_data,
    )


def _check_descriptor(
    descriptor: Descriptor, wanted: Mapping[str, bool], where: str, vnfd: Path
) -> None:
    """Raises WorkflowError for what is wanted of it and cannot be known."""
    for field in sorted(descriptor.left_open):
        if wanted[field]:
            raise WorkflowError(
                f"the VNF descriptor {vnfd} leaves its {field} open",
                where=where,
                allowed="a text; an input, or a file of a package, is not known here",
            )
    if descriptor.user_data is not None and subtype(descriptor.user_data) is None:
        raise WorkflowError(
            f"the VNF descriptor {vnfd} has user data of an unknown format",
            where=where,
            allowed='a script ("#!/bin/sh" ...) or "#cloud-config" ...',
        )


def descriptor_of(spec: FunctionSpec) -> Path:
    """The user's VNFD, or that of the type."""
    kind: type[NetworkFunction] = plugins.load("vnf", spec.type)
    return spec.vnfd or kind.folder / "vnfd.yaml"


def most(scenarios: Iterable[Needs]) -> dict[Shape, int]:
    """Shape -> machines of it that a run over these scenarios has at the same time: they are kept
    from one scenario to the next."""
    kept: dict[tuple[Shape, str | None], int] = {}
    for each in scenarios:
        ends = zip((each.client, each.server), each.addresses, strict=True)
        asked: list[tuple[Shape, str | None]] = [
            (end, address) for end, address in ends if isinstance(end, Shape)
        ]
        asked += [(shape, None) for shape in each.functions]
        for one in set(asked):
            kept[one] = max(kept.get(one, 0), asked.count(one))
    found: dict[Shape, int] = {}
    for (shape, _), count in kept.items():
        found[shape] = found.get(shape, 0) + count
    return found
