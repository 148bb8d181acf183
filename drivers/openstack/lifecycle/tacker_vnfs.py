"""TackerVnfs: functions made as VNFs, by either of Tacker's APIs; LegacyVnfs, by the legacy one."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.compute.flavors import Flavors, Placement, placement
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.lifecycle import tacker_vim, tacker_vnfd
from sfcperf.drivers.openstack.lifecycle.base import machine_resources
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.network.ports import port_of
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext, NamedResource
from sfcperf.drivers.openstack.resources.tacker_objects import TackerObject
from sfcperf.drivers.parallel import each
from sfcperf.errors import DeploymentError

REPLACEMENTS = 1
"""How often a VNF that ends in ERROR is replaced."""
REMOVAL_TIMEOUT_S = 300.0


class TackerFailed(DeploymentError):
    """Tacker could not make something; the message has its reason."""


class TackerVnfs(ABC):
    """Functions of a run as VNFs; each has the name of its machine.

    TackerLifecycle makes one when it needs it, and calls `make` or `made_resources`. `make` calls,
    for each machine, `document`, `onboard` and `instantiate`, which subclasses define by the API
    that they use.
    """

    kinds: ClassVar[tuple[Kind, ...]]
    """Kind of the VNF, then the kinds of what else Tacker needs under the machine's name."""

    def __init__(self, context: LifecycleContext, flavors: Flavors) -> None:
        self.context = context
        self.flavors = flavors
        self.server = TackerServer(context.cloud)

    def make(self, plans: Sequence[MachinePlan], networks: RunNetworks) -> list[Machine]:
        """Make the VNFs of all plans at the same time. Raises DeploymentError with Tacker's
        reason."""
        documents = {
            plan.name: self.document(
                plan, networks, placement(self.context, self.flavors, plan.spec)
            )
            for plan in plans
        }
        vim = tacker_vim.ensure_vim(self.server, self.context)
        self.context.intend(resource for plan in plans for resource in self.resources(plan))
        return each(*(partial(self._make, plan, documents[plan.name], vim) for plan in plans))

    def resources(self, plan: MachinePlan) -> list[NamedResource]:
        """Return all resources of a machine, in Tacker and, through heat, in the cloud."""
        return [*((kind, plan.name) for kind in self.kinds), *machine_resources(plan)]

    def made_resources(self, plan: MachinePlan) -> list[NamedResource]:
        """Return `resources`, and those whose names Tacker chose; there are none of the latter by
        default."""
        return self.resources(plan)

    @abstractmethod
    def document(self, plan: MachinePlan, networks: RunNetworks, place: Placement) -> Any:
        """Return what Tacker makes the VNF from. Raises InputError if it cannot."""

    @abstractmethod
    def onboard(self, name: str, document: Any) -> str:
        """Hand the document over to Tacker, and return the id of the descriptor there."""

    @abstractmethod
    def instantiate(self, name: str, descriptor: str, vim: str) -> None:
        """Make the VNF `name` of the descriptor with this id, in the VIM with this id, and return
        when it is active. Raises TackerFailed."""

    def _make(self, plan: MachinePlan, document: Any, vim: str) -> Machine:
        """Make the VNF of one machine, once more if it fails, and find the server and ports that
        Tacker made for it."""
        cloud, name = self.context.cloud, plan.name
        started = time.monotonic()
        descriptor = self.onboard(name, document)
        for attempt in range(REPLACEMENTS + 1):
            try:
                self.instantiate(name, descriptor, vim)
                break
            except TackerFailed as error:
                if attempt == REPLACEMENTS:
                    raise
                cloud.log(f"openstack: {error.message}; making a new one")
                # The VNF alone is removed: its descriptor serves for the new one.
                operations.await_removal(cloud, self.kinds[0], name, REMOVAL_TIMEOUT_S)
        made_s = time.monotonic() - started
        ports = {
            port: port_of(_only(cloud, Kind.PORT, plan.port_name(port))) for port in plan.spec.ports
        }
        return Machine(plan, _only(cloud, Kind.SERVER, name).id, ports, made_s)


class LegacyVnfs(TackerVnfs):
    """VNFs of Tacker's legacy API: a VNFD and a VNF for each machine, because Tacker maps a VNFD to
    one VNF of a forwarding graph. The stack of each VNF has the VNF's name, so that it is found
    even if Tacker forgets the VNF."""

    kinds = (Kind.VNF, Kind.VNFD, Kind.STACK)

    def document(
        self, plan: MachinePlan, networks: RunNetworks, place: Placement
    ) -> tacker_vnfd.Template:
        """Translate the machine's TOSCA descriptor to Tacker's profile. Raises InputError for
        several VDUs or parts that Tacker does not know."""
        return tacker_vnfd.translated(plan, networks, place)

    def onboard(self, name: str, document: tacker_vnfd.Template) -> str:
        """Create a VNFD from the translated descriptor and return its id."""
        attributes = {"vnfd": document}
        return operations.create_in_tacker(self.server, Kind.VNFD, name, attributes=attributes).id

    def instantiate(self, name: str, descriptor: str, vim: str) -> None:
        """Create a VNF whose stack has the VNF's name, and wait until it is ACTIVE. Raises
        TackerFailed."""
        fields = {"vnfd_id": descriptor, "vim_id": vim, "attributes": {"stack_name": name}}
        operations.create_in_tacker(self.server, Kind.VNF, name, **fields)
        timeout_s = self.context.config.boot_timeout_s
        await_active(self.server, Kind.VNF, name, timeout_s, "Tacker gives no reason")


def await_active(
    server: TackerServer, kind: Kind, name: str, timeout_s: float, no_reason: str
) -> None:
    """Wait until a VNF or VNFFG is ACTIVE. Raises TackerFailed with Tacker's reason, or
    `no_reason`."""
    what = f"{kind.upper()} {name}"

    def look() -> bool | None:
        found = operations.first(server.cloud, kind, name)
        if found is None:
            raise TackerFailed(f"{what} disappeared while sfcperf waited for it")
        if found.status in ("ERROR", "DEAD"):
            # Lists cut reasons off after 100 characters, so the whole object is asked for.
            whole = server.call(
                f"asking why {what} failed",
                lambda client: getattr(client, f"show_{kind}")(found.id)[kind],
            )
            reason = TackerObject.of(whole).reason or no_reason
            raise TackerFailed(f"{what} is {found.status}: {reason}")
        return True if found.status == "ACTIVE" else None

    server.cloud.wait(f"waiting for {what}", look, timeout_s)


def _only(cloud: Cloud, kind: Kind, name: str) -> Any:
    """Return the one resource of this name. Raises TackerFailed if there is none, or more than
    one."""
    found = operations.find(cloud, kind, name)
    if len(found) != 1:
        raise TackerFailed(
            f"Tacker calls the VNF active, but the cloud has {len(found)} of {kind} {name}",
            hint="does Tacker's VIM act in the project of clouds.yaml?",
        )
    return found[0]
