"""Decides where instances of pptmon run, and gives each its mode and interfaces by the position of
its VNF in the chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfcperf import plugins
from sfcperf.errors import CannotBeMeasured
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import Deployment, ServiceFunction

Direction = Literal["forward", "reverse"]
DIRECTIONS: Mapping[str, tuple[Direction, ...]] = {
    "forward": ("forward",),
    "reverse": ("reverse",),
    "both": ("forward", "reverse"),
}
"""Parameter `direction` -> directions that are watched."""

_MOST_ID = 255
"""Largest VNF id of pptmon, which is the VNF's position in the chain."""
_MIRRORED = {
    "source": "destination",
    "destination": "source",
    "source_port": "destination_port",
    "destination_port": "source_port",
}
"""Part of a filter -> part that it becomes for replies, in which source and destination are
swapped."""
_FILTER_WORDS = {
    "protocol": "proto",
    "source": "src",
    "destination": "dst",
    "source_port": "sport",
    "destination_port": "dport",
}
"""Part of the parameter `filter` -> key of pptmon's option, in the option's order."""


@dataclass(frozen=True)
class Placement:
    """Where one instance of pptmon runs, at one VNF and for one direction, and how it works."""

    function: ServiceFunction
    direction: Direction
    mode: Literal["source", "transit", "sink", "source-sink"]
    host: Host
    ingress: str
    egress: str
    narrowed_to: str | None
    """IPv4 address that sampled packets must come from. It is set where a VNF has one interface,
    which packets of both directions cross; None elsewhere."""

    @property
    def name(self) -> str:
        """Name of the instance, e.g. `fw-1-forward`. It is unique in the trial, and names files."""
        return f"{self.function.name}-{self.direction}"

    @property
    def samples(self) -> bool:
        """Whether the instance is the first on the path, and chooses the packets to sample."""
        return self.mode in ("source", "source-sink")

    @property
    def reports(self) -> bool:
        """Whether the instance is the last on the path, which takes samples out of packets and
        reports them."""
        return self.mode in ("sink", "source-sink")

    def options(self, parameters: Mapping[str, Any]) -> list[str]:
        """Return the options of pptmon's command line (dataplane/pptmon/README.md). Only a source
        needs those about samples."""
        options = ["--mode", self.mode, "--vnf-id", str(self.function.position)]
        options += ["--ingress", self.ingress, "--egress", self.egress]
        if not self.samples:
            return options
        if "period_ms" in parameters:
            options += ["--period-ms", f"{parameters['period_ms']:g}"]
        else:
            options += ["--rate", f"{parameters.get('rate_hz', 1):g}"]
        for name in ("choice", "format", "carrier"):
            options += [f"--{name}", parameters[name]]
        options += ["--metrics", ",".join(parameters["metrics"])]
        expression = self._filter(parameters.get("filter", {}))
        return [*options, "--filter", expression] if expression else options

    def _filter(self, parameters: Mapping[str, Any]) -> str:
        """Return the filter as pptmon's option has it. Users write it for forward packets; for the
        reverse direction, source and destination are swapped."""
        parts = dict(parameters)
        if self.direction == "reverse":
            parts = {_MIRRORED.get(name, name): value for name, value in parameters.items()}
        # A source in the user's filter is narrower still, and stays.
        if self.narrowed_to is not None:
            parts.setdefault("source", self.narrowed_to)
        return ",".join(f"{w}={parts[name]}" for name, w in _FILTER_WORDS.items() if name in parts)


def visible(function: ServiceFunction) -> bool:
    """Whether packets of a VNF pass the tc hooks of its interfaces, where pptmon sees them."""
    if function.hides_packets:
        return False
    if function.nsh_aware and len(function.interfaces) > 1:
        # Two ports lead to the function's own interface (sfc-port-pair): frames pass their hooks.
        return True
    kind = plugins.load("vnf", function.type)
    plain = kind.plain_ip and not function.nsh_aware
    return bool(kind.kernel_path or (plain and kind.plain_ip_by_kernel))


def place(deployment: Deployment, direction: str) -> list[Placement]:
    """Return the instances in the order in which they have to be started: from the end of a path to
    its beginning, and all sources last. So whenever a packet gets a header, the instances that take
    it out again are already there. The list is empty for a chain without VNFs.

    Raises CannotBeMeasured for a chain of which nothing can be seen.
    """
    functions = [function for function in deployment.functions if visible(function)]
    if deployment.functions and not functions:
        kinds = sorted({function.type for function in deployment.functions})
        raise CannotBeMeasured(
            f"pptmon sees none of the chain's VNFs: those of type {', '.join(kinds)} take packets "
            "before tc does",
            allowed="at least one VNF whose packets pass the kernel, e.g. a router",
        )
    placements = [
        placement
        for watched in DIRECTIONS[direction]
        for placement in _of_direction(deployment, functions, watched)
    ]
    if direction == "both" and any(p.ingress == p.egress for p in placements):
        raise CannotBeMeasured(
            "pptmon cannot tell both directions apart where a VNF has one interface",
            allowed='direction "forward" or "reverse"',
        )
    # The sort is stable: it only moves the sources of both directions to the end.
    return sorted(placements, key=lambda placement: placement.samples)


def _of_direction(
    deployment: Deployment,
    functions: Sequence[ServiceFunction],
    direction: Direction,
) -> list[Placement]:
    """Return the instances along the path of one direction, those of its last VNF first. Raises
    CannotBeMeasured for a chain with too many VNFs."""
    path = list(functions if direction == "forward" else reversed(functions))
    # Where a VNF has one interface, packets of both directions enter by it. One of the other
    # direction that got a header there would leave the chain with it, so it must not be sampled.
    sender = deployment.client if direction == "forward" else deployment.server
    found = []
    for place_on_path, function in enumerate(path):
        if function.position > _MOST_ID:
            raise CannotBeMeasured(
                f"pptmon supports at most {_MOST_ID} VNFs, so not {function.name}"
            )
        ends = (function.interfaces[0], function.interfaces[-1])
        ingress, egress = ends if direction == "forward" else ends[::-1]
        narrowed = sender.address if ingress == egress else None
        mode = _mode(place_on_path, len(path))
        found.append(Placement(function, direction, mode, function.host, ingress, egress, narrowed))
    return found[::-1]


def _mode(place_on_path: int, length: int) -> Literal["source", "transit", "sink", "source-sink"]:
    """Return the mode of an instance by its place on a path, from 0, and the path's length."""
    if length == 1:
        return "source-sink"
    if place_on_path == 0:
        return "source"
    return "sink" if place_on_path == length - 1 else "transit"
