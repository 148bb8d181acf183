"""Machines that a scenario needs: from the workflow, the VNFDs and the configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import ExistingMachine, MachineSpec
from sfcperf.drivers.openstack.model.user_data import mime_subtype
from sfcperf.drivers.openstack.planning.endpoint_options import options_of
from sfcperf.errors import WorkflowError
from sfcperf.vnfs.base import function_type
from sfcperf.workflow.model import EndpointSpec, FunctionSpec, Resources, Scenario
from sfcperf.workflow.vnfd import Descriptor, read_descriptor

ENDPOINT_RESOURCES = Resources(vcpus=1, memory_mib=256)
"""Resources of an endpoint for which the workflow sets none."""
# Stands in for resources where the named flavor alone sets the size of a machine.
SIZE_OF_FLAVOR = Resources(vcpus=0, memory_mib=0)


@dataclass(frozen=True)
class ScenarioMachines:
    """The machines that one scenario needs."""

    client: MachineSpec | ExistingMachine
    server: MachineSpec | ExistingMachine
    functions: tuple[MachineSpec, ...]
    """Specs of the functions' machines, in forward order."""
    addresses: tuple[str | None, str | None] = (None, None)
    """IPv4 addresses of client and server; None where the workflow sets none."""

    @property
    def existing(self) -> tuple[ExistingMachine, ...]:
        """Endpoints that the run does not make."""
        return tuple(e for e in (self.client, self.server) if isinstance(e, ExistingMachine))

    @property
    def specs(self) -> tuple[MachineSpec, ...]:
        """Specs of the machines that the run makes: client, server, functions."""
        ends = (self.client, self.server)
        return (*(end for end in ends if isinstance(end, MachineSpec)), *self.functions)


def scenario_machines(scenario: Scenario, config: Config) -> ScenarioMachines:
    """Return the machines that a scenario needs. Raises WorkflowError if no image is known for
    one."""
    return ScenarioMachines(
        _endpoint(scenario.client, config),
        _endpoint(scenario.server, config),
        tuple(_function(spec, config) for spec in scenario.chain.functions),
        (scenario.client.address, scenario.server.address),
    )


def _endpoint(spec: EndpointSpec, config: Config) -> MachineSpec | ExistingMachine:
    """Return the existing machine of an endpoint, or the spec of its VM. Resources that the
    workflow sets are a minimum. If it sets none, a named flavor alone sets the size, and without
    one ENDPOINT_RESOURCES are the minimum. Raises WorkflowError if no image is set."""
    options = options_of(spec)
    if options.machine is not None:
        return options.machine
    image = options.image or config.image
    if image is None:
        raise WorkflowError(
            f"no image is set for the {spec.name}'s VM",
            where="/infrastructure/config",
            hint=f'set "image" there, or /endpoints/{spec.name}/options/image',
        )
    flavor = options.flavor or config.flavor
    resources = spec.resources or (ENDPOINT_RESOURCES if flavor is None else SIZE_OF_FLAVOR)
    return MachineSpec(
        role="endpoint",
        vnf=spec.name,
        type="endpoint",
        image=image,
        flavor=flavor,
        vcpus=resources.vcpus,
        memory_mib=resources.memory_mib,
        hypervisor=config.hosts.get(spec.node),
        vnfd=None,
        overlay=config.overlay,
    )


def _function(spec: FunctionSpec, config: Config) -> MachineSpec:
    """Return the spec of a function's machine. Resources that the workflow sets are a minimum; if
    it sets none, a flavor alone sets the size."""
    kind = function_type(spec)
    vnfd = spec.vnfd or kind.own_descriptor()
    descriptor = Descriptor(None, None) if vnfd is None else read_descriptor(vnfd)
    image = config.image or descriptor.image
    default = Resources()
    vnfd_size = Resources(
        descriptor.vcpus or default.vcpus, descriptor.memory_mib or default.memory_mib
    )
    # `spec.resources` are those of the workflow, or of the descriptor where the workflow sets none.
    # So they differ from the descriptor's only if the workflow overrides these.
    workflow_sets_size = spec.resources != vnfd_size
    sized_by_vnfd = config.flavor is None and not workflow_sets_size
    flavor = descriptor.flavor if sized_by_vnfd else config.flavor
    resources = spec.resources if workflow_sets_size or flavor is None else SIZE_OF_FLAVOR
    # Whether this machine takes the field from the descriptor.
    used = {"user_data": True, "flavor": sized_by_vnfd, "image": config.image is None}
    _check_descriptor(descriptor, used, f"/vnfs/{spec.vnf}/vnfd", vnfd)
    if image is None:
        raise WorkflowError(
            f"no image is set for the VMs of {spec.vnf}",
            where=f"/vnfs/{spec.vnf}",
            hint="set /infrastructure/config/image, or give it a VNFD with an image artifact",
        )
    return MachineSpec(
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
        overlay=config.overlay,
    )


def _check_descriptor(
    descriptor: Descriptor, used: Mapping[str, bool], where: str, vnfd: Path | None
) -> None:
    """Raises WorkflowError for a field that is used but has no fixed value, and for user data of an
    unknown format. `used`: field -> whether the machine takes it from the descriptor. Sizes are
    checked when the workflow is loaded."""
    for field in sorted(descriptor.left_open & used.keys()):
        if used[field]:
            raise WorkflowError(
                f"the VNF descriptor {vnfd} does not set a fixed {field}",
                where=where,
                allowed="a fixed value, no input and no file of a package",
            )
    if descriptor.user_data is not None and mime_subtype(descriptor.user_data) is None:
        raise WorkflowError(
            f"the VNF descriptor {vnfd} has user data of an unknown format",
            where=where,
            allowed='a script ("#!/bin/sh" ...) or "#cloud-config" ...',
        )


def most_machines(scenarios: Iterable[ScenarioMachines]) -> dict[MachineSpec, int]:
    """Spec -> how many such machines a run over these scenarios has at the same time: they are
    kept from one scenario to the next. Endpoints of another address are other machines."""
    kept: Counter[tuple[MachineSpec, str | None]] = Counter()
    for machines in scenarios:
        ends = zip((machines.client, machines.server), machines.addresses, strict=True)
        # The larger count of each machine: those that are there are used again.
        kept |= Counter(
            [
                *((end, address) for end, address in ends if isinstance(end, MachineSpec)),
                *((spec, None) for spec in machines.functions),
            ]
        )
    most: Counter[MachineSpec] = Counter()
    for (spec, _), count in kept.items():
        most[spec] += count
    return most
