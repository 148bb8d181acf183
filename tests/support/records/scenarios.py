"""Scenarios made by hand, for tests of what comes after the workflow engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sfcperf import plugins
from sfcperf.workflow.model import (
    ChainSpec,
    EndpointSpec,
    FunctionSpec,
    Link,
    Match,
    Node,
    Resources,
    Scenario,
    Topology,
)

PLACEMENTS = {
    "T1": {"client": "node1", "chain": "node1", "server": "node1"},
    "T2": {"client": "node1", "chain": "node2", "server": "node1"},
    "T3": {"client": "node1", "chain": "node2", "server": "node3"},
}


def topology(name: str = "T1", links: Sequence[Link] | None = None) -> Topology:
    """A preset of the paper's Fig. 7, fully meshed unless links are given."""
    placement = PLACEMENTS[name]
    names = sorted(set(placement.values()))
    mesh = [Link((a, b)) for i, a in enumerate(names) for b in names[i + 1 :]]
    return Topology(name, tuple(map(Node, names)), tuple(links or mesh), placement)


def scenario(
    types: Sequence[str] = (),
    *,
    where: Topology | None = None,
    nodes: Sequence[str] | None = None,
    encapsulation: Literal["auto", "nsh-eth", "nsh-vxlan-gpe", "mpls"] = "auto",
    reverse: Literal["symmetric", "bypass"] = "symmetric",
    match: Match | None = None,
    knobs: Mapping[str, Any] | None = None,
    resources: Resources | None = None,
    spi: int = 42,
    initial_si: int = 255,
    bypass_unparsed: bool = False,
) -> Scenario:
    """A chain of VNF types in order; `nodes` places each, else the topology does."""
    place = where or topology()
    functions = tuple(
        FunctionSpec(
            name=f"{kind}-{position}",
            vnf=kind,
            type=kind,
            position=position,
            node=nodes[position - 1] if nodes else place.placement["chain"],
            resources=resources or Resources(vcpus=1, memory_mib=64),
            knobs=_knobs(kind, knobs or {}),
            vnfd=None,
        )
        for position, kind in enumerate(types, start=1)
    )
    return Scenario(
        id="s000",
        levels={"chain_length": len(types)},
        topology=place,
        client=EndpointSpec("client", place.placement["client"]),
        server=EndpointSpec("server", place.placement["server"]),
        chain=ChainSpec(
            functions, match or Match(), encapsulation, reverse, spi, initial_si, bypass_unparsed
        ),
        probes=(),
        monitors=(),
    )


def _knobs(kind: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The type's defaults, and those of `wanted` that it knows."""
    properties = plugins.load("vnf", kind).parameters["properties"]
    defaults = {key: value["default"] for key, value in properties.items() if "default" in value}
    return {**defaults, **{key: value for key, value in wanted.items() if key in properties}}
