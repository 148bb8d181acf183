"""The engine `bmv2` of SFCMon: a switch that is the SF, and the process that controls it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from typing import Any

from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import FlowReporter
from sfcperf.vnfs.base import RunningFunction
from sfcperf.vnfs.kernel_forwarding import all_or_nothing
from sfcperf.vnfs.sfcmon.bmv2.engine import Settings
from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.bmv2.switch import BINARY, Bmv2Switch
from sfcperf.vnfs.sfcmon.running import RunningSfcmon

SERVICE_PORT = 64
"""The switch is the SF there (vnfs/sfcmon/p4/README.md)."""
LEAST_MEMORY_MIB = 128
"""Of the switch, with its queues full."""
_MODULE = "sfcperf.vnfs.sfcmon.bmv2.engine"
_TOOL_TIMEOUT_S = 10.0
_ETHERNET_BYTES, _NSH_BYTES = 14, 24
_GPE_BYTES = 14 + 20 + 8 + 8


class Controller(RunningSfcmon):
    """The process that controls the switch."""

    binary = f"the controller of {BINARY}"

    @classmethod
    def command(cls, host: Host) -> list[str]:
        """A module of this package, by this interpreter."""
        # -P: do not import modules from the current folder.
        return [sys.executable, "-P", "-m", _MODULE]


class RunningBmv2(RunningFunction):
    """A switch, and the process that controls it. `launch` starts both."""

    def __init__(self, host: NamespaceHost, interface: str) -> None:
        self._host = host
        # Outside the instance's control groups: it is no part of the function, as the controller of
        # the paper is none of the switch, and neither takes its CPUs nor counts as its memory.
        self._controllers_host = NamespaceHost(
            host.name, None if host.namespace is None else host.namespace.name, host.workdir
        )
        self._interface = interface
        self._addresses = b""
        self._switch: Bmv2Switch | None = None
        self._controller: Controller | None = None

    @classmethod
    def launch(
        cls, name: str, host: Host, interface: str, settings: Settings, output: Path
    ) -> RunningBmv2:
        """Start it and wait until it forwards; when a step fails, nothing stays. `settings` need no
        address yet. Raises EnvironmentLacks, DeploymentError."""
        if not isinstance(host, NamespaceHost) or host.namespace is None:
            raise DeploymentError(
                f"{name}: SFCMon's engine bmv2 runs in network namespaces of this machine alone",
                where=host.name,
                hint='use the driver "local", or the engine "ebpf"',
            )
        running = cls(host, interface)
        with all_or_nothing(running):
            try:
                running._start(name, settings, output)
            except (MeasurementError, DeploymentError) as error:
                if (gone := running._switch_problem()) is not None:
                    raise DeploymentError(f"{name}: {gone}", where=host.name) from error
                if isinstance(error, DeploymentError):
                    raise
                raise DeploymentError(
                    f"{name}: {error.message}", where=host.name, hint=error.hint
                ) from error
        return running

    def counters(self) -> Mapping[str, int]:
        """As RunningSfcmon.counters."""
        if (problem := self.problem()) is not None:
            raise MeasurementError(problem, where=self._host.name)
        return self._running.counters()

    def problem(self) -> str | None:
        """None while both processes run."""
        if self._switch is None or self._controller is None:
            return f"{BINARY} was not started"
        gone = self._switch_problem()
        return self._controller.problem() if gone is None else gone

    def facts(self) -> Mapping[str, Any]:
        """The engine."""
        return {"engine": "bmv2"}

    def flows(self) -> FlowReporter | None:
        """See RunningFunction.flows."""
        return self._running.flows()

    def pids(self) -> tuple[int, ...]:
        """The switch."""
        return () if self._switch is None else (self._switch.process.pid,)

    def stop(self) -> None:
        """The controller first, which ends its last window; addresses come back."""
        if self._controller is not None:
            self._controller.stop()
        if self._switch is not None:
            self._switch.stop()
        if self._addresses:
            with suppress(MeasurementError):
                self._ip("restore", stdin=self._addresses)
            self._addresses = b""

    def _switch_problem(self) -> str | None:
        """What is wrong if the switch has ended."""
        status = None if self._switch is None else self._switch.process.poll()
        if status is None:
            return None
        killed = f"; it needs {LEAST_MEMORY_MIB} MiB of memory" if status == -SIGKILL else ""
        return f"{BINARY} has ended with status {status}{killed}"

    def _start(self, name: str, settings: Settings, output: Path) -> None:
        # Without them the kernel answers no datagram of VXLAN-GPE with "port unreachable", and
        # Thrift, which listens at all addresses, can be reached from within the namespace alone.
        self._addresses = self._ip("save", "dev", self._interface)
        self._ip("flush", "dev", self._interface)
        self._switch = Bmv2Switch.launch(self._host, {SERVICE_PORT: self._interface})
        options = [settings.at(self._switch.address).text()]
        monitors = settings.program != Program.PLAIN.value
        sizes = settings.sizes if monitors else None
        self._controller = Controller.launch(name, self._controllers_host, options, sizes, output)
        self._controller.wait_ready()

    def _ip(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        argv = ["ip", "-4", "address", *arguments]
        return self._host.run(argv, timeout_s=_TOOL_TIMEOUT_S, stdin=stdin).stdout

    @property
    def _running(self) -> Controller:
        if self._controller is None:
            raise MeasurementError(f"{BINARY} was not started", where=self._host.name)
        return self._controller


def program_of(monitor: str) -> Program:
    """The program of a value of the knob `monitor`."""
    return {"sketches": Program.SKETCHES, "table": Program.TABLE, "none": Program.PLAIN}[monitor]


def overhead_bytes(encapsulation: str) -> int:
    """What is in front of the IP packet in frames of SFCPerf's SFFs: Ethernet or VXLAN-GPE, an NSH
    of MD type 1, Ethernet."""
    outer = _GPE_BYTES if encapsulation == "nsh-vxlan-gpe" else _ETHERNET_BYTES
    return outer + _NSH_BYTES + _ETHERNET_BYTES
