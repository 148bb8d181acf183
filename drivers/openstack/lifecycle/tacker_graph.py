"""The chain as a VNF forwarding graph of Tacker's legacy API.

Tacker can update a graph, but finds its pieces by the part of a VNF's name before the first hyphen;
so another chain is another graph, which takes about as long.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.cleanup import journal_cleanup
from sfcperf.drivers.openstack.lifecycle import chaining, tacker_vnffgd
from sfcperf.drivers.openstack.lifecycle.base import Machine, Workshop
from sfcperf.drivers.openstack.lifecycle.tacker_machine import TackerFailed
from sfcperf.drivers.openstack.model.specs import ChainPlan
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.drivers.openstack.resources.tacker_objects import found

TIMEOUT_S = 120.0

_KINDS = (
    Kind.VNFFG,
    Kind.VNFFGD,
    Kind.CHAIN,
    Kind.CLASSIFIER,
)
_GROUP, _PAIR = "-port-pair-group", "-connection-points"
"""What Tacker appends to a VNF's name in neutron."""


class Graph:
    """The run's forwarding graph: at most one at a time."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.server = TackerServer(workshop.cloud)

    def stand(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """Make the graph for this chain; gives facts for the results.

        Raises DeploymentError, with nothing left of it.
        """
        classifier = chaining.classifier_of(plan, machines)
        descriptor = tacker_vnffgd.descriptor(
            plan.functions, classifier, name=self._classifier, symmetric=plan.symmetric
        )
        name = self._name(descriptor)
        if not any(each.kind == Kind.VNFFG and each.name == name for each in self._standing()):
            self.remove()
            self.workshop.journal.intend(self._resources(name, plan.functions))
        try:
            self._make(name, descriptor, plan.functions)
            return self._facts(name, plan, classifier)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Harmless when there is none. Tacker leaves pieces in neutron when it fails half-way:
        they go too."""
        gone = self._standing()
        if gone:
            journal_cleanup.remove(self.workshop.cloud, gone)
            self.workshop.journal.removed(gone)

    def _standing(self) -> list[Resource]:
        """What the journal has of a graph: this object's, or an earlier life's of the run."""
        return [
            each
            for each in self.workshop.journal.outstanding()
            if self.workshop.names.owns(each.name)
            and (each.kind in _KINDS or each.name.endswith((_GROUP, _PAIR)))
        ]

    @property
    def _classifier(self) -> str:
        return self.workshop.names.of("classifier")

    def _name(self, descriptor: dict[str, Any]) -> str:
        """Of graph and descriptor: by its content, since a descriptor that is there under the same
        name must be the same."""
        digest = hashlib.sha256(json.dumps(descriptor, sort_keys=True).encode()).hexdigest()
        return self.workshop.names.of(f"graph-{digest[:8]}")

    def _resources(self, name: str, functions: Sequence[str]) -> list[Resource]:
        """With what Tacker makes in neutron, by the names that it gives."""
        named = [
            (Kind.VNFFG, name),
            (Kind.VNFFGD, name),
            (Kind.CHAIN, f"{name}-port-chain"),
            (Kind.CLASSIFIER, self._classifier),
            *((Kind.PAIR_GROUP, function + _GROUP) for function in functions),
            *((Kind.PAIR, function + _PAIR) for function in functions),
        ]
        return [operations.resource(self.workshop.cloud, kind, each) for kind, each in named]

    def _make(self, name: str, descriptor: dict[str, Any], functions: Sequence[str]) -> None:
        cloud = self.workshop.cloud
        vnfs = {function: _one(cloud, Kind.VNF, function).id for function in functions}
        template = {"vnffgd": {"name": name, "template": {"vnffgd": descriptor}}}
        vnffgd = operations.ensure(
            cloud,
            Kind.VNFFGD,
            name,
            lambda: self.server.once(
                lambda tacker: found(tacker.create_vnffgd(template)["vnffgd"])
            ),
        )
        body = {
            "vnffg": {
                "name": name,
                "vnffgd_id": vnffgd.id,
                "vnf_mapping": vnfs,
                "symmetrical": _symmetrical(descriptor),
            }
        }
        operations.ensure(
            cloud,
            Kind.VNFFG,
            name,
            lambda: self.server.once(lambda tacker: found(tacker.create_vnffg(body)["vnffg"])),
        )
        self._wait(name)

    def _wait(self, name: str) -> None:
        def look() -> bool | None:
            graph = next(iter(operations.thing(Kind.VNFFG).every(self.workshop.cloud, name)), None)
            if graph is None:
                raise TackerFailed(f"VNFFG {name} is gone while it was waited for")
            if graph.status in ("ERROR", "DEAD"):
                reason = graph.reason or "Tacker does not say why; its server's log does"
                raise TackerFailed(f"VNFFG {name} is {graph.status}: {reason}")
            return True if graph.status == "ACTIVE" else None

        self.workshop.cloud.wait(f"waiting for VNFFG {name}", look, TIMEOUT_S)

    def _facts(
        self, name: str, plan: ChainPlan, classifier: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Of the port chain that Tacker made."""
        cloud = self.workshop.cloud
        chain = _one(cloud, Kind.CHAIN, f"{name}-port-chain")
        if len(chain.port_pair_groups) != len(plan.functions):
            raise TackerFailed(
                f"Tacker made a chain of {len(chain.port_pair_groups)} functions instead of "
                f"{len(plan.functions)}"
            )
        return {
            "chain": chain.id,
            "chained_by": "networking-sfc, by a VNFFG of Tacker",
            "vnffg": _one(cloud, Kind.VNFFG, name).id,
            "correlation": dict(chain.chain_parameters or {}).get("correlation"),
            "symmetric": plan.symmetric,
            "classifier": {k: v for k, v in classifier.items() if not k.startswith("logical_")},
        }


def _symmetrical(descriptor: dict[str, Any]) -> bool:
    paths = descriptor["topology_template"]["node_templates"].values()
    return all(path["properties"]["symmetrical"] for path in paths)


def _one(cloud: Any, kind: str, name: str) -> Any:
    there = operations.every(cloud, kind, name)
    if not there:
        raise TackerFailed(f"there is no {kind} {name}")
    return there[0]
