"""LifecycleContext: the cloud and the journal of a run, and the kinds of resources in the journal.

Each resource is found again by its name, which carries the run's tag; `detail` of its journal entry
says which cloud it is in (`cloud`: name in clouds.yaml, null for that of the environment).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from sfcperf.drivers.base import Journal, Resource
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import ResourceNames


class Kind(StrEnum):
    """Kinds of resources, in the order of removal: a resource is removed after those that use
    it."""

    VNFFG = "vnffg"
    VNFFGD = "vnffgd"
    VNF = "vnf"
    VNFD = "vnfd"
    VNF_INSTANCE = "vnf-instance"
    VNF_PACKAGE = "vnf-package"
    VIM = "vim"
    STACK = "stack"
    CHAIN = "port-chain"
    CLASSIFIER = "flow-classifier"
    PAIR_GROUP = "port-pair-group"
    PAIR = "port-pair"
    SERVER = "server"
    FLOATING_IP = "floating-ip"
    ROUTER = "router"
    PORT = "port"
    SUBNET = "subnet"
    NETWORK = "network"
    SECURITY_GROUP = "security-group"
    KEYPAIR = "keypair"
    FLAVOR = "flavor"
    WORKDIR = "workdir"
    """A folder on a machine that the run did not make; `detail` says how to reach it."""


NamedResource = tuple[Kind, str]


@dataclass(frozen=True)
class LifecycleContext:
    """The cloud and the journal of one run."""

    cloud: Cloud
    config: Config
    names: ResourceNames
    journal: Journal

    def entries(self, resources: Iterable[NamedResource]) -> list[Resource]:
        """Return the resources as the journal has them."""
        detail = self.cloud.detail
        return [Resource(kind, name, detail) for kind, name in resources]

    def intend(self, resources: Iterable[NamedResource]) -> None:
        """Journal the resources before they are made."""
        self.journal.intend(self.entries(resources))
