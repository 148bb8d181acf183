"""The chain as a VNF forwarding graph of Tacker's legacy API.

Tacker can update a graph, but finds its parts by the part of a VNF's name before the first hyphen;
so another chain is another graph, which takes about as long.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.cleanup.journal_cleanup import remove_journaled
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.lifecycle import chaining, tacker_vnffgd
from sfcperf.drivers.openstack.lifecycle.tacker_vnfs import TackerFailed, await_active
from sfcperf.drivers.openstack.model.specs import ChainPlan
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext, NamedResource

TIMEOUT_S = 120.0

_KINDS = (Kind.VNFFG, Kind.VNFFGD, Kind.CHAIN, Kind.CLASSIFIER)
_GROUP, _PAIR = "-port-pair-group", "-connection-points"
"""What Tacker appends to a VNF's name in neutron."""


class ForwardingGraph:
    """The run's forwarding graph: at most one at a time."""

    def __init__(self, context: LifecycleContext) -> None:
        self.context = context
        self.server = TackerServer(context.cloud)

    def create(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """Make the graph for this chain, unless it exists, and return facts for the results. An
        earlier graph is removed before.

        If it raises DeploymentError, nothing of the graph is left.
        """
        classifier = chaining.classifier_of(plan, machines)
        descriptor = tacker_vnffgd.descriptor(
            plan.functions, classifier, name=self._classifier, symmetric=plan.symmetric
        )
        # The name follows from the content, so that a descriptor which exists under this name is
        # the same.
        digest = hashlib.sha256(json.dumps(descriptor, sort_keys=True).encode()).hexdigest()
        name = self.context.names.of(f"graph-{digest[:8]}")
        if not any(each.kind == Kind.VNFFG and each.name == name for each in self._journaled()):
            self.remove()
            self.context.intend(self._resources(name, plan.functions))
        try:
            self._make(name, descriptor, plan)
            return self._facts(name, plan, classifier)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the graph, and what Tacker leaves in neutron when it fails half-way. Harmless if
        there is no graph."""
        remove_journaled(self.context, self._journaled())

    def _journaled(self) -> list[Resource]:
        """Return what the journal has of a graph, also from an earlier process of the run."""
        return [
            each
            for each in self.context.journal.outstanding()
            if self.context.names.owns(each.name)
            and (each.kind in _KINDS or each.name.endswith((_GROUP, _PAIR)))
        ]

    @property
    def _classifier(self) -> str:
        """Name of the graph's flow classifier in neutron."""
        return self.context.names.of("classifier")

    def _resources(self, name: str, functions: Sequence[str]) -> list[NamedResource]:
        """Return all resources of a graph, including what Tacker makes in neutron, by the names
        that it gives."""
        return [
            (Kind.VNFFG, name),
            (Kind.VNFFGD, name),
            (Kind.CHAIN, f"{name}-port-chain"),
            (Kind.CLASSIFIER, self._classifier),
            *((Kind.PAIR_GROUP, function + _GROUP) for function in functions),
            *((Kind.PAIR, function + _PAIR) for function in functions),
        ]

    def _make(self, name: str, descriptor: dict[str, Any], plan: ChainPlan) -> None:
        """Make what is missing of descriptor and graph, and wait until the graph is ACTIVE. Raises
        TackerFailed."""
        cloud = self.context.cloud
        vnfs = {function: _first(cloud, Kind.VNF, function).id for function in plan.functions}
        template = {"vnffgd": descriptor}
        vnffgd = operations.create_in_tacker(self.server, Kind.VNFFGD, name, template=template)
        fields = {"vnffgd_id": vnffgd.id, "vnf_mapping": vnfs, "symmetrical": plan.symmetric}
        operations.create_in_tacker(self.server, Kind.VNFFG, name, **fields)
        no_reason = "Tacker gives no reason; its server's log does"
        await_active(self.server, Kind.VNFFG, name, TIMEOUT_S, no_reason)

    def _facts(
        self, name: str, plan: ChainPlan, classifier: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the facts of the port chain that Tacker made. Raises TackerFailed if functions are
        missing in it."""
        cloud = self.context.cloud
        chain = _first(cloud, Kind.CHAIN, f"{name}-port-chain")
        if len(chain.port_pair_groups) != len(plan.functions):
            raise TackerFailed(
                f"Tacker created a chain of {len(chain.port_pair_groups)} functions instead of "
                f"{len(plan.functions)}"
            )
        correlation = dict(chain.chain_parameters or {}).get("correlation")
        by = "networking-sfc, by a VNFFG of Tacker"
        return {
            **chaining.facts(chain.id, by, correlation, plan.symmetric, classifier),
            "vnffg": _first(cloud, Kind.VNFFG, name).id,
        }


def _first(cloud: Cloud, kind: Kind, name: str) -> Any:
    """Return the first resource of this name. Raises TackerFailed if there is none."""
    found = operations.find(cloud, kind, name)
    if not found:
        raise TackerFailed(f"there is no {kind} {name}")
    return found[0]
