"""VNFs by Tacker's legacy API: a VNFD and a VNF for each machine.

Tacker maps a VNFD to one VNF of a forwarding graph, so machines of the same type need descriptors
of their own.
"""

from __future__ import annotations

from sfcperf.drivers.openstack.compute.flavors import Placement
from sfcperf.drivers.openstack.lifecycle import tacker_vnfd
from sfcperf.drivers.openstack.lifecycle.tacker_vnfs import TackerVnfs, await_active
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.drivers.openstack.resources.operations import create_in_tacker


class LegacyVnfs(TackerVnfs):
    """The stack of each VNF has the VNF's name, so that it is found even if Tacker forgets it."""

    kinds = (Kind.VNF, Kind.VNFD, Kind.STACK)

    def document(
        self, plan: MachinePlan, networks: RunNetworks, place: Placement
    ) -> tacker_vnfd.Template:
        """See TackerVnfs.document."""
        return tacker_vnfd.translated(plan, networks, place)

    def onboard(self, name: str, document: tacker_vnfd.Template) -> str:
        """See TackerVnfs.onboard."""
        attributes = {"vnfd": document}
        return create_in_tacker(self.server, Kind.VNFD, name, attributes=attributes).id

    def instantiate(self, name: str, descriptor: str, vim: str) -> None:
        """See TackerVnfs.instantiate."""
        fields = {"vnfd_id": descriptor, "vim_id": vim, "attributes": {"stack_name": name}}
        create_in_tacker(self.server, Kind.VNF, name, **fields)
        timeout_s = self.context.config.boot_timeout_s
        await_active(self.server, Kind.VNF, name, timeout_s, "Tacker gives no reason")
