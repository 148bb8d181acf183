"""The DPI as a VNF type: nDPI's ndpiReader inspects what the kernel forwards."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.environment.tools import tool
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.patience import Patience
from sfcperf.hosts.procfs import process_cpu_s
from sfcperf.plugins import Requirement
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction
from sfcperf.vnfs.dpi import ndpi_output
from sfcperf.vnfs.dpi.line_buffered import COMMAND, line_buffered
from sfcperf.vnfs.kernel_forwarding import KernelForwarding

PROTOCOLS_FILE = "protocols.txt"
START_TIMEOUT_S = 30.0
END_TIMEOUT_S = 10.0
_POLL_S = 0.01
_starts = itertools.count()


class Dpi(NetworkFunction):
    """Forwards IPv4; a process beside it looks into every packet."""

    name: ClassVar[str] = "dpi"
    title: ClassVar[str] = "deep packet inspection by nDPI beside kernel forwarding"
    nsh_aware: ClassVar[bool] = False
    interfaces: ClassVar[int] = 2
    folder: ClassVar[Path] = Path(__file__).resolve().parent
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "engine": {
                "description": "What inspects: nDPI's ndpiReader, on the ingress interface.",
                "enum": ["ndpireader"],
                "default": "ndpireader",
            },
            "report_s": {
                "description": "Period of ndpiReader's reports, seconds: counters of what it "
                "found grow when a period ends, and flows are detected anew.",
                "type": "integer",
                "minimum": 1,
                "maximum": 3600,
                "default": 10,
            },
        },
    }

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """`ip`, `sysctl`, `ndpiReader`, and `stdbuf` to read its reports as they come."""
        tools = [tool("ndpiReader", "libndpi-bin"), tool(COMMAND, "coreutils")]
        return [*kernel_forwarding.requirements(), *tools]

    @classmethod
    def tools(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Not stdbuf: of that the library alone is needed there."""
        return tuple(name for name in super().tools(knobs) if name != COMMAND)

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningDpi:
        """Routes, ndpiReader until it captures, then forwarding on."""
        output = attachment.outputs / f"{attachment.name}-{next(_starts)}.ndpi"
        with kernel_forwarding.deployment_errors(host, attachment):
            protocols = host.workdir / f"{attachment.name}-{PROTOCOLS_FILE}"
            host.put(cls.folder / PROTOCOLS_FILE, protocols)
            argv = ["ndpiReader", "-i", attachment.interfaces[0]]
            argv += ["-p", str(protocols), "-m", str(int(knobs["report_s"]))]
            argv = line_buffered(host, argv)
            inspector = host.spawn(argv, stdout=output, stderr=output.with_suffix(".err"))
            try:
                running = RunningDpi(host, attachment, inspector, output)
            except BaseException:
                inspector.stop()
                raise
            with kernel_forwarding.all_or_nothing(running):
                running.add_routes()
                running.wait_ready()
                running.forward()
        return running


class RunningDpi(KernelForwarding):
    """A host whose kernel forwards, and its inspector."""

    def __init__(
        self, host: Host, attachment: Attachment, inspector: Process, output: Path
    ) -> None:
        super().__init__(host, attachment)
        self._name = attachment.name
        self._inspector = inspector
        self._output = output
        self._cpu_ms = 0

    def wait_ready(self) -> None:
        """Return when packets are inspected. Raises DeploymentError when they never will be."""
        patience = Patience(START_TIMEOUT_S, _POLL_S)
        while ndpi_output.READY not in self._printed():
            if self._inspector.poll() is not None or patience.over:
                said = self._printed().strip().splitlines()[-1:] or ["nothing"]
                raise DeploymentError(
                    f"{self._name}: ndpiReader does not capture; it said: {said[0]}",
                    where=self._host.name,
                )
            patience.pause()

    def counters(self) -> Mapping[str, int]:
        """As of kernel forwarding; `inspector_cpu_ms`, CPU time that ndpiReader has spent; and
        what it found up to the end of its last period: see `ndpi_output.counters`. After `stop`
        that is everything. Raises MeasurementError."""
        found = ndpi_output.counters(self._printed())
        return {**super().counters(), "inspector_cpu_ms": self._spent_ms(), **found}

    def problem(self) -> str | None:
        """Also when ndpiReader has ended."""
        status = self._inspector.poll()
        if status is not None:
            return f"ndpiReader has ended with status {status}"
        return super().problem()

    def pids(self) -> tuple[int, ...]:
        """ndpiReader's."""
        return (self._inspector.pid,)

    def take_away(self) -> None:
        """ndpiReader, which tells what it has found."""
        if self._inspector.poll() is None:
            self._spent_ms()
            self._inspector.send_signal(signal.SIGINT)
            with suppress(MeasurementError):
                self._inspector.wait(END_TIMEOUT_S)
        self._inspector.stop()

    def _printed(self) -> str:
        try:
            return self._output.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def _spent_ms(self) -> int:
        """Of a process that has ended: what was known last."""
        with suppress(MeasurementError):
            stat = self._host.read_text(f"/proc/{self._inspector.pid}/stat")
            self._cpu_ms = max(self._cpu_ms, round(process_cpu_s(stat) * 1000))
        return self._cpu_ms
