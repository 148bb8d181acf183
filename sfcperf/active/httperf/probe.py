"""httperf: rate of HTTP requests that the chain supports (SFCPerf paper, Fig. 8a) by nginx."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf.active.httperf.output import HttperfOutput, parse
from sfcperf.active.server import port_parameter
from sfcperf.active.validity import loss_parameter
from sfcperf.active.web_server import NGINX, OBJECT_URI, PARAMETERS, USUAL_PORT, Load, WebProbe
from sfcperf.counts import count_text
from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import integer, number, object_schema
from sfcperf.results.values import Loss, Metric

MAXIMUM = "maximum"
_ALL_AT_ONCE_PER_S = 10_000
"""Rate at which the connections of the closed loop are opened: so high that all are open at
once."""
_TYPICAL_REPLIES_PER_S = 2_000
"""Estimated rate of a short chain, only for the duration that plans show."""
_FIRST_CALLS = 10
"""Calls on each connection of the first test that looks for the right number."""
_CALLS_FACTOR = 8
"""Factor by which the number of calls grows at most, from one test to the next and to the trial. A
larger step would trust a test that is too short: a pause of the machine can make a test of ten
calls a hundred times as slow. The first test, of a cold server, never decides."""
_TELLING_S = 1.0
"""Duration of a test that tells the rate well enough, however few calls it had."""
_RATE_TOLERANCE = 0.05

_METRICS = (
    Metric("replies_per_s", "1/s", "HTTP replies per second", better="higher", primary=True),
    Metric(
        "response_time_us",
        "us",
        "mean time from a request to the first byte of its reply (in steps of 100 us)",
        better="lower",
        tick=100.0,
    ),
    Metric(
        "transfer_time_us",
        "us",
        "mean time from the first to the last byte of a reply (in steps of 100 us)",
        better="lower",
        tick=100.0,
    ),
    Metric(
        "connection_time_us",
        "us",
        "mean time to establish a TCP connection (in steps of 100 us)",
        better="lower",
        tick=100.0,
    ),
    Metric("errors", "1", "connections and calls that failed", better="lower", tick=1.0),
)


class Httperf(WebProbe):
    """HTTP requests from httperf to an nginx that the probe starts on the server endpoint.

    With `rate_per_s` "maximum", the test is a closed loop: each connection sends its next request
    when it has the reply to the previous one, so the chain determines the rate at this concurrency.
    A connection that timed out sends nothing more. httperf takes a number of calls, not a time:
    short tests beforehand find the number that takes about `duration_s`.

    With a number, it is an open loop: httperf opens connections at this rate, whether or not the
    chain keeps up. If it does not, there are timeouts and fewer replies.

    httperf polls its sockets without sleeping, so its CPU use does not show whether httperf is
    saturated. In the open loop, its rate does; in the closed loop, compare with a chain of length
    0.
    """

    name = "httperf"
    reported = _METRICS
    needs = (("httperf", "httperf", "--version"), NGINX)
    longer_test = "raise calls_per_connection or leave it out"
    title = "Rate of HTTP replies, response time and errors"
    parameters = object_schema(
        {
            "connections": integer(
                "Number of TCP connections. With rate_per_s "
                f'"{MAXIMUM}", all are open at once, at most 1000.',
                (1, 1_000_000),
                default=16,
            ),
            "calls_per_connection": integer(
                "HTTP requests on each connection, one after the other. Default: with rate_per_s "
                f'"{MAXIMUM}" as many as take duration_s, otherwise 1.',
                (1, 1_000_000),
            ),
            "duration_s": number(
                "How long the test should take, seconds, if calls_per_connection is absent and "
                f'rate_per_s is "{MAXIMUM}". Otherwise, these determine the duration.',
                (0.2, 3600),
                default=2,
            ),
            "rate_per_s": {
                "oneOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": MAXIMUM}],
                "default": MAXIMUM,
                "description": "New connections per second, whether or not the chain keeps up; or "
                f'"{MAXIMUM}": all connections at once, each of which sends its next request when '
                "it has the reply to the previous one.",
            },
            "timeout_s": number(
                "A connection or call fails if it makes no progress for this long, seconds.",
                (0.1, 60),
                default=5,
            ),
            "loss_warning": loss_parameter(
                'requests without a good reply at a rate_per_s in numbers (at "maximum", one such '
                "request makes the trial untrusted)"
            ),
            **PARAMETERS,
            "port": port_parameter("TCP port of the server.", USUAL_PORT),
        },
        **{"if": {"properties": {"rate_per_s": {"const": MAXIMUM}}}},
        then={"properties": {"connections": {"maximum": 1000}}},
    )

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._calls: int = parameters.get("calls_per_connection", 1)
        """Requests on each connection of the trial; `prepare` may find a better number."""

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the time that the parameters ask for. For a given number of calls in a closed
        loop, it is estimated from the rate that a short chain usually carries."""
        connections = float(parameters["connections"])
        if parameters["rate_per_s"] != MAXIMUM:
            return connections / float(parameters["rate_per_s"])
        if "calls_per_connection" in parameters:
            return connections * float(parameters["calls_per_connection"]) / _TYPICAL_REPLIES_PER_S
        return float(parameters["duration_s"])

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return half of the packets of all connections, of which each has a SYN, its requests and
        a FIN. It is half of them because an overloaded chain loses some."""
        connections: int = parameters["connections"]
        calls: int = parameters.get("calls_per_connection", 1)
        return max(1, connections * (calls + 2) // 2)

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start nginx. In a closed loop without a given number of calls, also find out by short
        tests how many calls take `duration_s`."""
        parameters = self.parameters
        self._port = self.server_port(deployment.server.host)
        self.serve(deployment, raw_dir, [self._port])
        if parameters["rate_per_s"] == MAXIMUM and "calls_per_connection" not in parameters:
            self._calls = self._calls_that_take(parameters["duration_s"], deployment, raw_dir)

    def load(self, deployment: Deployment, raw_dir: Path) -> Load:
        """Run httperf on the client, and read rates, times and errors from its output. Raises
        MeasurementError when httperf fails or no request gets a good reply."""
        output = self._httperf(deployment, raw_dir, "httperf", self._calls)
        return Load(
            output.duration_s,
            {
                "replies_per_s": output.replies_per_s,
                "response_time_us": output.response_us,
                "transfer_time_us": output.transfer_us,
                "connection_time_us": output.connect_us,
                "errors": output.errors.total,
            },
            self._doubts(output),
            {
                "connections": output.connections,
                "calls_per_connection": self._calls,
                "requests": output.requests,
                "replies": output.replies,
                "most_concurrent_connections": output.most_concurrent,
                "client_cpu_ratio": output.client_cpu_ratio,
                "timeouts": output.errors.client_timeout,
            },
            self.loss(output),
        )

    def loss(self, output: HttperfOutput) -> Loss:
        """Return the requests without a good reply. Requests that were never sent, because their
        connection had broken, count too."""
        wanted = max(output.connections * self._calls, output.requests)
        lost = max(wanted - output.status["2xx"], output.errors.of_chain)
        return Loss(
            min(wanted, lost),
            wanted,
            f"requests got no good reply ({output.errors.text()})",
            "rate and times are those of the others",
            self.parameters["loss_warning"],
            changes_load=self.parameters["rate_per_s"] == MAXIMUM,
        )

    def _calls_that_take(self, duration_s: float, deployment: Deployment, raw_dir: Path) -> int:
        """Find by tests the number of calls on each connection that takes about `duration_s`. Each
        test has more calls than the one before, until one is long enough to tell the rate."""
        connections: int = self.parameters["connections"]
        calls, is_cold = _FIRST_CALLS, True
        while True:
            output = self._httperf(deployment, raw_dir, "httperf-warmup", calls)
            wanted = max(1, round(output.replies_per_s * duration_s / connections))
            most = calls * _CALLS_FACTOR
            if output.duration_s >= _TELLING_S or (wanted <= most and not is_cold):
                return wanted
            calls, is_cold = min(wanted, most), False

    def _httperf(
        self, deployment: Deployment, raw_dir: Path, name: str, calls: int
    ) -> HttperfOutput:
        """Run httperf with so many calls on each connection; outputs go to files named after
        `name`. Raises MeasurementError when it fails or gets not one good reply."""
        parameters = self.parameters
        rate = parameters["rate_per_s"]
        # --hog: local ports of the whole range, not only 1024 to 5000.
        argv = ["httperf", "--hog", "--server", deployment.server.address]
        argv += ["--port", str(self._port), "--uri", OBJECT_URI]
        argv += ["--num-conns", str(parameters["connections"])]
        argv += ["--num-calls", str(calls)]
        argv += ["--rate", str(_ALL_AT_ONCE_PER_S if rate == MAXIMUM else rate)]
        argv += ["--timeout", str(parameters["timeout_s"])]
        output = parse(self.run_on_client(deployment, raw_dir, name, argv).stdout)
        if output.status["2xx"] == 0:
            raise MeasurementError(
                f"no good reply to {count_text(output.requests, 'request')} on "
                f"{count_text(output.connections, 'connection')} "
                f"({count_text(output.errors.total, 'error')}, status {dict(output.status)})"
            )
        return output

    def _doubts(self, output: HttperfOutput) -> list[str]:
        """Say why the numbers should not be believed: httperf itself failed, was too slow, or got
        other replies than the object."""
        parameters, errors = self.parameters, output.errors
        doubts = []
        if errors.of_client:
            doubts.append(
                f"the sender itself failed {count_text(errors.of_client, 'time')}: no file "
                f"descriptor {errors.files_unavailable}, no local port "
                f"{errors.addresses_unavailable}, file table full {errors.file_table_full}"
            )
        if output.connections < parameters["connections"]:
            doubts.append(
                f"the sender opened {output.connections} of {parameters['connections']} connections"
            )
        doubts += [] if parameters["rate_per_s"] == MAXIMUM else self._rate_doubts(output)
        if output.replies != output.status["2xx"]:
            doubts.append(f"the server did not serve the object: status {dict(output.status)}")
        return doubts

    def _rate_doubts(self, output: HttperfOutput) -> list[str]:
        """Say that connections were opened more slowly than asked for, if they were. Opening them
        took the test's duration less the life of the last connection. This life is not known, so
        the longest one is taken (plus the timeout if a connection timed out). The rate may be
        overestimated by that, but never underestimated."""
        timed_out = output.errors.client_timeout or output.errors.socket_timeout
        last_s = output.connection_max_s + (self.parameters["timeout_s"] if timed_out else 0)
        opening_s = output.duration_s - last_s
        rate_per_s = self.parameters["rate_per_s"]
        if opening_s * rate_per_s * (1 - _RATE_TOLERANCE) <= output.connections:
            return []
        return [
            f"the sender opened {output.connections / opening_s:.1f} connections/s of the "
            f"{rate_per_s:g} requested (tolerance {_RATE_TOLERANCE:.0%})"
        ]
