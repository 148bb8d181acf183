"""ab (ApacheBench): HTTP requests per second (PPTMon paper, Fig. 9), nginx serving."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf.active.ab.output import AbOutput, parse, parse_percentiles
from sfcperf.active.server import port_parameter, saturation_doubts
from sfcperf.active.tool_run import ToolOutput
from sfcperf.active.validity import LOSS_WARNING
from sfcperf.active.web_server import (
    NGINX,
    OBJECT_URI,
    PARAMETERS,
    USUAL_PORT,
    Load,
    WebProbe,
)
from sfcperf.counts import count_text
from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import array, flag, integer, object_schema
from sfcperf.results.values import Loss, Metric

_REQUESTS = 10_000
_MOST_REQUESTS = 10_000_000
_MOST_PER_S = 100_000
"""More requests per second than ab, a single thread, can make."""
_TYPICAL_REQUESTS_PER_S = 3_000
"""For the estimate of the duration only."""
_COMMAND_TIMEOUT_S = 30.0
_TABLE = "ab-percentiles.csv"

_METRICS = (
    Metric(
        "requests_per_s",
        "1/s",
        "requests per second that were answered correctly",
        better="higher",
        primary=True,
    ),
    Metric(
        "request_time_us",
        "us",
        "mean time from the start of a request's connection to the end of its reply",
        better="lower",
    ),
    Metric("request_time_median_us", "us", "median of this time", better="lower"),
    Metric("request_time_p95_us", "us", "95th percentile of this time", better="lower"),
    Metric("request_time_p99_us", "us", "99th percentile of this time", better="lower"),
    Metric("request_time_max_us", "us", "maximum of this time", better="lower"),
    Metric(
        "errors", "1", "requests that failed or were answered incorrectly", better="lower", tick=1.0
    ),
)


class Ab(WebProbe):
    """HTTP requests from ab to an nginx that the probe starts on the server endpoint.

    This is a closed loop: ab keeps `concurrency` requests in flight until all are done, so the
    chain determines the rate, and the mean time of a request is concurrency / rate (Little's law).
    By default, each request has its own connection, as in the paper, so the rate includes the work
    of VNFs for each connection; with `keep_alive` it does not.
    """

    name = "ab"
    reported = _METRICS
    needs = (("ab", "apache2-utils", "-V"), NGINX)
    longer_test = "raise requests, or set duration_s instead"
    title = "Rate of HTTP requests, and percentiles of their time (ApacheBench)"
    parameters = object_schema(
        {
            "requests": integer(
                f"Number of requests. Default: {_REQUESTS}, or as many as duration_s has room for.",
                (100, _MOST_REQUESTS),
            ),
            "duration_s": integer(
                "The test ends after this time, seconds, however many requests were made. Default: "
                "it ends when all requests were made.",
                (1, 3600),
            ),
            "concurrency": integer("Requests in flight at a time.", (1, 100), default=16),
            "keep_alive": flag(
                "Whether connections carry many requests. If not, each request has its own."
            ),
            "timeout_s": integer(
                "The test fails if no data arrive for this long, seconds.",
                (1, 60),
                default=5,
            ),
            "port": port_parameter(
                "TCP port that requests are sent to: that of the server or of a load balancer.",
                USUAL_PORT,
                1,
            ),
            "server_ports": array(
                "TCP ports that nginx listens on: the backends of a load balancer, whose own port "
                "is `port`. Default: port.",
                {"type": "integer", "minimum": 1024, "maximum": 65_535},
                minItems=1,
                maxItems=64,
                uniqueItems=True,
            ),
            **PARAMETERS,
        },
        dependentRequired={"server_ports": ["port"]},
    )

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the parameter `duration_s`, or less if a short chain usually carries the requests
        sooner."""
        needed_s = _requests(parameters) / _TYPICAL_REQUESTS_PER_S
        return min(needed_s, float(parameters.get("duration_s", needed_s)))

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return half of the packets that carry a request, or open and close its connection. If
        the time ends the test, only one request is sure to be made."""
        each = 1 if parameters["keep_alive"] else 3
        requests = 1 if "duration_s" in parameters else _requests(parameters)
        return max(1, requests * each // 2)

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start nginx, and make `concurrency` requests, so that no measured one waits for ARP."""
        parameters = self.parameters
        self._port = self.server_port(deployment.server.host)
        self.serve(deployment, raw_dir, parameters.get("server_ports", [self._port]))
        self._ab(deployment, raw_dir, "ab-warmup", parameters["concurrency"])

    def load(self, deployment: Deployment, raw_dir: Path) -> Load:
        """Run ab on the client, and read its output and its table of percentiles. Raises
        MeasurementError when ab fails or no request gets a good reply."""
        table = self._table(deployment)
        output = self._ab(deployment, raw_dir, "ab", _requests(self.parameters), table)
        result = parse(output.stdout)
        if result.good == 0:
            raise MeasurementError(
                f"no good reply to {result.requests} requests ({result.failed} failed, "
                f"{result.not_2xx} with a status other than 2xx; causes {dict(result.failures)})"
            )
        deployment.client.host.get(table, raw_dir / table.name)
        printed = (raw_dir / table.name).read_text(errors="replace")
        times_us = parse_percentiles(printed, result.requests)
        return Load(
            result.duration_s,
            {
                "requests_per_s": result.requests_per_s,
                "request_time_us": result.time_per_request_us,
                "request_time_median_us": times_us[50],
                "request_time_p95_us": times_us[95],
                "request_time_p99_us": times_us[99],
                "request_time_max_us": times_us[100],
                "errors": result.requests - result.good,
            },
            doubts(result, self.parameters, output.cpu_ratio),
            {
                "requests": result.requests,
                "concurrency": result.concurrency,
                "kept_connections": result.kept,
                "failures": dict(result.failures),
                "client_cpu_ratio": None
                if output.cpu_ratio is None
                else round(output.cpu_ratio, 3),
            },
            request_loss(result),
        )

    def _ab(
        self,
        deployment: Deployment,
        raw_dir: Path,
        name: str,
        requests: int,
        table: Path | None = None,
    ) -> ToolOutput:
        """Run ab with so many requests; outputs go to files named after `name`. With `table`, ab
        writes its percentiles there. Raises MeasurementError when ab fails."""
        parameters = self.parameters
        # -r: a connection that breaks off is counted, and does not end the test.
        argv = ["ab", "-q", "-r"]
        # -t sets a number of requests of its own, so it comes before -n, which overrides that.
        argv += ["-t", str(parameters["duration_s"])] if "duration_s" in parameters else []
        argv += ["-n", str(requests), "-c", str(parameters["concurrency"])]
        argv += ["-s", str(parameters["timeout_s"]), *(["-k"] if parameters["keep_alive"] else [])]
        argv += [] if table is None else ["-e", str(table)]
        argv.append(f"http://{deployment.server.address}:{self._port}{OBJECT_URI}")
        return self.run_on_client(deployment, raw_dir, name, argv, meter_cpu=True)

    def _table(self, deployment: Deployment) -> Path:
        """Return the path on the client where ab is to write its table of percentiles. A table of
        an earlier test is removed, so that it is not read after a test that fails."""
        host = deployment.client.host
        table = host.workdir / _TABLE
        host.run(["mkdir", "-p", str(table.parent)], timeout_s=_COMMAND_TIMEOUT_S)
        host.run(["rm", "-f", str(table)], timeout_s=_COMMAND_TIMEOUT_S)
        return table


def _requests(parameters: Mapping[str, Any]) -> int:
    """Return the largest number of requests that ab may make. Where only the time ends the test, it
    is bounded by what ab can make in that time, because ab reserves memory for each request at the
    start."""
    in_time = min(_MOST_REQUESTS, _MOST_PER_S * parameters.get("duration_s", 0))
    return int(parameters.get("requests", in_time or _REQUESTS))


def request_loss(output: AbOutput) -> Loss:
    """Return the requests that failed or got no good reply. The text names ab's counts by cause."""
    causes = {**output.failures, "write": output.write_errors, "status": output.not_2xx}
    named = ", ".join(f"{cause} {count}" for cause, count in causes.items() if count)
    return Loss(
        min(output.requests, max(output.requests - output.good, output.write_errors)),
        output.requests,
        f"requests failed ({named})" if named else "requests failed",
        "rate and times are those of the others",
        LOSS_WARNING,
        changes_load=True,
    )


def doubts(output: AbOutput, parameters: Mapping[str, Any], cpu_ratio: float | None) -> list[str]:
    """Say why the numbers of a test should not be believed. `parameters` are those of the probe.
    `cpu_ratio` is the share of one CPU that ab used, or None if ab ended before its CPU time was
    read."""
    reasons = []
    if "duration_s" not in parameters and output.requests < _requests(parameters):
        reasons.append(f"ab made {output.requests} of the {_requests(parameters)} requests")
    if output.not_2xx or output.document_bytes != parameters["object_bytes"]:
        reasons.append(
            f"the server did not serve the object: {count_text(output.not_2xx, 'other reply')}, "
            f"first reply of {output.document_bytes} bytes"
        )
    return reasons + saturation_doubts("sender", "ab", cpu_ratio)
