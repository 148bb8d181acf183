"""ab (ApacheBench): HTTP requests per second (PPTMon paper, Fig. 9), nginx serving.

ab keeps a number of requests in flight, the next one starting when one has ended, until all are
done: a closed loop. So the rate is the chain's own at this concurrency, and the mean time of a
request is concurrency / rate (Little's law). By default each request has a connection of its own,
as in the paper: what per-connection work of VNFs costs (connection tracking, NAT, load balancing)
is in the figure. `keep_alive` shows the chain without it.

ab is a single thread that sleeps while it has nothing to do: when it used a whole CPU, the rate may
be its own. A request that failed ended early and made room for the next, so that the rate is not
what was asked for: such a trial is untrusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.active.ab_doubts import doubts
from sfcperf.active.ab_output import AbOutput, parse, parse_percentiles
from sfcperf.active.base import Probe, ProbeResult
from sfcperf.active.losses import EndpointLosses
from sfcperf.active.samples import samples
from sfcperf.active.tool_run import ToolOutput, run_tool
from sfcperf.active.web_server import OBJECT_URI, start_web_server
from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.hosts.procfs import process_cpu_s
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import Requirement
from sfcperf.results.values import Metric

_TYPICAL_REQUESTS_PER_S = 3_000
"""For the estimate of the duration only."""
_COMMAND_TIMEOUT_S = 30.0
_TABLE = "ab-percentiles.csv"
_STEP_S = 0.001
"""In which ab tells the duration."""

_METRICS = (
    Metric(
        "requests_per_s",
        "1/s",
        "requests per second that were answered with the object",
        better="higher",
        primary=True,
    ),
    Metric(
        "request_time_us",
        "us",
        "mean time from the start of a request's connection to the end of its reply",
        better="lower",
    ),
    Metric("request_time_median_us", "us", "its median", better="lower"),
    Metric("request_time_p95_us", "us", "its 95th percentile", better="lower"),
    Metric("request_time_p99_us", "us", "its 99th percentile", better="lower"),
    Metric("request_time_max_us", "us", "its maximum", better="lower"),
    Metric("errors", "1", "requests that failed, or were answered otherwise", better="lower"),
)


class Ab(Probe):
    """HTTP requests from ab to an nginx that the probe starts on the server endpoint."""

    name = "ab"
    title = "HTTP requests per second, and percentiles of their time (ApacheBench)"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "requests": {
                "type": "integer",
                "minimum": 100,
                "maximum": 10_000_000,
                "default": 10_000,
                "description": "Number of requests.",
            },
            "concurrency": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "default": 16,
                "description": "Requests in flight at a time.",
            },
            "keep_alive": {
                "type": "boolean",
                "default": False,
                "description": "Whether a connection serves one request after the other; else each "
                "request has one of its own.",
            },
            "object_bytes": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100_000_000,
                "default": 1024,
                "description": "Size of the object that is fetched, bytes.",
            },
            "timeout_s": {
                "type": "integer",
                "minimum": 1,
                "maximum": 60,
                "default": 5,
                "description": "When nothing came back for so long, seconds, the test has failed.",
            },
            "max_duration_s": {
                "type": "number",
                "minimum": 1,
                "maximum": 86_400,
                "default": 120,
                "description": "A test that takes longer than this, seconds, is stopped and has "
                "failed.",
            },
            "port": {
                "type": "integer",
                "minimum": 1,
                "maximum": 65_535,
                "default": 8080,
                "description": "TCP port that requests are sent to: the server's, or the virtual "
                "one of a load balancer.",
            },
            "server_ports": {
                "type": "array",
                "items": {"type": "integer", "minimum": 1024, "maximum": 65_535},
                "minItems": 1,
                "maxItems": 64,
                "uniqueItems": True,
                "description": "TCP ports that nginx serves at: the backends of a load balancer. "
                "Absent: port.",
            },
        },
    }

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._server: Process | None = None

    @classmethod
    def metrics(cls, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
        """The same with all parameters."""
        return _METRICS

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """ab at the client, nginx at the server."""
        return [
            tool("ab", "apache2-utils", ["ab", "-V"]),
            tool("nginx", "nginx", ["nginx", "-v"]),
        ]

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """From what a short chain usually carries."""
        return float(parameters["requests"]) / _TYPICAL_REQUESTS_PER_S

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Half of the packets that carry a request, or open and close its connection."""
        each = 1 if parameters["keep_alive"] else 3
        return int(parameters["requests"] * each // 2)

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """HTTP over TCP."""
        return frozenset({"tcp"})

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start nginx; one round of requests, so that no measured one waits for ARP."""
        asked = self.parameters
        port, *more = asked.get("server_ports", [asked["port"]])
        self._server = start_web_server(
            deployment.server,
            port=port,
            more_ports=more,
            object_bytes=asked["object_bytes"],
            raw_dir=raw_dir,
        )
        self._ab(deployment, raw_dir, "ab-warmup", asked["concurrency"])

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Load the chain. Raises MeasurementError when there was not one good reply."""
        table = self._table(deployment)
        before, cpu_before_s = EndpointLosses.read(deployment), self._server_cpu_s(deployment)
        output = self._ab(deployment, raw_dir, "ab", self.parameters["requests"], table)
        server_cpu_s = self._server_cpu_s(deployment) - cpu_before_s
        losses = EndpointLosses.read(deployment).since(before)
        seen = _read(output)
        # Over the time of the test alone: starting a tool on another machine takes a while.
        server_cpu_ratio = server_cpu_s / max(seen.duration_s, _STEP_S)
        deployment.client.host.get(table, raw_dir / table.name)
        notes = {
            "requests": seen.requests,
            "concurrency": seen.concurrency,
            "duration_s": seen.duration_s,
            "kept_connections": seen.kept,
            "failures": dict(seen.failures),
            "client_cpu_ratio": None if output.cpu_ratio is None else round(output.cpu_ratio, 3),
            "server_cpu_ratio": round(server_cpu_ratio, 3),
            "sender_interface_drops": losses.tx_drops,
        }
        reasons = doubts(seen, self.parameters, output.cpu_ratio, server_cpu_ratio)
        return ProbeResult(
            samples(_METRICS, _values(seen, raw_dir / table.name)),
            (*reasons, *losses.of_interface(deployment.client)),
            notes,
        )

    def cleanup(self) -> None:
        """Stop nginx."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _ab(
        self,
        deployment: Deployment,
        raw_dir: Path,
        name: str,
        requests: int,
        table: Path | None = None,
    ) -> ToolOutput:
        asked = self.parameters
        # -r: a connection that breaks off is counted, and does not end the test.
        argv = ["ab", "-q", "-r", "-n", str(requests), "-c", str(asked["concurrency"])]
        argv += ["-s", str(asked["timeout_s"]), *(["-k"] if asked["keep_alive"] else [])]
        argv += [] if table is None else ["-e", str(table)]
        argv.append(f"http://{deployment.server.address}:{asked['port']}{OBJECT_URI}")
        return run_tool(
            deployment.client.host,
            argv,
            timeout_s=asked["max_duration_s"],
            stdout=raw_dir / f"{name}.txt",
            stderr=raw_dir / f"{name}.stderr.txt",
            meter_cpu=True,
        )

    def _table(self, deployment: Deployment) -> Path:
        """Where ab is to write its percentiles, on the client; none of an earlier test is there."""
        host = deployment.client.host
        table = host.workdir / _TABLE
        host.run(["mkdir", "-p", str(table.parent)], timeout_s=_COMMAND_TIMEOUT_S)
        host.run(["rm", "-f", str(table)], timeout_s=_COMMAND_TIMEOUT_S)
        return table

    def _server_cpu_s(self, deployment: Deployment) -> float:
        if self._server is None or self._server.poll() is not None:
            raise MeasurementError("nginx does not run", hint="see nginx.stderr.txt of the trial")
        return process_cpu_s(deployment.server.host.read_text(f"/proc/{self._server.pid}/stat"))


def _read(output: ToolOutput) -> AbOutput:
    """Raises MeasurementError when ab failed or has not one good reply."""
    if output.returncode != 0:
        raise MeasurementError(f"ab failed: {output.complaint()}")
    seen = parse(output.stdout)
    if seen.good == 0:
        raise MeasurementError(
            f"no good reply to {seen.requests} requests ({seen.failed} failed, {seen.not_2xx} "
            f"with another status than 2xx; causes {dict(seen.failures)})"
        )
    return seen


def _values(seen: AbOutput, table: Path) -> dict[str, float | None]:
    """Metric -> its number."""
    times_us = parse_percentiles(table.read_text(errors="replace"))
    return {
        "requests_per_s": seen.requests_per_s,
        "request_time_us": seen.time_per_request_us,
        "request_time_median_us": times_us[50],
        "request_time_p95_us": times_us[95],
        "request_time_p99_us": times_us[99],
        "request_time_max_us": times_us[100],
        "errors": seen.requests - seen.good,
    }
