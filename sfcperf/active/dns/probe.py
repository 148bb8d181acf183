"""dns: rate, response time and loss of DNS queries by UDP (RFC 1035), dnsmasq answering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from sfcperf.active.base import ProbeResult, samples
from sfcperf.active.dns.output import GOOD, Complaints, DnsperfOutput, parse, parse_complaints
from sfcperf.active.losses import EndpointLosses
from sfcperf.active.server import ServerProbe, port_parameter, saturation_doubts, start_server
from sfcperf.active.tool_run import ToolOutput, run_tool
from sfcperf.active.validity import loss_parameter
from sfcperf.counts import count_text
from sfcperf.errors import InputError, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import array, integer, number, object_schema
from sfcperf.results.values import Loss, Metric

MAXIMUM = "maximum"
ZONE = "sfcperf.test"
"""Domain of the names, under a top-level domain that nobody has (RFC 6761)."""
_ADDRESSES = {"A": "192.0.2.1", "AAAA": "2001:db8::1"}
"""Type of a query -> what dnsmasq answers (addresses for documentation, RFC 5737 and RFC 3849)."""
_USUAL_PORT = 53
_MOST_QUERIES = 1_000_000
"""Most queries at a rate: dnsperf prints a line about each."""
_MOST_IN_FLIGHT = 65_536
"""Most queries that dnsperf has in flight: their numbers have 16 bits."""
_SPARE_IN_FLIGHT = 100
_RATE_TOLERANCE = 0.05
_TIMEOUT_MARGIN_S = 15.0
_PERCENTILES = {"median": 50, "p95": 95, "p99": 99}


def _metrics(*, at_a_rate: bool) -> tuple[Metric, ...]:
    """Return the metrics at a rate, or at the maximum."""

    def time(name: str, words: str, *, primary: bool = False) -> Metric:
        # dnsperf prints times in steps of 1 us.
        name = f"response_time{name}_us"
        return Metric(name, "us", words, better="lower", primary=primary, tick=1.0)

    percentiles = [
        time(f"_{name}", f"time within which {percent} % of the answers came")
        for name, percent in _PERCENTILES.items()
    ]
    return (
        Metric(
            "queries_per_s",
            "1/s",
            "queries per second with an answer without an error code",
            better="higher",
            primary=not at_a_rate,
        ),
        time("", "mean time from a query to its answer, of all answers", primary=at_a_rate),
        time("_min", "shortest of these times"),
        *(percentiles if at_a_rate else []),
        time("_max", "longest of these times"),
        time("_stdev", "standard deviation of these times"),
        Metric(
            "loss_ratio",
            "1",
            "share of queries without an answer within timeout_s",
            better="lower",
            out_of="queries",
        ),
        Metric("errors", "1", "answers with an error code", better="lower", tick=1.0),
    )


_AT_A_RATE, _AT_MAXIMUM = _metrics(at_a_rate=True), _metrics(at_a_rate=False)


class Dns(ServerProbe):
    """Queries from dnsperf to a dnsmasq that the probe starts on the server endpoint. It has an
    answer for each of the `names`.

    With a number as `rate_per_s`, it is an open loop: dnsperf sends at this rate, whether or not
    answers come. It reports each query, and percentiles of the response time come from that.
    dnsperf pauses after each second query until it has sent as many as may be in flight, that is
    rate_per_s * timeout_s: high rates need a short timeout_s.

    With "maximum", it is a closed loop: dnsperf keeps `concurrency` queries in flight, so the chain
    determines the rate, and the mean response time is concurrency / rate (Little's law). There are
    no percentiles, because to report each query would take much of the time of dnsperf.
    """

    name = "dns"
    usual_port = _USUAL_PORT
    needs = (("dnsperf", "dnsperf", "-h"), ("dnsmasq", "dnsmasq-base", "--version"))
    protocols = frozenset({"udp"})
    title = "Rate, response time, loss and error codes of DNS queries (dnsperf)"
    parameters = object_schema(
        {
            "rate_per_s": {
                "oneOf": [
                    {"type": "integer", "minimum": 1, "maximum": _MOST_QUERIES},
                    {"const": MAXIMUM},
                ],
                "default": 1000,
                "description": "Queries per second, whether or not answers come; or "
                f'"{MAXIMUM}": concurrency queries at a time, each of which is followed by the '
                "next when its answer is there.",
            },
            "duration_s": number("How long to send queries, seconds.", (0.2, 3600), default=2),
            "concurrency": integer(
                f'Queries in flight at a time with rate_per_s "{MAXIMUM}".', (1, 10_000), default=16
            ),
            "flows": integer(
                "Number of UDP flows: the queries come from so many ports in turn.",
                (1, 256),
                default=1,
            ),
            "names": integer(
                f"Number of different names: n0.{ZONE}, n1.{ZONE}, ... They are asked for in turn, "
                "again and again.",
                (1, 100_000),
                default=1000,
            ),
            "types": array(
                "Types of the queries. Each name is asked for with each of them.",
                {"enum": list(_ADDRESSES)},
                minItems=1,
                uniqueItems=True,
                default=["A"],
            ),
            "ttl_s": integer(
                "Time for which a cache in the chain may keep an answer, seconds.",
                (0, 86_400),
                default=300,
            ),
            "timeout_s": number(
                "A query whose answer takes longer is lost, seconds.", (0.01, 10), default=1
            ),
            "loss_warning": loss_parameter(
                'queries without a good answer at a rate_per_s in numbers (at "maximum", one such '
                "query makes the trial untrusted)"
            ),
            "port": port_parameter("UDP port of the server.", _USUAL_PORT, lowest=1),
        }
    )

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse more queries at a rate than can be reported one by one. Raises InputError."""
        rate = parameters["rate_per_s"]
        if rate != MAXIMUM and rate * parameters["duration_s"] > _MOST_QUERIES:
            raise InputError(
                f"{rate} queries per second for {parameters['duration_s']:g} s are too many to "
                "report each of them",
                where="duration_s",
                allowed=f"up to {_MOST_QUERIES / rate:g} s at this rate",
            )

    @classmethod
    def metrics(cls, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
        """Return the metrics at a rate, or those at the maximum, which have no percentiles."""
        return _AT_MAXIMUM if parameters["rate_per_s"] == MAXIMUM else _AT_A_RATE

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the parameter `duration_s`: the last answers come at once in a healthy chain."""
        return float(parameters["duration_s"])

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return half of the queries, because a chain that loses some is still measured; in the
        closed loop, half of those that are in flight at first."""
        if parameters["rate_per_s"] == MAXIMUM:
            return max(1, int(parameters["concurrency"]) // 2)
        return max(1, int(parameters["rate_per_s"] * parameters["duration_s"] / 2))

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start dnsmasq, write the file of queries, and make one query beforehand, so that no
        measured one waits for ARP; whether it is answered does not matter."""
        server, client = deployment.server, deployment.client.host
        self._port = self.server_port(server.host)
        self._server = start_server(
            server.host,
            self._dnsmasq(server.address),
            port=self._port,  # it listens to TCP as well, after UDP
            stdout=raw_dir / "dnsmasq.txt",
            stderr=raw_dir / "dnsmasq.stderr.txt",
        )
        warmup = [f"warmup.{ZONE} {self.parameters['types'][0]}"]
        for name, queries in (("dns-warmup", warmup), ("dns", self._queries())):
            file = raw_dir / f"{name}-queries.txt"
            file.write_text("".join(f"{query}\n" for query in queries))
            client.put(file, client.workdir / file.name)
        self._dnsperf(deployment, raw_dir, "dns-warmup", ["-n", "1"])

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Send the queries, and wait for the answers. Raises MeasurementError when dnsperf fails or
        no query gets a good answer."""
        back = replace(deployment, client=deployment.server, server=deployment.client)
        before = EndpointLosses.read(deployment), EndpointLosses.read(back)
        cpu_s = self.server_cpu_s(deployment.server.host, "dnsmasq")
        done = self._dnsperf(deployment, raw_dir, "dns", self._load())
        cpu_s = self.server_cpu_s(deployment.server.host, "dnsmasq") - cpu_s
        there, answers = (
            EndpointLosses.read(way).since(earlier)
            for way, earlier in zip((deployment, back), before, strict=True)
        )
        seen, complaints = parse(done.stdout), parse_complaints(done.stderr)
        if not seen.good:
            raise MeasurementError(
                f"no good answer to {count_text(seen.sent, 'query')} "
                f"(lost {seen.lost}, response codes {dict(seen.codes)})"
            )
        cpu_ratio = cpu_s / seen.duration_s
        doubts = [
            *self._doubts(seen, complaints),
            *saturation_doubts("server", "dnsmasq", cpu_ratio),
            *there.of_udp(deployment.client),
            *(f"of the answers, {reason}" for reason in answers.of_udp(deployment.server)),
        ]
        notes = {
            "port": self._port,
            "queries": seen.sent,
            "answers": seen.completed,
            "response_codes": dict(seen.codes),
            "unexpected_answers": complaints.unexpected,
            "duration_s": seen.duration_s,
            "server_cpu_ratio": round(cpu_ratio, 3),
            **there.notes(),
            **{f"answers_{name}": count for name, count in answers.notes().items()},
        }
        return ProbeResult(
            samples(self.metrics(self.parameters), _values(seen)),
            tuple(doubts),
            notes,
            {"response_time_us": seen.times_us} if seen.times_us else {},
            loss=self.loss(seen),
        )

    def loss(self, output: DnsperfOutput) -> Loss:
        """Return the queries without a good answer."""
        causes = {"no answer": output.lost, **output.codes}
        named = ", ".join(f"{cause} {n}" for cause, n in causes.items() if n and cause != GOOD)
        within = f"within {self.parameters['timeout_s']:g} s"
        return Loss(
            output.sent - output.good,
            output.sent,
            f"queries got no good answer {within}" + (f" ({named})" if named else ""),
            "the rate is that of the others, and response times are those of all answers",
            self.parameters["loss_warning"],
            changes_load=self.parameters["rate_per_s"] == MAXIMUM,
        )

    def _dnsmasq(self, address: str) -> list[str]:
        """Return the command of a dnsmasq that reads no file of the machine and asks nobody."""
        # --no-daemon instead of --keep-in-foreground: dnsmasq keeps its user. It looks up one all
        # the same: `root`, because the user that it was built for does not exist in every small VM.
        argv = ["dnsmasq", "--no-daemon", "--user=root", "--conf-file=/dev/null", "--pid-file="]
        argv += ["--no-resolv", "--no-hosts", "--bind-interfaces", f"--listen-address={address}"]
        argv += [f"--port={self._port}", f"--local-ttl={self.parameters['ttl_s']}"]
        return argv + [f"--address=/{ZONE}/{answer}" for answer in _ADDRESSES.values()]

    def _queries(self) -> list[str]:
        """Return the lines of dnsperf's file of queries."""
        numbers, types = range(self.parameters["names"]), self.parameters["types"]
        return [f"n{number}.{ZONE} {kind}" for number, kind in product(numbers, types)]

    def _load(self) -> list[str]:
        """Return the options of dnsperf that say how many queries it sends, and when."""
        parameters, rate = self.parameters, self.parameters["rate_per_s"]
        argv = ["-l", f"{parameters['duration_s']:.6f}", "-c", str(parameters["flows"])]
        if rate == MAXIMUM:
            return [*argv, "-q", str(parameters["concurrency"])]
        # As many as can be in flight until they are lost: no query waits for others' answers.
        in_flight = min(_MOST_IN_FLIGHT, int(rate * parameters["timeout_s"]) + _SPARE_IN_FLIGHT)
        return [*argv, "-v", "-Q", str(rate), "-q", str(in_flight)]

    def _dnsperf(
        self, deployment: Deployment, raw_dir: Path, name: str, load: Sequence[str]
    ) -> ToolOutput:
        """Run dnsperf on the client with the file of queries and the outputs that are named after
        `name`. Raises MeasurementError when it fails."""
        client, timeout_s = deployment.client.host, self.parameters["timeout_s"]
        argv = ["dnsperf", "-s", deployment.server.address, "-p", str(self._port)]
        argv += ["-d", str(client.workdir / f"{name}-queries.txt"), "-t", f"{timeout_s:.6f}", *load]
        done = run_tool(
            client,
            argv,
            timeout_s=self.parameters["duration_s"] + timeout_s + _TIMEOUT_MARGIN_S,
            stdout=raw_dir / f"{name}.txt",
            stderr=raw_dir / f"{name}.stderr.txt",
        )
        if done.returncode:
            raise MeasurementError(f"dnsperf failed: {done.complaint()}")
        return done

    def _doubts(self, output: DnsperfOutput, complaints: Complaints) -> list[str]:
        """Say why the numbers should not be believed, by what dnsperf says: it was too slow, or
        could not send."""
        rate, duration_s = self.parameters["rate_per_s"], self.parameters["duration_s"]
        doubts = []
        # The first query is sent at the beginning: there may be one more, or the last one is late.
        if rate != MAXIMUM and output.sent + 1 < rate * duration_s * (1 - _RATE_TOLERANCE):
            doubts.append(
                f"the sender sent {output.sent / duration_s:.1f} queries/s of the {rate} requested "
                f"(tolerance {_RATE_TOLERANCE:.0%}); a shorter timeout_s lets dnsperf send faster"
            )
        if complaints.unsent:
            unsent = count_text(complaints.unsent, "query")
            doubts.append(f"the sender could not send {unsent}: {complaints.reason}")
        return doubts


def _values(output: DnsperfOutput) -> dict[str, float | None]:
    """Return all metrics by name; the percentiles are None at the maximum."""
    names = [f"response_time_{name}_us" for name in _PERCENTILES]
    return {
        "queries_per_s": output.queries_per_s,
        "response_time_us": output.mean_us,
        "response_time_min_us": output.min_us,
        **dict(zip(names, output.percentiles_us(_PERCENTILES.values()), strict=True)),
        "response_time_max_us": output.max_us,
        "response_time_stdev_us": output.stdev_us,
        "loss_ratio": output.lost / output.sent,
        "errors": output.completed - output.good,
    }
