"""Layout: names, addresses and cables of a scenario, before anything is made.

Every endpoint and function is a namespace, joined by one or two cables (veth pairs) to the
namespace of the node, which routes. The same scenario and tag give the same layout.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfcperf.workflow.model import FunctionSpec, Scenario

NODE = "node"
"""Instance that routes."""
NODE_MAC = "02:70:72:00:ff:ff"
"""MAC address of the node's end of every cable, to which all instances send."""
ADDRESSES = {"client": "10.0.0.1", "server": "10.0.0.2"}
"""IPv4 addresses of endpoints for which the workflow has none."""


@dataclass(frozen=True)
class Cable:
    """A veth pair between an instance and the node."""

    number: int
    """Unique in the scenario, from 0 on."""
    instance: str
    """Name of the endpoint or function."""
    outer: str
    """Interface of the node."""
    inner: str
    """Interface of the instance."""

    @property
    def mac(self) -> str:
        """MAC address of the inner interface."""
        return f"02:70:72:00:00:{self.number:02x}"

    @property
    def table(self) -> int:
        """Number of the node's routing table that leads into this cable, and nowhere else."""
        return 100 + self.number


@dataclass(frozen=True)
class Function:
    """A function with its two cables."""

    spec: FunctionSpec
    ingress: Cable
    egress: Cable


@dataclass(frozen=True)
class Layout:
    """The layout of a whole scenario; `lay_out` makes it."""

    tag: str
    """The run's tag."""
    client: Cable
    server: Cable
    addresses: dict[str, str]
    """IPv4 addresses of `client` and `server`."""
    functions: tuple[Function, ...]

    @property
    def cables(self) -> list[Cable]:
        """All cables, in forward order."""
        arms = [arm for function in self.functions for arm in (function.ingress, function.egress)]
        return [self.client, *arms, self.server]

    @property
    def instances(self) -> list[str]:
        """Names of everything that has a namespace: the node first."""
        return [NODE, *dict.fromkeys(cable.instance for cable in self.cables)]

    def namespace(self, instance: str) -> str:
        """Name of an instance's namespace, which carries the run's tag."""
        return f"sfcperf-{self.tag}-{instance}"


def lay_out(scenario: Scenario, tag: str) -> Layout:
    """Lay out a scenario of the run with this tag."""
    # Positions begin at 1: 0 and 1 are the numbers of the endpoints' cables.
    functions = tuple(
        Function(
            spec,
            Cable(2 * spec.position, spec.name, f"sf{spec.position}-in", "eth0"),
            Cable(2 * spec.position + 1, spec.name, f"sf{spec.position}-out", "eth1"),
        )
        for spec in scenario.chain.functions
    )
    return Layout(
        tag=tag,
        client=Cable(0, "client", "client", "eth0"),
        server=Cable(1, "server", "server", "eth0"),
        addresses={
            end.name: end.address or ADDRESSES[end.name]
            for end in (scenario.client, scenario.server)
        },
        functions=functions,
    )
