"""A running simple_switch_grpc."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from sfcperf.environment import tools
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.process import run
from sfcperf.plugins import Requirement
from sfcperf.vnfs.sfcmon.bmv2.programs import REMEDY
from sfcperf.vnfs.sfcmon.bmv2.registers import THRIFT_PORT, Registers

BINARY = "simple_switch_grpc"
QUEUE_DEPTH = 16384
"""Packets that the output queue of each port has room for."""
START_TIMEOUT_S = 60.0
_NO_OFFLOADS = ("gro", "off", "gso", "off", "tso", "off")
"""Options of ethtool that turn offloads off. With offloads libpcap makes room in its buffer for
frames of 256 KiB, which is then room for 8 frames: it loses bursts. And the switch would be given
frames that are larger than any MTU."""
_TOOL_TIMEOUT_S = 10.0
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
    """A switch in a network namespace. `launch` makes it.

    The namespace must have no address but loopback's: Thrift listens at all its addresses, and asks
    for no password. P4Runtime listens at a Unix socket in the host's folder. `address` is
    /proc/PID/cwd/NAME instead of the socket's path, which may be longer than the 107 bytes that a
    socket's path may have.
    """

    def __init__(self, host: NamespaceHost, process: Process, address: str, log: Path) -> None:
        self.host = host
        self.address = address
        """Address of P4Runtime, for gRPC."""
        self.process = process
        self._log = log

    @classmethod
    def launch(cls, host: NamespaceHost, interfaces: Mapping[int, str], device: int = 1) -> Self:
        """Start a switch, and wait until it answers. It forwards nothing until a program has been
        loaded by P4Runtime.

        `interfaces`: by the number of the port, which says of what kind it is
        (vnfs/sfcmon/p4/README.md). `device`: P4Runtime's device_id. Raises EnvironmentLacks,
        DeploymentError, and MeasurementError when ethtool fails or the switch cannot be started.
        """
        binary = requirement().demand()
        for interface in interfaces.values():
            host.run(["ethtool", "-K", interface, *_NO_OFFLOADS], timeout_s=_TOOL_TIMEOUT_S)
        name = f"bmv2-{next(_starts)}"
        socket, log = host.workdir / f"{name}.sock", host.workdir / f"{name}.log"
        # bmv2 looks into /sys for the state of its interfaces, and `ip netns exec` mounts the
        # namespace's own.
        inside = ["ip", "netns", "exec", host.namespace.name] if host.namespace else []
        argv = ["env", f"--chdir={host.workdir}", *inside, binary]
        argv += ["--no-p4", "--device-id", str(device)]
        argv += ["--thrift-port", str(THRIFT_PORT)]
        # Without these options bmv2 formats messages for each packet, although it writes none, and
        # is three times slower.
        argv += ["--log-console", "--log-level", "error"]
        for port, interface in interfaces.items():
            argv += ["-i", f"{port}@{interface}"]
        argv += ["--", "--grpc-server-addr", f"unix:{socket.name}"]
        process = host.spawn(argv, stdout=log, stderr=log)
        running = cls(host, process, f"unix:/proc/{process.pid}/cwd/{socket.name}", log)
        try:
            running._wait_ready(socket)
        except BaseException:
            running.stop()
            raise
        return running

    def registers(self) -> Registers:
        """Make a new connection to the registers. Raises MeasurementError."""
        return Registers(self.host.namespace)

    def stop(self) -> None:
        """End the switch."""
        self.process.stop()

    def _wait_ready(self, socket: Path) -> None:
        """Wait until Thrift answers, and give the queues their depth. Raises DeploymentError."""

        def ready() -> bool:
            if not socket.exists():
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
