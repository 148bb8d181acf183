"""ping: round-trip time, its variation and loss of ICMP echo (RFC 792) through the chain."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from sfcperf.active.base import Probe, ProbeResult, samples
from sfcperf.active.losses import EndpointLosses
from sfcperf.active.mtu import ICMP_HEADER_BYTES, check_payload
from sfcperf.active.ping.output import PingOutput, parse
from sfcperf.active.tool_run import ToolOutput, last_lines, run_tool
from sfcperf.active.validity import loss_parameter
from sfcperf.counts import count_text
from sfcperf.errors import MeasurementError
from sfcperf.hosts.procfs import protocol_counters
from sfcperf.management.deployment import Deployment, Endpoint
from sfcperf.plugins import flag, integer, number, object_schema
from sfcperf.results.values import Loss, Metric
from sfcperf.waiting import sleep

_TIMEOUT_MARGIN_S = 15.0
_US_PER_S = 1e6
_REPLY_POLL_S = 0.02
_ASSUMED_RTT_S = 0.0005
"""Of an adaptive ping, for plans only."""
_INTERVAL_TOLERANCE = 0.05
_TIMER_ROUNDING_S = 0.016
"""Time by which ping may send each request late without being held up. It sleeps in ticks of the
kernel, up to 10 ms each (HZ=100), and wakes a little late. When its own queue is full, it waits and
tries again; this shows only in a longer time."""

_METRICS = (
    Metric("rtt_us", "us", "mean round-trip time", better="lower", primary=True),
    Metric("rtt_min_us", "us", "shortest round-trip time", better="lower"),
    Metric("rtt_median_us", "us", "median round-trip time", better="lower"),
    Metric("rtt_max_us", "us", "longest round-trip time", better="lower"),
    Metric(
        "jitter_us",
        "us",
        "mean absolute difference of the round-trip times of successive requests",
        better="lower",
    ),
    Metric(
        "loss_ratio",
        "1",
        "share of requests without a reply",
        better="lower",
        out_of="transmitted",
    ),
)


class Ping(Probe):
    """Sends echo requests at a fixed interval, or one after the other. RTT, jitter and loss cover
    the round trip, that is the forward and the reverse path together."""

    name = "ping"
    reported = _METRICS
    # The probe reads the output of iputils' ping; other implementations print other texts.
    needs = (("ping", "iputils-ping", "-V"),)
    protocols = frozenset({"icmp"})
    title = "Round-trip time, jitter and loss of ICMP echo"
    parameters = object_schema(
        {
            "count": integer("Number of echo requests.", (2, 100_000), default=20),
            "interval_s": number(
                "Time between two requests, seconds. The kernel's timer rounds it up by some "
                "milliseconds; results record the actual time.",
                (0.002, 60),
                default=0.05,
            ),
            "adaptive": flag(
                "Whether each request is sent as soon as the one before it is answered (`ping "
                "-A`), so that no CPU falls idle between two: to wake one up takes tens of "
                "microseconds, more or less in each trial. ping then begins with `interval_s`, and "
                "adapts it to the replies.",
                default=False,
            ),
            "payload_bytes": integer(
                "ICMP payload of a request, bytes. The IPv4 packet is 28 bytes longer and must fit "
                "the client's MTU.",
                (16, 65_507),
                default=56,
            ),
            "timeout_s": number(
                "How long to wait for the last replies, seconds.", (0.01, 60), default=1
            ),
            "loss_warning": loss_parameter("requests without a reply"),
        }
    )

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the time to send the requests. The reply to the last one comes at once in a
        healthy chain."""
        each_s = _ASSUMED_RTT_S if parameters["adaptive"] else parameters["interval_s"]
        return float((parameters["count"] - 1) * each_s)

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return half of the requests, because a chain that loses some is still measured."""
        return int(parameters["count"] // 2)

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Send one request beforehand, so that no measured one waits for ARP; whether it is
        answered does not matter. Raises MeasurementError when the requests do not fit the client's
        MTU."""
        check_payload(deployment.client, self.parameters["payload_bytes"], ICMP_HEADER_BYTES)
        self._ping(deployment, raw_dir, "ping-warmup", count=1)

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Send the requests, and wait for their replies. Raises MeasurementError when no request is
        answered."""
        before, replies = EndpointLosses.read(deployment), _echo_replies(deployment.client)
        output = self._ping(deployment, raw_dir, "ping", count=self.parameters["count"])
        losses = EndpointLosses.read(deployment).since(before)
        if output.returncode not in (0, 1):  # 1: some requests were not answered
            raise MeasurementError(f"ping failed: {output.complaint()}")
        seen = parse(output.stdout)
        if seen.received == 0:
            complaint = f" ({last_lines(output.stderr)})" if output.stderr.strip() else ""
            raise MeasurementError(
                f"no reply to any of {seen.transmitted} echo requests{complaint}"
            )
        late = self._late_replies(deployment.client, seen, replies)
        values = {
            "rtt_us": seen.rtt_mean_us,
            "rtt_min_us": seen.rtt_min_us,
            "rtt_median_us": median(seen.rtt_us.values()),
            "rtt_max_us": seen.rtt_max_us,
            "jitter_us": seen.jitter_us,
            "loss_ratio": seen.loss_ratio - late / seen.transmitted,
        }
        doubts = [*self._doubts(seen, output.stderr, late), *losses.of_interface(deployment.client)]
        notes = {
            "transmitted": seen.transmitted,
            "received": seen.received,
            "late_replies": late,
            "icmp_errors": seen.errors,
            "elapsed_s": seen.elapsed_s,
            "sender_interface_drops": losses.tx_drops,
        }
        series = {"rtt_us": [seen.rtt_us[number] for number in sorted(seen.rtt_us)]}
        return ProbeResult(
            samples(_METRICS, values), tuple(doubts), notes, series, loss=self.loss(seen, late)
        )

    def loss(self, output: PingOutput, late: int) -> Loss:
        """Return the requests without a reply. `late` replies came after ping had ended; their
        requests are not lost."""
        return Loss(
            output.transmitted - output.received - late,
            output.transmitted,
            "echo requests got no reply",
            "the round-trip times are those of the others",
            self.parameters["loss_warning"],
        )

    def _late_replies(self, client: Endpoint, output: PingOutput, before: int) -> int:
        """Wait up to `timeout_s` for the replies that are missing, and return how many came after
        ping had ended. Once one reply has come, iputils' ping waits for the last ones no longer
        than twice the longest RTT (or an interval), whatever its -W says. The kernel goes on
        counting replies. Its counter was `before` when ping began, so it tells which of the missing
        replies were only late."""
        missing = output.transmitted - output.received
        counted = before + output.received + output.duplicates
        end = time.monotonic() + self.parameters["timeout_s"]
        while missing:
            late = min(_echo_replies(client) - counted, missing)
            if late == missing or time.monotonic() > end:
                return max(late, 0)
            sleep(_REPLY_POLL_S)
        return 0

    def _longest_s(self, output: PingOutput) -> float:
        """Return the longest time that ping takes when nothing holds the sender up, seconds. A
        longer run makes the trial untrusted."""
        # ping ends with the last reply; it waits for its whole timeout only when one is missing.
        complete = output.received == output.transmitted
        slowest_s, count = output.rtt_max_us / _US_PER_S, self.parameters["count"]
        waiting_s = slowest_s if complete else self.parameters["timeout_s"]
        # Replies that take longer than the interval hold an adaptive ping up, and rightly.
        replies_s = 2 * count * slowest_s if self.parameters["adaptive"] else 0.0
        return max(self._sending_s(count), replies_s) + float(waiting_s)

    def _sending_s(self, count: int) -> float:
        """Return the longest time that sending so many requests takes, seconds."""
        interval_s = self.parameters["interval_s"] * (1 + _INTERVAL_TOLERANCE) + _TIMER_ROUNDING_S
        return float((count - 1) * interval_s)

    def _ping(self, deployment: Deployment, raw_dir: Path, name: str, count: int) -> ToolOutput:
        """Send `count` requests. What ping prints goes to files named after `name`. The caller has
        to check the exit status."""
        parameters = self.parameters
        argv = ["ping", "-n", "-c", str(count), "-i", f"{parameters['interval_s']:.6f}"]
        argv += ["-A"] if parameters["adaptive"] else []
        argv += ["-W", f"{parameters['timeout_s']:.6f}", "-s", str(parameters["payload_bytes"])]
        # -M do: the kernel refuses a request that is too long, instead of fragmenting it.
        argv += ["-M", "do", deployment.server.address]
        return run_tool(
            deployment.client.host,
            argv,
            timeout_s=self._sending_s(count) + parameters["timeout_s"] + _TIMEOUT_MARGIN_S,
            stdout=raw_dir / f"{name}.txt",
            stderr=raw_dir / f"{name}.stderr.txt",
        )

    def _doubts(self, output: PingOutput, stderr: str, late: int) -> list[str]:
        """Say why the numbers should not be believed: round-trip times are missing, ping was held
        up, or packets were duplicated or altered. `late` replies came after ping had ended."""
        doubts = []
        if late:
            doubts.append(
                f"{count_text(late, 'reply')} came after ping had stopped waiting: they are not "
                "lost, but their round-trip times are missing; a longer interval_s makes ping "
                "wait longer"
            )
        if output.transmitted < self.parameters["count"]:
            doubts.append(
                f"ping sent {output.transmitted} of the {self.parameters['count']} requests"
            )
        if stderr.strip():
            doubts.append(f"the sender could not send all requests: {last_lines(stderr)}")
        if output.elapsed_s > self._longest_s(output):
            doubts.append(
                f"the sender was held up: {output.transmitted} requests took "
                f"{output.elapsed_s:g} s at an interval of {self.parameters['interval_s']:g} s"
            )
        if output.duplicates:
            doubts.append(
                f"{count_text(output.duplicates, 'reply')} came twice: "
                "packets are duplicated on the way"
            )
        if output.corrupted:
            doubts.append(
                f"{count_text(output.corrupted, 'reply')} came back with an altered payload"
            )
        return doubts


def _echo_replies(client: Endpoint) -> int:
    """Return how many echo replies the client's kernel has received so far (icmpInEchoReps, RFC
    2011)."""
    counters = protocol_counters(client.host.read_text("/proc/net/snmp"), "Icmp")
    return counters["InEchoReps"]
