"""The engine `bmv2` of SFCMon: a switch that is the SF."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import FlowReporter
from sfcperf.vnfs.base import RunningFunction
from sfcperf.vnfs.kernel_forwarding import all_or_nothing, deploying
from sfcperf.vnfs.sfcmon.bmv2.controlled import ControlledSwitch
from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.bmv2.switch_settings import Settings

SERVICE_PORT = 64
"""Port at which the switch is the SF (vnfs/sfcmon/p4/README.md)."""
_TOOL_TIMEOUT_S = 30.0
_ETHERNET_BYTES, _NSH_BYTES = 14, 24
_GPE_BYTES = 14 + 20 + 8 + 8


class RunningBmv2(RunningFunction):
    """A switch that is the SF at its only port. `launch` starts it."""

    def __init__(self, host: Host, interface: str) -> None:
        self._host = host
        self._interface = interface
        self._addresses = b""
        self._both = ControlledSwitch(host)

    @classmethod
    def launch(
        cls, name: str, host: Host, interface: str, settings: Settings, output: Path
    ) -> RunningBmv2:
        """Start the switch and its controller, and wait until it forwards; when a step fails,
        nothing stays. `settings` need no address yet; windows go to `output`. Raises
        EnvironmentLacks, DeploymentError."""
        running = cls(host, interface)
        with all_or_nothing(running):
            if isinstance(host, NamespaceHost):
                running._take_addresses(name)
            running._both.launch(name, {SERVICE_PORT: interface}, settings, output)
        return running

    def counters(self) -> Mapping[str, int]:
        """Packets since the start, now, by the names that RunningSfcmon.counters gives. Raises
        MeasurementError."""
        return self._both.controller.counters()

    def problem(self) -> str | None:
        """Return None while both processes run, else what is wrong."""
        return self._both.problem()

    def facts(self) -> Mapping[str, Any]:
        """Return the engine `bmv2`."""
        return {"engine": "bmv2"}

    def flows(self) -> FlowReporter | None:
        """Return the reporter of the windows that the controlling process prints; None if nothing
        monitors. Raises MeasurementError if a process has ended."""
        return self._both.controller.flows()

    def pids(self) -> tuple[int, ...]:
        """Return the id of the switch; the process that controls it is no part of the function."""
        return self._both.pids()

    def data_plane_pids(self) -> tuple[int, ...]:
        """Return the id of the switch."""
        return self.pids()

    def stop(self) -> None:
        """Stop both processes and give the interface its IPv4 addresses back."""
        self._both.stop()
        if self._addresses:
            with suppress(MeasurementError):
                self._ip("restore", stdin=self._addresses)
            self._addresses = b""

    def _take_addresses(self, name: str) -> None:
        """Take the interface's IPv4 addresses away, and keep them for `stop`. Raises
        DeploymentError, which names the instance.

        Without addresses the kernel answers no datagram of VXLAN-GPE with "port unreachable", and
        Thrift, which listens at all addresses, can be reached from within the namespace alone.
        """
        with deploying(name, self._host):
            self._addresses = self._ip("save", "dev", self._interface)
            self._ip("flush", "dev", self._interface)

    def _ip(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Run `ip -4 address` with these arguments, and return what it prints."""
        argv = ["ip", "-4", "address", *arguments]
        return self._host.run(argv, timeout_s=_TOOL_TIMEOUT_S, stdin=stdin).stdout


def program_of(monitor: str) -> Program:
    """Return the program for a value of the knob `monitor`."""
    return {"sketches": Program.SKETCHES, "table": Program.TABLE, "none": Program.PLAIN}[monitor]


def overhead_bytes(encapsulation: str) -> int:
    """Return how many bytes are in front of the IP packet in frames of SFCPerf's SFFs: Ethernet or
    VXLAN-GPE, an NSH of MD type 1, Ethernet."""
    outer = _GPE_BYTES if encapsulation == "nsh-vxlan-gpe" else _ETHERNET_BYTES
    return outer + _NSH_BYTES + _ETHERNET_BYTES
