"""The DPI as a VNF type: nDPI's ndpiReader inspects what the kernel forwards."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfcperf.environment.tools import tool
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import used_cpu_s
from sfcperf.plugins import Requirement, choice, integer, object_schema
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.dpi import ndpi_output
from sfcperf.vnfs.dpi.line_buffered import COMMAND, line_buffered
from sfcperf.vnfs.kernel_forwarding import KernelForwarding, KernelFunction

PROTOCOLS = Path(__file__).parent / "protocols.txt"
START_TIMEOUT_S = 30.0
END_TIMEOUT_S = 10.0
_POLL_S = 0.01
_starts = itertools.count()
"""Numbers for names of files: each start has files of its own."""


class RunningDpi(KernelForwarding):
    """A host whose kernel forwards, and an ndpiReader process that inspects what arrives at the
    ingress. The constructor starts ndpiReader."""

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        super().__init__(host, attachment, knobs)
        self._cpu_ms = 0
        self._output = attachment.outputs / f"{attachment.name}-{next(_starts)}.ndpi"
        protocols = host.workdir / f"{attachment.name}-{PROTOCOLS.name}"
        host.put(PROTOCOLS, protocols)
        argv = ["ndpiReader", "-i", attachment.interfaces[0]]
        argv += ["-p", str(protocols), "-m", str(int(knobs["report_s"]))]
        self._inspector = host.spawn(
            line_buffered(host, argv), stdout=self._output, stderr=self._output.with_suffix(".err")
        )

    def set_up(self) -> None:
        """Return when packets are inspected. Raises DeploymentError when they never will be."""

        def captures() -> bool:
            return ndpi_output.READY in self._printed()

        if not self._inspector.becomes(captures, timeout_s=START_TIMEOUT_S, period_s=_POLL_S):
            lines = self._printed().strip().splitlines() or ["nothing"]
            raise DeploymentError(
                f"{self._attachment.name}: ndpiReader does not capture; it said: {lines[-1]}",
                where=self._host.name,
            )

    def counters(self) -> Mapping[str, int]:
        """Return the counters of kernel forwarding; `inspector_cpu_ms`, CPU time that ndpiReader
        has used; and what it found up to the end of its last period: see `ndpi_output.counters`.
        After `stop` that is all that it has inspected. Raises MeasurementError."""
        found = ndpi_output.counters(self._printed())
        return {**super().counters(), "inspector_cpu_ms": self._used_ms(), **found}

    def problem(self) -> str | None:
        """Return why ndpiReader has ended or kernel forwarding does not work, None while both
        work."""
        status = self._inspector.poll()
        if status is not None:
            return f"ndpiReader has ended with status {status}"
        return super().problem()

    def pids(self) -> tuple[int, ...]:
        """Return the id of the ndpiReader process."""
        return (self._inspector.pid,)

    def take_away(self) -> None:
        """End ndpiReader, which prints what it has found."""
        if self._inspector.poll() is None:
            # Keep the CPU time for `counters`: it cannot be read when the process has ended.
            self._used_ms()
            self._inspector.send_signal(signal.SIGINT)
            with suppress(MeasurementError):
                self._inspector.wait(END_TIMEOUT_S)
        self._inspector.stop()

    def _printed(self) -> str:
        """Return what ndpiReader has printed so far; empty before its file exists."""
        try:
            return self._output.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def _used_ms(self) -> int:
        """Return the CPU time that ndpiReader has used, ms; when it has ended, what was read
        last."""
        used_ms = round(used_cpu_s(self._host, self._inspector.pid) * 1000)
        self._cpu_ms = max(self._cpu_ms, used_ms)
        return self._cpu_ms


class Dpi(KernelFunction):
    """The kernel forwards IPv4 while a process inspects every packet."""

    name = "dpi"
    title = "Deep packet inspection by nDPI, next to kernel forwarding"
    running = RunningDpi
    parameters = object_schema(
        {
            "engine": choice(
                "Inspector: nDPI's ndpiReader, on the ingress interface.",
                ["ndpireader"],
                default="ndpireader",
            ),
            "report_s": integer(
                "Period of ndpiReader's reports, seconds. Counters of protocols and flows grow at "
                "the end of a period, and flows are detected again in the next.",
                (1, 3600),
                default=10,
            ),
        }
    )

    @classmethod
    def own_requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require `ndpiReader`, and `stdbuf` to read its reports as they come."""
        return [tool("ndpiReader", "libndpi-bin"), tool(COMMAND, "coreutils")]

    @classmethod
    def tools(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the commands, but not stdbuf: the host needs only its library, which
        `line_buffered` brings."""
        return tuple(name for name in super().tools(knobs) if name != COMMAND)
