"""Runs one test of iperf3: its server and its client, and counts what the endpoints lost
meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.active.iperf3.output import Iperf3Output, parse
from sfcperf.active.losses import EndpointLosses
from sfcperf.active.mtu import UDP_HEADER_BYTES, check_payload, largest_payload_bytes
from sfcperf.active.server import start_server
from sfcperf.active.tool_run import ToolOutput, run_tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.management.deployment import Deployment

MAXIMUM = "maximum"
USUAL_PORT = 5201
UDP_BUFFER_BYTES = 4 * 2**20
"""Size of the socket buffers for UDP. It holds some 30 ms of datagrams at 60,000 per second;
Linux's default holds 1.5 ms."""
SOCKET_BUFFER_LIMITS = (4096, 536_870_912)
_TIMEOUT_MARGIN_S = 20.0
_CONNECT_TIMEOUT_MS = 5000
_BUFFER_LIMITS = ("/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max")


@dataclass(frozen=True)
class Iperf3Test:
    """One test of iperf3, client to server: first `serve`, then `run`."""

    parameters: Mapping[str, Any]
    """Parameters as the probe `iperf3` has them."""
    port: int
    """Port of the server."""

    def serve(self, deployment: Deployment, raw_dir: Path) -> Process:
        """Start a server for this one test. Raises MeasurementError when it does not listen, or
        when datagrams of the payload asked for would be fragmented."""
        parameters, server = self.parameters, deployment.server
        if parameters["protocol"] == "udp" and "payload_bytes" in parameters:
            check_payload(deployment.client, parameters["payload_bytes"], UDP_HEADER_BYTES)
        argv = ["iperf3", "--server", "--one-off", "--json", "--forceflush"]
        argv += ["--bind", server.address, "--port", str(self.port)]
        return start_server(
            server.host,
            argv,
            port=self.port,
            stdout=raw_dir / "iperf3-server.json",
            stderr=raw_dir / "iperf3-server.stderr.txt",
        )

    def run(self, deployment: Deployment, raw_dir: Path) -> tuple[Iperf3Output, EndpointLosses]:
        """Run the client. Return its report and what the endpoints lost meanwhile. Raises
        MeasurementError when iperf3 fails or does not end in time, its report cannot be read, or an
        endpoint lacks its interface."""
        before = EndpointLosses.read(deployment)
        output = self._client(deployment, raw_dir)
        losses = EndpointLosses.read(deployment).since(before)
        if not output.stdout.strip():
            raise MeasurementError(f"iperf3 failed: {output.complaint()}")
        return parse(output.stdout), losses

    def _client(self, deployment: Deployment, raw_dir: Path) -> ToolOutput:
        """Run the client to its end. The exit status is not checked: the report has the error."""
        return run_tool(
            deployment.client.host,
            self._argv(deployment),
            timeout_s=self.parameters["duration_s"] + self.parameters["omit_s"] + _TIMEOUT_MARGIN_S,
            stdout=raw_dir / "iperf3-client.json",
            stderr=raw_dir / "iperf3-client.stderr.txt",
        )

    def _argv(self, deployment: Deployment) -> list[str]:
        """Return the command of the client."""
        parameters = self.parameters
        argv = ["iperf3", "--client", deployment.server.address, "--port", str(self.port)]
        argv += ["--json", "--get-server-output", "--connect-timeout", str(_CONNECT_TIMEOUT_MS)]
        argv += ["--time", str(parameters["duration_s"]), "--omit", str(parameters["omit_s"])]
        argv += ["--parallel", str(parameters["streams"])]
        # iperf3's --bitrate is the rate of one stream; 0 means unlimited.
        rate_bps = (
            0
            if parameters["rate_bps"] == MAXIMUM
            else parameters["rate_bps"] // parameters["streams"]
        )
        argv += ["--bitrate", str(rate_bps)]
        if parameters["protocol"] == "udp":
            largest = largest_payload_bytes(deployment.client, UDP_HEADER_BYTES)
            argv += ["--udp", "--length", str(parameters.get("payload_bytes", largest))]
        elif "payload_bytes" in parameters:
            argv += ["--set-mss", str(parameters["payload_bytes"])]
        if "write_bytes" in parameters:
            argv += ["--length", str(parameters["write_bytes"])]
        buffer_bytes = parameters.get("socket_buffer_bytes")
        if buffer_bytes is None and parameters["protocol"] == "udp":
            buffer_bytes = largest_buffer_bytes(deployment, UDP_BUFFER_BYTES)
        if buffer_bytes is not None:
            argv += ["--window", str(buffer_bytes)]
        if "congestion" in parameters:
            argv += ["--congestion", parameters["congestion"]]
        return argv


def largest_buffer_bytes(deployment: Deployment, wanted: int) -> int | None:
    """Return the size of socket buffers to ask for: `wanted`, or the least of the hosts' limits if
    that is smaller.

    None when a host does not show its limits (before Linux 6.9, a container with a network
    namespace of its own has no such files): then no size is known that would surely be granted.
    """
    hosts = (deployment.client.host, deployment.server.host)
    try:
        limits = [int(host.read_text(path)) for host in hosts for path in _BUFFER_LIMITS]
    except (MeasurementError, ValueError):
        return None
    return min(wanted, *limits)
