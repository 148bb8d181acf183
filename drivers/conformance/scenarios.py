"""Scenarios for the suite, as the loader would make them from a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from sfcperf import plugins
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import (
    ChainSpec,
    EndpointSpec,
    FunctionSpec,
    Match,
    MonitorSpec,
    ProbeSpec,
    Resources,
    Scenario,
)
from sfcperf.workflow.topology import PRESETS

PROBES: Mapping[str, Mapping[str, Any]] = {
    "ping": {"count": 5, "interval_s": 0.05},
    "iperf3": {"protocol": "tcp", "duration_s": 1},
}
MONITORS = ("cpu", "memory")


def chain(
    vnf: str,
    length: int,
    *,
    topology: str = "T1",
    reverse: Literal["symmetric", "bypass"] = "symmetric",
    match: Match | None = None,
    encapsulation: Literal["auto", "nsh-eth", "nsh-vxlan-gpe", "mpls"] = "auto",
    knobs: Mapping[str, Any] | None = None,
    vcpus: int = 1,
) -> Scenario:
    """Return a scenario whose chain has `length` functions of the type `vnf`, placed as the preset
    `topology` says, with PROBES and MONITORS. Knobs that are not given have their defaults."""
    place = PRESETS[topology]
    # The presets' mappings cannot be pickled, a dict can.
    place = replace(place, placement=dict(place.placement))
    all_knobs = _parameters("vnf", vnf, knobs or {})
    functions = tuple(
        FunctionSpec(
            name=f"sf-{position}",
            vnf="sf",
            type=vnf,
            position=position,
            node=place.placement["chain"],
            resources=Resources(vcpus=vcpus, memory_mib=256),
            knobs=all_knobs,
            vnfd=None,
        )
        for position in range(1, length + 1)
    )
    return Scenario(
        id=f"s{length:03d}",
        levels={"chain_length": length},
        topology=place,
        client=EndpointSpec("client", place.placement["client"]),
        server=EndpointSpec("server", place.placement["server"]),
        # The path has SPI 42, and its packets start with SI 255.
        chain=ChainSpec(functions, match or Match(), encapsulation, reverse, 42, 255),
        probes=tuple(
            ProbeSpec(number, name, name, _parameters("probe", name, values))
            for number, (name, values) in enumerate(PROBES.items())
        ),
        monitors=tuple(MonitorSpec(name, _parameters("monitor", name, {})) for name in MONITORS),
    )


def _parameters(kind: str, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with the defaults of a plug-in of this kind (`vnf`, `probe`, `monitor`)
    filled in."""
    return with_defaults(plugins.load(kind, name).parameters, values)
