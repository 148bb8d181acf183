"""Machines that Tacker made, as the driver knows them: by the names of server and ports."""

from __future__ import annotations

from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.lifecycle.base import Machine
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.network import ports
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import DeploymentError

FRESH = 1
"""How often a VNF that ends in ERROR is made anew."""


class TackerFailed(DeploymentError):
    """Tacker could not make something; the message has its reason."""


def machine(cloud: Cloud, plan: MachinePlan, made_s: float) -> Machine:
    """Raises TackerFailed when Tacker calls a machine ACTIVE that the cloud does not have."""
    own = {
        role: ports.port_of(_only(cloud, Kind.PORT, ports.port_name(plan.name, role)))
        for role in ports.roles(plan)
    }
    return Machine(plan, _only(cloud, Kind.SERVER, plan.name).id, own, made_s)


def _only(cloud: Cloud, kind: str, name: str) -> Any:
    found = operations.every(cloud, kind, name)
    if len(found) != 1:
        raise TackerFailed(
            f"Tacker calls the VNF active, but the cloud has {len(found)} of {kind} {name}",
            hint="does Tacker's VIM act in the project of clouds.yaml?",
        )
    return found[0]
