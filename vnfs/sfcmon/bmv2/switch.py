"""A running simple_switch_grpc."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from sfcperf.environment import tools
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.process import run
from sfcperf.plugins import Requirement
from sfcperf.vnfs.sfcmon.bmv2.programs import REMEDY
from sfcperf.vnfs.sfcmon.bmv2.reach import Reach, reach
from sfcperf.vnfs.sfcmon.bmv2.registers import THRIFT_PORT, Registers

BINARY = "simple_switch_grpc"
QUEUE_DEPTH = 16384
"""Packets that the output queue of each port has room for."""
START_TIMEOUT_S = 60.0
_NO_OFFLOADS = ("gro", "off", "gso", "off", "tso", "off")
"""Options of ethtool that turn offloads off. With offloads libpcap makes room in its buffer for
frames of 256 KiB, which is then room for 8 frames: it loses bursts. And the switch would be given
frames that are larger than any MTU."""
_TOOL_TIMEOUT_S = 30.0
_POLL_S = 0.05
_starts = itertools.count()
"""Numbers for names of files: each start has files of its own."""


def requirement() -> Requirement:
    """Whether bmv2 is there."""
    return tools.tool(BINARY, "", remedy=REMEDY)


def version() -> str:
    """Return what bmv2 prints as its version; empty if bmv2 is not there."""
    # Without bmv2 the detail is no path of a command, so that running it fails.
    argv = [requirement().detail, "--version"]
    try:
        return run(argv, timeout_s=_TOOL_TIMEOUT_S, check=False).text.strip()
    except MeasurementError:
        return ""


class Bmv2Switch:
    """A switch in a network namespace of this machine, or on a host by SSH. `launch` makes it."""

    def __init__(self, host: Host, reach: Reach, process: Process, log: Path) -> None:
        self.host = host
        self.reach = reach
        self.address = reach.address(process)
        """Address of P4Runtime, for gRPC."""
        self.process = process
        self._log = log

    @classmethod
    def launch(cls, host: Host, interfaces: Mapping[int, str], device: int = 1) -> Self:
        """Start a switch, and wait until it answers. It forwards nothing until a program has been
        loaded by P4Runtime. When it raises, nothing stays.

        `interfaces`: by the number of the port, which says of what kind it is
        (vnfs/sfcmon/p4/README.md). `device`: P4Runtime's device_id. Raises EnvironmentLacks,
        DeploymentError, and MeasurementError when a tool fails on the host or the switch cannot be
        started.
        """
        binary = Path(requirement().demand())
        way = reach(host, tuple(interfaces.values()))
        try:
            way.open()
            for interface in interfaces.values():
                host.run(["ethtool", "-K", interface, *_NO_OFFLOADS], timeout_s=_TOOL_TIMEOUT_S)
            argv = [*way.command(binary), *_options(interfaces, device, way.server)]
            log = way.folder / f"bmv2-{next(_starts)}.log"
            running = cls(host, way, host.spawn(argv, stdout=log, stderr=log), log)
        except BaseException:
            way.close()
            raise
        try:
            running._wait_ready()
        except BaseException:
            running.stop()
            raise
        return running

    def registers(self) -> Registers:
        """Make a new connection to the registers. Raises MeasurementError."""
        return self.reach.registers()

    def stop(self) -> None:
        """End the switch."""
        self.process.stop()
        self.reach.close()

    def _wait_ready(self) -> None:
        """Wait until Thrift answers, and give the queues their depth. Raises DeploymentError, and
        MeasurementError if the host is gone."""

        def ready() -> bool:
            if not self.reach.listens():
                return False
            try:
                # Thrift takes connections some time before it knows the service of the queues.
                with self.registers() as registers:
                    registers.set_queue_depth(QUEUE_DEPTH)
            except MeasurementError:
                return False
            return True

        if self.process.becomes(ready, timeout_s=START_TIMEOUT_S, period_s=_POLL_S):
            return
        status = self.process.poll()
        lines = self._log.read_text(errors="replace").strip().splitlines()[-3:]
        problem = (
            f"not ready after {START_TIMEOUT_S:g} s"
            if status is None
            else f"it has ended with status {status}: {'; '.join(lines) or 'it said nothing'}"
        )
        raise DeploymentError(
            f"{BINARY}: {problem}",
            where=self.host.name,
            hint=f"run it there by hand to see more: {shlex.join(self.process.argv)}",
        )


def _options(interfaces: Mapping[int, str], device: int, server: str) -> list[str]:
    """Return the options of a switch: see Bmv2Switch.launch. `server`: where P4Runtime listens."""
    options = ["--no-p4", "--device-id", str(device), "--thrift-port", str(THRIFT_PORT)]
    # Without these options bmv2 formats messages for each packet, although it writes none, and is
    # three times slower.
    options += ["--log-console", "--log-level", "error"]
    for port, interface in interfaces.items():
        options += ["-i", f"{port}@{interface}"]
    return [*options, "--", "--grpc-server-addr", server]
