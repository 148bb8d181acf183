"""veth-pair: two endpoints on one cable, no chain; the smallest infrastructure there is.

It serves as the baseline that no SFF takes part in: chain length 0 of a driver that has SFFs
still crosses one.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.environment.tools import root, tool
from sfcperf.errors import DeploymentError, MeasurementError, WorkflowError
from sfcperf.hosts.namespace import LocalHost, NamespaceHost
from sfcperf.management.deployment import Deployment, Endpoint, Hop, TraversalProof
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import EndpointSpec, Scenario

# RFC 2544 sets this network aside for benchmarks.
ADDRESSES = {"client": "198.18.0.1", "server": "198.18.0.2"}
INTERFACE = "eth0"
ECHO_REQUESTS = 3
COMMAND_TIMEOUT_S = 10.0


class VethPairDriver(Driver):
    """Two network namespaces, joined by a veth pair."""

    name = "veth-pair"
    title = "Two endpoints on one cable, without a chain"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "mtu": {
                "type": "integer",
                "minimum": 576,
                "maximum": 9000,
                "default": 1500,
                "description": "MTU of the cable, bytes of IP packet.",
            }
        },
    }

    def __init__(self, context: DriverContext) -> None:
        super().__init__(context)
        self._deployments = 0

    @classmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """Root, ip and ping."""
        return [
            root("network namespaces are made"),
            tool("ip", "iproute2", ["ip", "-V"]),
            tool("ping", "iputils-ping", ["ping", "-V"]),
        ]

    @classmethod
    def validate(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """Only what a cable can be: nothing that was asked for is left out silently."""
        for scenario in scenarios:
            if scenario.chain.functions:
                raise WorkflowError(
                    f"the driver {cls.name!r} has no SFF, so it builds no chain",
                    where="/chain/functions",
                    allowed="an empty list",
                    hint="`--driver local` builds chains",
                )
            if scenario.client.node != scenario.server.node:
                raise WorkflowError(
                    f"the driver {cls.name!r} has one node, and the endpoints are on two",
                    where="/topology",
                    allowed="a topology with both endpoints on one node, such as T1",
                )
            for endpoint in (scenario.client, scenario.server):
                if endpoint.resources is not None:
                    raise WorkflowError(
                        f"the driver {cls.name!r} cannot limit the resources of an endpoint",
                        where=f"/endpoints/{endpoint.name}/resources",
                        hint="leave the resources out",
                    )

    def deploy(self, scenario: Scenario) -> Deployment:
        """Two namespaces, one cable; a retry after a failure starts from nothing."""
        self._deployments += 1
        spaces = {end: f"veth-pair-{self.context.tag}-{end}" for end in ADDRESSES}
        self.context.journal.intend(Resource("netns", space) for space in spaces.values())
        try:
            client, server = self._build(scenario, spaces)
        except BaseException:
            self.close()
            raise
        return Deployment(
            id=f"{scenario.id}-{self._deployments}",
            client=client,
            server=server,
            functions=(),
            hops=tuple(Hop(end.name, end.host, end.interface) for end in (client, server)),
            meters={},
            encapsulation="none",
            facts={"mtu": self.context.config["mtu"]},
        )

    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        """No SF has to be crossed: packets that arrive are the whole proof."""
        replies = self._ping(deployment, ECHO_REQUESTS)
        problems = () if replies == ECHO_REQUESTS else (f"{replies} of {ECHO_REQUESTS} answered",)
        return TraversalProof(
            proven=not problems,
            method="replies to echo requests (there is no SF to cross)",
            sent=ECHO_REQUESTS,
            forward=(),
            reverse=(),
            problems=problems,
        )

    def problems(self, deployment: Deployment) -> list[str]:
        """Whether the server answers."""
        return [] if self._ping(deployment, 1) else ["the server does not answer the client"]

    def teardown(self, deployment: Deployment) -> None:
        """The deployment is all that there is."""
        self.close()

    def close(self) -> None:
        """Remove what the journal still holds; a veth goes with its namespaces."""
        for resource in self.context.journal.outstanding():
            _remove(resource.name)
            self.context.journal.removed([resource])

    def facts(self) -> Mapping[str, Any]:
        """The kernel is the infrastructure."""
        return {"kernel": os.uname().release}

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """Remove the namespaces that a dead run left."""
        left = [r.name for r in resources if _namespace(r.name).exists()]
        if not dry_run:
            for name in left:
                _remove(name)
        return [f"network namespace {name}" for name in left]

    def _build(self, scenario: Scenario, spaces: Mapping[str, str]) -> tuple[Endpoint, Endpoint]:
        for space in spaces.values():
            _ip("netns", "add", space)
        cable = ["link", "add", INTERFACE, "type", "veth", "peer", "name", INTERFACE]
        _ip("-n", spaces["client"], *cable, "netns", spaces["server"])
        client = self._endpoint(scenario.client, spaces["client"])
        server = self._endpoint(scenario.server, spaces["server"])
        for here, there in ((client, server), (server, client)):
            route = ["route", "add", f"{there.address}/32", "dev", INTERFACE]
            _ip("-n", spaces[here.name], *route)
        return client, server

    def _endpoint(self, spec: EndpointSpec, space: str) -> Endpoint:
        mtu = self.context.config["mtu"]
        address = spec.address or ADDRESSES[spec.name]
        _ip("-n", space, "address", "add", f"{address}/32", "dev", INTERFACE)
        _ip("-n", space, "link", "set", INTERFACE, "mtu", str(mtu), "up")
        _ip("-n", space, "link", "set", "lo", "up")
        workdir = self.context.state_dir / spec.name
        workdir.mkdir(parents=True, exist_ok=True)
        host = NamespaceHost(spec.name, space, workdir)
        return Endpoint(spec.name, spec.node, host, address, INTERFACE, mtu)

    def _ping(self, deployment: Deployment, count: int) -> int:
        """How many of `count` echo requests are answered."""
        argv = ["ping", "-n", "-c", str(count), "-i", "0.05", "-W", "1"]
        done = deployment.client.host.run(
            [*argv, deployment.server.address], timeout_s=COMMAND_TIMEOUT_S, check=False
        )
        (self.context.raw_dir / f"{deployment.id}-ping.txt").write_bytes(done.stdout)
        return done.text.count("bytes from")


def _remove(space: str) -> None:
    """Remove a namespace and end what runs in it; harmless when it has gone."""
    if not _namespace(space).exists():
        return
    for pid in _ip("netns", "pids", space).split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    _ip("netns", "delete", space)


def _namespace(space: str) -> Path:
    return Path("/run/netns") / space


def _ip(*arguments: str) -> str:
    """Run ip. Raises DeploymentError with what it said."""
    try:
        return LocalHost(Path("/")).run(["ip", *arguments], timeout_s=COMMAND_TIMEOUT_S).text
    except MeasurementError as error:
        raise DeploymentError(error.message, where=error.where) from error
