"""tcp-connect: how long the TCP handshake takes through the chain, by curl."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.active.base import Probe, ProbeResult
from sfcperf.active.server import start_server
from sfcperf.active.tool_run import run_tool
from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import Requirement
from sfcperf.results.values import Metric, Sample

CONNECT_TIME = Metric(
    "connect_time_us",
    "us",
    "time from the first SYN to the established connection",
    better="lower",
    primary=True,
)
FAILURES = Metric("failure_ratio", "1", "connections that were not established", better="lower")


class TcpConnect(Probe):
    """Opens connections one after the other; each is a sample."""

    name = "tcp-connect"
    title = "Time to establish a TCP connection"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "connections": {
                "type": "integer",
                "minimum": 1,
                "maximum": 10_000,
                "default": 20,
                "description": "Connections per trial.",
            },
            "port": {
                "type": "integer",
                "minimum": 1,
                "maximum": 65_535,
                "default": 8080,
                "description": "TCP port of the server.",
            },
        },
    }

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._server: Process | None = None

    @classmethod
    def metrics(cls, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
        """Handshake time, and how many handshakes failed."""
        return (CONNECT_TIME, FAILURES)

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Curl, the client."""
        return [tool("curl", "curl", ["curl", "--version"])]

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """A few milliseconds for each connection."""
        return 0.005 * float(parameters["connections"])

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """At the very least the SYN of each connection."""
        return int(parameters["connections"])

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """TCP, to the parameter `port`."""
        return frozenset({"tcp"})

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """A web server: it speaks HTTP/1.0, so that no connection is used twice."""
        server, port = deployment.server, self.parameters["port"]
        self._server = start_server(
            server.host,
            [sys.executable, "-m", "http.server", "--bind", server.address, str(port)],
            port=port,
            stdout=raw_dir / "server.out",
            stderr=raw_dir / "server.err",
        )

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """One curl for all connections. Raises MeasurementError when none is established."""
        count = self.parameters["connections"]
        url = f"http://{deployment.server.address}:{self.parameters['port']}/?[1-{count}]"
        argv = ["curl", "--silent", "--head", "--output", "/dev/null", "--connect-timeout", "5"]
        output = run_tool(
            deployment.client.host,
            [*argv, "--write-out", "%{exitcode} %{time_connect}\n", url],
            timeout_s=10 + 6 * count,
            stdout=raw_dir / "curl.out",
            stderr=raw_dir / "curl.err",
        )
        times_us = connect_times_us(output.stdout)
        if not times_us:
            raise MeasurementError(f"no connection was established: {output.complaint()}")
        failures = Sample(FAILURES.name, FAILURES.unit, 1 - len(times_us) / count)
        return ProbeResult((*(Sample(CONNECT_TIME.name, "us", t) for t in times_us), failures))

    def cleanup(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.stop()


def connect_times_us(text: str) -> list[float]:
    """Times of the connections that were established, from curl's lines `EXITCODE SECONDS`.

    Raises MeasurementError for other text.
    """
    try:
        rows = [line.split() for line in text.splitlines()]
        return [float(seconds) * 1e6 for exit_code, seconds in rows if int(exit_code) == 0]
    except ValueError as error:
        raise MeasurementError(f"curl printed something unexpected: {text[:200]!r}") from error
