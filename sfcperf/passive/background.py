"""background: sends packets of many flows beside a probe (SFCMon paper, section 3.3: active
flows)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.active.mtu import check_frame
from sfcperf.active.pktgen import BINARY, MOST_FLOWS, USUAL_PORT, parse_sent
from sfcperf.active.tool_run import last_lines
from sfcperf.dataplane import binaries
from sfcperf.errors import InputError, MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.procfs import interface_counters, process_cpu_s
from sfcperf.management.deployment import Deployment
from sfcperf.management.observable import AskObservable
from sfcperf.passive.base import Monitor
from sfcperf.plugins import Requirement, integer, object_schema, port, positive
from sfcperf.results.values import Observation
from sfcperf.workflow.model import Scenario

_LONGEST_MS = 3_600_000
"""Longest time that sfc-pktgen can send for."""
_MOST_PPS = 1_000_000
_START_S = 10.0
"""Time in which sfc-pktgen begins to send, even on a busy machine."""
_TIMES_AS_LONG = 4
"""How many times as long as at its rate the sender may take until each flow has sent a packet."""
_LONGEST_ROUND_S = 60
"""Longest time in which each flow sends a packet. The probe waits for that in each trial."""
_POLL_S = 0.05
_OTHERS = 5
"""Most packets that leave the client meanwhile and belong to no flow, such as ARP requests. So many
more packets are waited for, since the client's interface counts all of them."""


class BackgroundMonitor(Monitor):
    """Sends UDP packets of many flows from the client to the server while a probe measures. The
    probe begins when each flow has sent a packet. Nobody receives them; what the chain does with
    them shows in its own counters.

    In telemetry, source `background`: `sent_packets` and `sent_pps`, from the start to the end.
    """

    name = "background"
    title = "Background traffic: UDP packets of many flows beside the probe"
    cost = "shares CPUs and chain with the probe: it is a load, and is meant to be one"
    protocols = frozenset({"udp"})
    parameters = object_schema(
        {
            "flows": integer(
                "Number of flows, by source port: 1024 is that of the first. They take turns.",
                (1, MOST_FLOWS),
                default=1,
            ),
            "rate_pps": integer(
                "Packets to send per second, all flows together.", (1, _MOST_PPS), default=1000
            ),
            "frame_bytes": integer(
                "Size of the Ethernet frames, with header and frame check sequence, bytes.",
                (64, 1518),
                default=64,
            ),
            "port": port(
                "Destination port. The classifier must match it, and nothing should listen there.",
                default=USUAL_PORT,
            ),
            "rate_tolerance": positive(
                "The trial fails if the sender is more than this ratio below rate_pps.",
                0.5,
                default=0.1,
            ),
        }
    )
    _host: Host
    """The client's host, after `start`."""
    _process: Process | None = None
    """sfc-pktgen, from `start` to `stop`."""

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require the compiled tool sfc-pktgen."""
        return [binaries.requirement(BINARY)]

    @classmethod
    def check_scenario(
        cls, parameters: Mapping[str, Any], scenario: Scenario, observable: AskObservable
    ) -> None:
        """Refuse a `rate_pps` at which the flows need more than _LONGEST_ROUND_S to send a packet
        each. Raises InputError."""
        flows, rate_pps = parameters["flows"], parameters["rate_pps"]
        if flows > _LONGEST_ROUND_S * rate_pps:
            raise InputError(
                f"{flows} flows take {flows / rate_pps:.0f} s to send a packet each at {rate_pps} "
                "packets per second, and the probe waits for them in each trial",
                where="rate_pps",
                allowed=f"at least {math.ceil(flows / _LONGEST_ROUND_S)} with so many flows",
            )

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start sfc-pktgen on the client, and return when each flow has sent a packet. Raises
        MeasurementError when that takes too long, or the sender ends."""
        parameters, client = self.parameters, deployment.client
        check_frame(client, parameters["frame_bytes"])
        self._stdout = raw_dir / "background.json"
        self._stderr = raw_dir / "background.stderr.txt"
        for path in (self._stdout, self._stderr):
            path.unlink(missing_ok=True)
        argv = [client.host.program(binaries.find(BINARY)), "--role", "send"]
        argv += ["--interface", client.interface, "--to", deployment.server.address]
        argv += ["--engine", "packet", "--port", str(parameters["port"])]
        argv += ["--frames", str(parameters["frame_bytes"]), "--rate", str(parameters["rate_pps"])]
        argv += ["--flows", str(parameters["flows"]), "--duration-ms", str(_LONGEST_MS)]
        self._host = client.host
        before = self._packets_out(client.interface)
        self._process = client.host.spawn(argv, stdout=self._stdout, stderr=self._stderr)
        packets = parameters["flows"] + _OTHERS
        timeout_s = _START_S + _TIMES_AS_LONG * packets / parameters["rate_pps"]
        if not self._process.becomes(
            lambda: self._packets_out(client.interface) >= before + packets,
            timeout_s=timeout_s,
            period_s=_POLL_S,
        ):
            if self._process.poll() is not None:
                raise MeasurementError(self._failure())
            raise MeasurementError(
                f"not all of {parameters['flows']} flows of the background traffic had sent "
                f"a packet after {timeout_s:.1f} s",
                hint="lower rate_pps or flows, or leave the sender more CPU time",
            )

    def _packets_out(self, interface: str) -> int:
        """Return how many packets have left the client by the interface so far."""
        return interface_counters(self._host.read_text("/proc/net/dev"))[interface].tx_packets

    def stop(self) -> Sequence[Observation]:
        """Stop sfc-pktgen, and give its packets, rate and CPU time. Raises MeasurementError when it
        ended early or was too slow."""
        if self._process is None:
            return []
        ended_early = self._process.poll() is not None
        cpu_s = 0.0 if ended_early else self._cpu_s()
        status = self._process.stop()
        self._process = None
        if ended_early or status:
            raise MeasurementError(self._failure())
        sent = parse_sent(self._stdout.read_text(errors="replace"))
        asked_pps, tolerance = self.parameters["rate_pps"], self.parameters["rate_tolerance"]
        # From the first packet to the last, there are packets - 1 steps.
        reached_pps = (sent.packets - 1) / sent.elapsed_s if sent.elapsed_s else 0.0
        if reached_pps < (1 - tolerance) * asked_pps:
            raise MeasurementError(
                f"the background traffic reached {reached_pps:.0f} of {asked_pps} pps "
                f"(tolerance {tolerance:.0%})",
                hint="lower rate_pps, or leave the sender more CPU time",
            )
        now_ns = time.time_ns()
        return [
            Observation(now_ns, self.name, "sent_packets", "1", sent.packets),
            Observation(now_ns, self.name, "sent_pps", "1/s", reached_pps),
            Observation(now_ns, self.name, "monitor_cpu_s", "s", cpu_s),
        ]

    def _cpu_s(self) -> float:
        """Return the CPU time of sfc-pktgen so far, seconds."""
        assert self._process is not None, "start comes first"
        return process_cpu_s(self._host.read_text(f"/proc/{self._process.pid}/stat"))

    def _failure(self) -> str:
        """Say that sfc-pktgen ended too early, with the end of what it printed on stderr."""
        complaint = last_lines(self._stderr.read_text(errors="replace")) or "it said nothing"
        return f"the background traffic ended before the probe: {complaint}"
