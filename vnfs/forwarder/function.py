"""The forwarder as a VNF type: decrements the SI and returns the packet (paper, section IV)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import binaries
from sfcperf.vnfs.base import Attachment, NetworkFunction
from sfcperf.vnfs.stats_process import StatsProcess

BINARY = "sfc-forwarder"
START_TIMEOUT_S = 10.0
_starts = itertools.count()


class Forwarder(NetworkFunction):
    """Decrements the service index of each NSH packet and returns it to its SFF."""

    name: ClassVar[str] = "forwarder"
    title: ClassVar[str] = "NSH forwarder: decrements the service index and returns the packet"
    nsh_aware: ClassVar[bool] = True
    interfaces: ClassVar[int] = 1
    # Frames are taken before tc: by XDP, or by a packet socket that gets its copy first.
    kernel_path: ClassVar[bool] = False
    folder: ClassVar[Path] = Path(__file__).resolve().parent
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "engine": {
                "description": "`xdp` works in the driver's receive path: fastest, but in softirq, "
                "where the VNF's vCPUs do not bound it. `userspace` runs one thread pinned to each "
                "of the VNF's vCPUs.",
                "enum": ["xdp", "userspace"],
                "default": "xdp",
            },
        },
    }

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """The compiled tool."""
        return [binaries.requirement(BINARY)]

    @classmethod
    def peer_needs_xdp(cls, knobs: Mapping[str, Any]) -> bool:
        """With engine `xdp`: frames return by XDP_TX."""
        return str(knobs["engine"]) == "xdp"

    @classmethod
    def start(
        cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]
    ) -> RunningForwarder:
        """Start sfc-forwarder on the ingress interface and wait until it forwards."""
        engine = str(knobs["engine"])
        # A new file each time: an old one would say that the function is ready.
        stats = host.workdir / f"{attachment.name}-{next(_starts)}.stats"
        argv = [str(binaries.find(BINARY)), "--engine", engine]
        argv += ["--interface", attachment.interfaces[0], "--stats", str(stats)]
        if engine == "userspace" and attachment.vcpus:
            argv += ["--cpus", ",".join(map(str, attachment.vcpus))]
        running = RunningForwarder(attachment.name, host, stats, host.spawn(argv))
        try:
            running.wait_ready()
        except BaseException:
            running.stop()
            raise
        return running


def attach_pass(host: Host, interfaces: list[str]) -> None:
    """Give the SFF's ends of veths an XDP program that passes everything, in native mode.

    One process for all of them; it stays until the interfaces go. Raises DeploymentError.
    """
    if not interfaces:
        return
    argv = [str(binaries.find(BINARY)), "--attach-pass", *interfaces]
    try:
        host.run(argv, timeout_s=START_TIMEOUT_S)
    except MeasurementError as error:
        raise DeploymentError(
            f"the SFF's ports cannot carry an XDP program: {error.message}",
            where=host.name,
            hint='set the forwarder\'s knob "engine" to "userspace"',
        ) from error


class RunningForwarder(StatsProcess):
    """An sfc-forwarder process and its stats file."""

    binary = BINARY

    def counters(self) -> Mapping[str, int]:
        """Packets since the start, now.

        `received`, `forwarded` and `dropped` count NSH packets sent to this function; `passed`
        are frames left to the kernel; `dropped_REASON` per reason; `forwarded_spiN_siM` per path,
        with the SI as the packet arrived; `forwarded_workerN` per thread of engine `userspace`.
        Raises MeasurementError.
        """
        event = self.fresh()
        counters = {name: event[name] for name in ("received", "forwarded", "dropped", "passed")}
        counters |= {f"dropped_{reason}": count for reason, count in event["drops"].items()}
        for path in event["paths"]:
            counters[f"forwarded_spi{path['spi']}_si{path['si']}"] = path["packets"]
        for number, forwarded in enumerate(event["workers"]):
            counters[f"forwarded_worker{number}"] = forwarded
        return counters
