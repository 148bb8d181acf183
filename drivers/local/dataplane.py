"""Which data plane each node has: `ebpf`, `ovs`, `bmv2`, or what this machine can."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sff.process import BINARY
from sfcperf.drivers.local import openvswitch
from sfcperf.environment import tools
from sfcperf.environment.variables import without_secrets
from sfcperf.plugins import Requirement
from sfcperf.vnfs.sfcmon.bmv2.requirements import requirements as bmv2

AUTO = "auto"
EBPF = "ebpf"
OVS = "ovs"
BMV2 = "bmv2"
PROBE_TIMEOUT_S = 30.0

_names = {"enum": [AUTO, EBPF, OVS, BMV2]}
PARAMETER: dict[str, Any] = {
    "description": "Classifier, SFF and SFC proxies: `ebpf` is sfc-sff, in XDP and tc; `ovs` is "
    "Open vSwitch's userspace datapath; `bmv2` is a P4 program on the reference software switch, "
    "correct but slow; `auto` is `ebpf` where the kernel can, else `ovs`. An "
    'object names it per node: `{"node1": "ovs", "node2": "ebpf"}`.',
    "anyOf": [_names, {"type": "object", "additionalProperties": _names}],
    "default": AUTO,
}


def of_nodes(config: Mapping[str, Any], nodes: Iterable[str]) -> dict[str, str]:
    """Node -> `ebpf`, `ovs` or `bmv2`, for these nodes. Where the configuration names data planes
    by node, the nodes that it leaves out have what `auto` becomes."""
    dataplane = config["dataplane"]
    by_node = dataplane if isinstance(dataplane, Mapping) else dict.fromkeys(nodes, dataplane)
    return {node: resolve(by_node.get(node, AUTO)) for node in nodes}


def known(config: Mapping[str, Any], nodes: Iterable[str]) -> dict[str, str] | None:
    """Return the data planes of the nodes, as `of_nodes` does, before a run. None: they are not
    known, because only root can tell what `auto` becomes."""
    dataplane = config["dataplane"]
    names = dataplane.values() if isinstance(dataplane, Mapping) else [dataplane]
    if (AUTO in names or leaves_out(config, nodes)) and os.geteuid() != 0:
        return None
    return of_nodes(config, nodes)


def leaves_out(config: Mapping[str, Any], nodes: Iterable[str]) -> bool:
    """Whether the configuration names data planes by node, and one of these nodes is not named."""
    dataplane = config["dataplane"]
    return isinstance(dataplane, Mapping) and not set(nodes) <= set(dataplane)


def resolve(dataplane: str) -> str:
    """Return the data plane; in place of `auto`, what it is on this machine: `ebpf` if all that
    this requires is met, else `ovs`."""
    if dataplane != AUTO:
        return dataplane
    return EBPF if all(requirement.met for requirement in _ebpf()) else OVS


def requirements(config: Mapping[str, Any]) -> list[Requirement]:
    """What the data planes need that the configuration names. Nodes that it leaves out (see
    `leaves_out`) need what `auto` needs, too."""
    dataplane = config["dataplane"]
    names = set(dataplane.values()) if isinstance(dataplane, Mapping) else {dataplane}
    planes = {resolve(name) for name in names}
    found = [*(_ebpf() if EBPF in planes else []), *(_openvswitch() if OVS in planes else [])]
    if BMV2 in planes:
        found += bmv2()
    if AUTO in names:
        found.append(Requirement.found("data plane", _choice))
    return found


def _choice() -> str:
    """Say which data plane `auto` is on this machine, and why it is not `ebpf`."""
    if resolve(AUTO) == EBPF:
        return "auto is ebpf"
    reasons = "; ".join(r.detail for r in _ebpf() if not r.met)
    return f"auto is ovs, since ebpf cannot work here: {reasons}"


def _ebpf() -> list[Requirement]:
    """Require sfc-sff and, if it is there to ask the kernel, a kernel that accepts its programs."""
    binary = binaries.requirement(BINARY)
    return [binary, _kernel(binary.detail)] if binary.met else [binary]


@cache
def _kernel(binary: str) -> Requirement:
    """Require that the kernel accepts the SFF's BPF programs. `binary`: path of sfc-sff, which
    tries to load them; it is run once per process."""
    remedy = 'set infrastructure.config.dataplane to "ovs", which needs no BPF'
    if os.geteuid() != 0:
        return Requirement("BPF", False, "loading BPF programs requires root", remedy)
    try:
        done = subprocess.run(
            [binary, "--probe"],
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            env=without_secrets(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Requirement("BPF", False, f"{BINARY} --probe: {error}", remedy)
    if done.returncode == 0:
        return Requirement("BPF", True, "the kernel accepts the programs of the SFF")
    complaint = done.stderr.strip() or f"{BINARY} --probe ended with {done.returncode}"
    return Requirement("BPF", False, complaint, remedy)


def _openvswitch() -> list[Requirement]:
    """Require the programs of Open vSwitch, its database schema, and TUN devices."""
    package = "openvswitch-switch"
    return [
        tools.tool("ovs-vswitchd", package, ["ovs-vswitchd", "--version"]),
        *(
            tools.tool(name, package)
            for name in ("ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")
        ),
        file(openvswitch.SCHEMA, f"install the package {package}"),
        file(Path("/dev/net/tun"), "load the kernel module tun, or give the container the device"),
    ]


def file(path: Path, remedy: str) -> Requirement:
    """Require that a file exists."""
    if path.exists():
        return Requirement(str(path), met=True, detail="exists")
    return Requirement(str(path), met=False, detail="does not exist", remedy=remedy)
