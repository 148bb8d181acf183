"""ditg: one-way delay or round-trip time of a flow of D-ITG (SFCMon paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf.active.base import ProbeResult, samples
from sfcperf.active.ditg.output import DitgOutput, parse
from sfcperf.active.losses import EndpointLosses
from sfcperf.active.mtu import UDP_HEADER_BYTES, check_payload
from sfcperf.active.server import ServerProbe, free_port, port_parameter, start_server
from sfcperf.active.tool_run import ToolOutput, last_lines, run_tool
from sfcperf.active.validity import loss_parameter
from sfcperf.errors import MeasurementError
from sfcperf.hosts import clock
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import choice, flag, integer, number, object_schema, positive
from sfcperf.results.values import Loss, Metric

ONE_WAY, ROUND_TRIP = "one-way", "round-trip"
_USUAL_PORT, _USUAL_SIGNALLING_PORT = 8999, 9000
_BITS_PER_BYTE = 8
_MS_PER_S = 1000
_TIMEOUT_MARGIN_S = 20.0
"""Time that ITGSend may take beyond the time of sending; it waits for a second at the end
itself."""
_DECODE_TIMEOUT_S = 120.0
_MKDIR_TIMEOUT_S = 30.0
_SERVER_ERRORS = "ditg-server.stderr.txt"
_TCP_PACKETS_PER_S = 10
"""Packets per second of a TCP connection that surely crosses the chain. One that carries fewer is
taken for one that does not."""
_METERS = {ONE_WAY: "owdm", ROUND_TRIP: "rttm"}


def _metrics(prefix: str, delay: str) -> tuple[Metric, ...]:
    """Return the metrics of one meter. Names of delays begin with `prefix`; descriptions call the
    delay `delay`."""

    def of_delay(name: str, words: str, *, primary: bool = False) -> Metric:
        # ITGDec prints delays in steps of 1 us.
        return Metric(name, "us", words, better="lower", primary=primary, tick=1.0)

    return (
        of_delay(f"{prefix}_us", f"mean {delay}", primary=True),
        of_delay(f"{prefix}_min_us", f"shortest {delay}"),
        of_delay(f"{prefix}_max_us", f"longest {delay}"),
        of_delay(f"{prefix}_stdev_us", f"standard deviation of the {delay}"),
        of_delay("jitter_us", f"mean absolute difference of the {delay} of successive packets"),
        Metric("rate_bps", "bit/s", "payload that was received", better="higher"),
        Metric(
            "loss_ratio",
            "1",
            "share of packets that were lost; with the round-trip meter, before the last reply",
            better="lower",
            out_of="packets_sent",
        ),
    )


_ONE_WAY = _metrics("delay", "one-way delay")
_ROUND_TRIP = _metrics("rtt", "round-trip time")


class Ditg(ServerProbe):
    """Sends packets of one size at a constant rate with ITGSend to ITGRecv. The delay is the
    difference between two clocks: it is measured only if both endpoints have the same one, which
    they have with the local driver."""

    name = "ditg"
    usual_port = _USUAL_PORT
    needs = (("ITGSend", "d-itg", "-h"), ("ITGRecv", "d-itg", "-h"), ("ITGDec", "d-itg", "-h"))
    title = "One-way delay or round-trip time, jitter and loss of a flow (D-ITG)"
    parameters = object_schema(
        {
            "protocol": choice("Transport protocol.", ["udp", "tcp"], default="udp"),
            "payload_bytes": integer(
                "Payload of a packet, bytes. A UDP datagram's IPv4 packet is 28 bytes longer and "
                "must fit the client's MTU.",
                (44, 65_507),
                default=512,
            ),
            "rate_bps": integer(
                "Payload to send, bit/s, in equal distances of time.",
                (1000, 1_000_000_000),
                default=10_000_000,
            ),
            "duration_s": number("How long to send, seconds.", (0.1, 3600), default=10),
            "meter": choice(
                f"`{ONE_WAY}`: from the sending of a packet to its receipt; both endpoints need "
                f"the same clock. `{ROUND_TRIP}`: until it is back at the client.",
                _METERS,
                default=ONE_WAY,
            ),
            "busy_wait": flag(
                "ITGSend keeps a CPU busy while it waits for the time of the next packet, if that "
                "is less than 1 ms. If it sleeps instead, it wakes too late and sends less.",
                default=True,
            ),
            "rate_tolerance": positive(
                "The trial is untrusted if the sender is more than this ratio below rate_bps.",
                0.5,
                default=0.1,
            ),
            "loss_warning": loss_parameter("packets that are lost"),
            "port": port_parameter("TCP or UDP port of the server.", _USUAL_PORT),
        }
    )

    @classmethod
    def metrics(cls, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
        """Return the metrics of the parameter `meter`."""
        return _ONE_WAY if parameters["meter"] == ONE_WAY else _ROUND_TRIP

    @classmethod
    def label(cls, parameters: Mapping[str, Any]) -> str:
        """Return `ditg-udp` or `ditg-tcp`."""
        return f"{cls.name}-{parameters['protocol']}"

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the parameter `duration_s`, for which the sender sends."""
        return float(parameters["duration_s"])

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return half of the packets that the rate means. For TCP it is at most _TCP_PACKETS_PER_S
        per second, because TCP may put several packets of D-ITG into one segment."""
        rate_pps = _rate_pps(parameters) / 2
        if parameters["protocol"] == "tcp":
            rate_pps = min(rate_pps, _TCP_PACKETS_PER_S)
        return max(1, int(parameters["duration_s"] * rate_pps))

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the protocol of the flow. Signalling, which always uses TCP, is not measured."""
        return frozenset({parameters["protocol"]})

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Choose the ports of the flow and of its signalling, and start ITGRecv. Raises
        MeasurementError when the one-way delay is asked for and the endpoints do not share a clock,
        when datagrams would be fragmented, or when a port is taken."""
        client, server = deployment.client, deployment.server
        if self.parameters["meter"] == ONE_WAY and not clock.shared((client.host, server.host)):
            raise MeasurementError(
                "the endpoints run on different machines, whose clocks differ: the one-way delay "
                "cannot be measured",
                hint=f'set the parameter meter to "{ROUND_TRIP}"',
            )
        if self.parameters["protocol"] == "udp":
            check_payload(client, self.parameters["payload_bytes"], UDP_HEADER_BYTES)
        # D-ITG writes its logs into these folders.
        for host in (client.host, server.host):
            host.run(["mkdir", "-p", str(host.workdir)], timeout_s=_MKDIR_TIMEOUT_S)
        self._port = self.server_port(server.host)
        # ITGRecv opens the flow's port only when the flow begins: a taken port would show too late.
        if free_port(server.host, self._port) != self._port:
            raise MeasurementError(
                f"ITGRecv cannot listen on {server.host.name}: port {self._port} is taken",
                hint="choose another one with the parameter port",
            )
        self._signalling = free_port(server.host, _USUAL_SIGNALLING_PORT)
        if self._signalling == self._port:
            self._signalling = free_port(server.host, self._port + 1)
        self._server = start_server(
            server.host,
            ["ITGRecv", "-Sp", str(self._signalling)],
            port=self._signalling,
            stdout=raw_dir / "ditg-server.txt",
            stderr=raw_dir / _SERVER_ERRORS,
        )

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Send the flow, and decode the logs that tell of it. Raises MeasurementError when nothing
        arrives."""
        client, server = deployment.client.host, deployment.server.host
        logs = client.workdir / "ditg-send.log", server.workdir / "ditg-receive.log"
        before = EndpointLosses.read(deployment)
        sent = self._send(deployment, raw_dir, *logs)
        losses = EndpointLosses.read(deployment).since(before)
        if sent.returncode:
            complaint = last_lines((raw_dir / _SERVER_ERRORS).read_text(errors="replace"))
            raise MeasurementError(
                f"ITGSend failed: {sent.complaint()}"
                + (f"; ITGRecv: {complaint}" if complaint else "")
            )
        sender = _decode(client, logs[0], raw_dir, "send")
        # The sender's log has the packets that it sent; with the round-trip meter, it has those
        # that came back.
        if self.parameters["meter"] == ROUND_TRIP:
            arrived, packets_sent = sender, sender.packets + sender.dropped
        else:
            arrived, packets_sent = _decode(server, logs[1], raw_dir, "receive"), sender.packets
        return ProbeResult(
            samples(self.metrics(self.parameters), self._values(arrived, packets_sent)),
            tuple(self._doubts(sender.rate_bps, losses, deployment)),
            {
                "port": self._port,
                "packets_sent": packets_sent,
                "packets_received": arrived.packets,
                "sent_bps": sender.rate_bps,
                **losses.notes(),
            },
            loss=self.loss(arrived, packets_sent),
        )

    def loss(self, arrived: DitgOutput, packets_sent: int) -> Loss:
        """Return the packets that did not arrive, or, with the round-trip meter, did not come
        back."""
        return Loss(
            max(0, packets_sent - arrived.packets),
            packets_sent,
            "packets were lost",
            "delays, jitter and rate are those of the others",
            self.parameters["loss_warning"],
        )

    def _values(self, output: DitgOutput, packets_sent: int) -> dict[str, float | None]:
        """Return the metrics of the trial's meter by name."""
        prefix = "delay" if self.parameters["meter"] == ONE_WAY else "rtt"
        return {
            f"{prefix}_us": output.delay_us,
            f"{prefix}_min_us": output.delay_min_us,
            f"{prefix}_max_us": output.delay_max_us,
            f"{prefix}_stdev_us": output.delay_stdev_us,
            "jitter_us": output.jitter_us,
            "rate_bps": output.rate_bps,
            "loss_ratio": max(0, packets_sent - output.packets) / packets_sent,
        }

    def _send(
        self, deployment: Deployment, raw_dir: Path, sender_log: Path, receiver_log: Path
    ) -> ToolOutput:
        """Send the flow. ITGSend writes its log on the client, and makes ITGRecv write one on the
        server. The caller has to check the exit status."""
        parameters = self.parameters
        argv = ["ITGSend", "-a", deployment.server.address, "-rp", str(self._port)]
        argv += ["-Sdp", str(self._signalling), "-T", parameters["protocol"].upper()]
        argv += ["-c", str(parameters["payload_bytes"]), "-C", f"{_rate_pps(parameters):.3f}"]
        argv += [
            "-t",
            str(round(parameters["duration_s"] * _MS_PER_S)),
            "-m",
            _METERS[parameters["meter"]],
        ]
        argv += ["-l", str(sender_log), "-x", str(receiver_log)]
        argv += ["-poll"] if parameters["busy_wait"] else []
        # -D: TCP does not wait for more data before it sends (TCP_NODELAY).
        argv += ["-D"] if parameters["protocol"] == "tcp" else []
        return run_tool(
            deployment.client.host,
            argv,
            timeout_s=parameters["duration_s"] + _TIMEOUT_MARGIN_S,
            stdout=raw_dir / "ditg-client.txt",
            stderr=raw_dir / "ditg-client.stderr.txt",
        )

    def _doubts(self, sent_bps: float, losses: EndpointLosses, deployment: Deployment) -> list[str]:
        """Say why the numbers should not be believed: the sender was too slow, or the endpoints
        lost packets."""
        parameters, doubts = self.parameters, []
        # With the round-trip meter, the sender's log has only packets that came back, so it does
        # not tell the rate at which they were sent.
        if (
            parameters["meter"] == ONE_WAY
            and sent_bps < (1 - parameters["rate_tolerance"]) * parameters["rate_bps"]
        ):
            doubts.append(
                f"the sender reached {sent_bps / 1e6:.3f} of the "
                f"{parameters['rate_bps'] / 1e6:.3f} Mbit/s requested "
                f"(tolerance {parameters['rate_tolerance']:.0%})"
            )
        if parameters["protocol"] == "tcp":
            return doubts + losses.of_interface(deployment.client)
        return doubts + losses.of_udp(deployment.client)


def _rate_pps(parameters: Mapping[str, Any]) -> float:
    """Return the packets per second that `rate_bps` means."""
    rate_bps, payload_bytes = parameters["rate_bps"], parameters["payload_bytes"]
    return float(rate_bps / _BITS_PER_BYTE / payload_bytes)


def _decode(host: Host, log: Path, raw_dir: Path, name: str) -> DitgOutput:
    """Read a log of D-ITG on its host by ITGDec. `name` is the role that wrote the log. Raises
    MeasurementError."""
    done = run_tool(
        host,
        ["ITGDec", str(log)],
        timeout_s=_DECODE_TIMEOUT_S,
        stdout=raw_dir / f"ditg-{name}.txt",
        stderr=raw_dir / f"ditg-{name}.stderr.txt",
    )
    if done.returncode:
        raise MeasurementError(f"ITGDec cannot read the log of the role `{name}` on {host.name}")
    return parse(done.stdout, f"the log of the role `{name}`")
