"""Sends a plan of packets from the client to the server, and captures it at both ends.

All packets leave from the client, also those that servers of the trace have sent: a function sees
each flow as on a wire, in the order of the trace. If they left from two machines, an answer might
overtake its request.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf.active.labelled_traffic.replay_plan import (
    Key,
    ReplayOutcome,
    ReplayPlan,
    replayed,
    seen,
)
from sfcperf.active.tool_run import run_tool
from sfcperf.dataplane import binaries
from sfcperf.errors import MeasurementError, system_errors_as
from sfcperf.hosts.merging import Merging
from sfcperf.management.deployment import Deployment, Endpoint, Hop
from sfcperf.packets.identity import SNAPLEN
from sfcperf.passive.tcpdump import (
    FILE_HEADER_BYTES,
    RECORD_HEADER_BYTES,
    ROUNDING_BYTES,
    TcpdumpMonitor,
    buffer_kib,
)
from sfcperf.vnfs.kernel_settings import KernelSettings
from sfcperf.workflow.defaults import with_defaults

SENDER = "sfc-send"
_MAC_BYTES = 12
"""Length of both MAC addresses of a frame."""
_TIMEOUT_S = 30.0
_MARGIN_S = 60.0
_BUFFER_KIB = 32_768
_ROOM = 10_000
"""Room in a capture for packets that are not of the plan."""


class Replay:
    """Sends a plan once: `prepare`, `send`, `arrivals`. Call `close` at the end, also when
    something raised."""

    def __init__(
        self, plan: ReplayPlan, speed: float, deployment: Deployment, folder: Path
    ) -> None:
        """`folder` is for captures and what the tools print; `prepare` makes it. Raises
        MeasurementError for packets that do not fit the MTU of an endpoint, and if all packets have
        addresses of the endpoints."""
        self._deployment, self._speed, self._folder = deployment, speed, folder
        client, server = deployment.client, deployment.server
        self.plan = plan.without([client.address, server.address])
        if not self.plan.packets:
            raise MeasurementError(
                "nothing of the trace can be sent: all packets are from or to an endpoint, "
                f"{client.address} or {server.address}",
                hint="give the endpoints other addresses, or change those of the trace",
            )
        _check_mtu(self.plan, client, server)
        self._at_client = client.host.workdir / "replay-frames"
        self._settings = KernelSettings(server.host)
        self._merging: list[Merging] = []

    def prepare(self) -> None:
        """Make the server ignore packets that are not for it, and put the packets to send on the
        client. Raises MeasurementError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        client, server = self._deployment.client, self._deployment.server
        self._sender = client.host.program(binaries.find(SENDER))
        # A kernel that does not forward drops packets for others silently.
        self._settings.set({f"net/ipv4/conf/{server.interface}/forwarding": "0"})
        self._keep_packets_apart()
        macs = _macs(client, server.address)
        ready = self._folder / "frames"
        self._write(ready, macs)
        client.host.put(ready, self._at_client)
        ready.unlink()

    def send(self) -> tuple[ReplayOutcome, list[str]]:
        """Send the plan while both ends capture. Returns what became of the packets, and why that
        may be wrong. Raises MeasurementError."""
        captures = _EndCaptures(len(self.plan.packets))
        hops = tuple(_hop(self._deployment, name) for name in ("client", "server"))
        captures.start(replace(self._deployment, hops=hops), self._folder)
        try:
            self._run_sender()
        finally:
            observations = captures.stop()
        before, behind = (seen(self._capture(hop.name)) for hop in hops)
        result = replayed(self.plan, self._speed, before, behind)
        doubts = [
            f"the capture at the {o.source} missed packets"
            for o in observations
            if o.metric in ("capture_dropped_packets", "capture_bound_reached") and o.value
        ]
        return result, doubts

    def arrivals(self) -> Iterator[tuple[Key, int]]:
        """Return the packets that reached the server and when [ns], also packets that are not of
        the plan. Call it after `send` and before `close`. Raises MeasurementError."""
        return seen(self._capture("server"))

    def close(self, *, keep_captures: bool) -> None:
        """Restore the settings of the server and of all interfaces, and remove the packets and,
        unless `keep_captures`, the captures."""
        with suppress(MeasurementError):
            self._settings.restore({})  # as they were, without exception
        for merging in self._merging:
            merging.restore()
        argv = ["rm", "-f", str(self._at_client)]
        with suppress(MeasurementError):
            self._deployment.client.host.run(argv, timeout_s=_TIMEOUT_S)
        if not keep_captures:
            for pcap in self._folder.glob("*.pcap"):
                pcap.unlink()

    def _capture(self, hop: str) -> Path:
        """Return the file of the capture at a hop, as TcpdumpMonitor names it."""
        return self._folder / f"tcpdump-{hop}.pcap"

    def _write(self, path: Path, macs: bytes) -> None:
        """Write the packets as sfc-send reads them (dataplane/send/README.md): the time when each
        is due, its length, and its frame with the MAC addresses `macs`."""
        packets = self.plan.packets
        with (
            system_errors_as(MeasurementError, "the packets cannot be written", where=path),
            path.open("wb") as file,
        ):
            for packet in packets:
                due_ns = round((packet.time_ns - packets[0].time_ns) / self._speed)
                frame = macs + packet.frame[_MAC_BYTES:]
                file.write(struct.pack(">QI", due_ns, len(frame)) + frame)

    def _run_sender(self) -> None:
        """Send all packets, each when it is due. Raises MeasurementError."""
        client = self._deployment.client
        output = run_tool(
            client.host,
            [
                self._sender,
                "--interface",
                client.interface,
                "--timed",
                "--input",
                str(self._at_client),
            ],
            timeout_s=self.plan.span_s / self._speed + _MARGIN_S,
            stdout=self._folder / "sender.json",
            stderr=self._folder / "sender.stderr.txt",
        )
        if output.returncode:
            raise MeasurementError(f"{SENDER} failed: {output.complaint()}")

    def _keep_packets_apart(self) -> None:
        """Turn off the merging of packets at all hops that are inside a machine, except the
        client's: in the server, and in functions on machines of their own. Otherwise captures and
        counters there would show merged packets instead of those that were sent."""
        for hop in self._deployment.hops:
            if hop.inside and hop.name != "client":
                merging = Merging(hop.host)
                self._merging.append(merging)
                merging.turn_off(hop.interface)


class _EndCaptures(TcpdumpMonitor):
    """Captures the IP packets that leave the client and those that reach the server. A capture has
    room for twice the packets of the plan and _ROOM more."""

    def __init__(self, packets: int) -> None:
        """`packets` is the number of packets of the plan."""
        record_bytes = RECORD_HEADER_BYTES + SNAPLEN + ROUNDING_BYTES
        most_bytes = FILE_HEADER_BYTES + (2 * packets + _ROOM) * record_bytes
        parameters = {"filter": ["ip"], "snaplen": SNAPLEN, "max_bytes": most_bytes}
        super().__init__(with_defaults(TcpdumpMonitor.parameters, parameters))

    def reading(self, hop: Hop) -> list[str]:
        """Return the options by which tcpdump captures one direction, with times in ns."""
        # At the SFF, the client's packets come in, and packets to the server go out. On an
        # interface inside an endpoint (`hop.inside`), it is the other way round.
        way = "in" if (hop.name == "client") != hop.inside else "out"
        options = ["-B", str(buffer_kib(hop.host, _BUFFER_KIB)), "--time-stamp-precision", "nano"]
        return [*options, "-Q", way]

    @property
    def wait_at_the_end(self) -> bool:
        # The last packets may still be on their way.
        return True


def _hop(deployment: Deployment, name: str) -> Hop:
    """Return the hop of this name. Raises MeasurementError if there is none."""
    found = next((hop for hop in deployment.hops if hop.name == name), None)
    if found is None:
        raise MeasurementError(f"the infrastructure has no hop {name!r} to capture at")
    return found


def _check_mtu(plan: ReplayPlan, *endpoints: Endpoint) -> None:
    """Raise MeasurementError for a packet that does not fit the MTU of an endpoint."""
    for endpoint in endpoints:
        if plan.longest_ip_bytes > endpoint.mtu:
            raise MeasurementError(
                f"the trace has packets of {plan.longest_ip_bytes} bytes, and the MTU of the "
                f"{endpoint.name} is {endpoint.mtu}",
                hint="set infrastructure.config.mtu, with the driver local also wire_mtu; or "
                "capture where the MTU is smaller",
            )


def _macs(client: Endpoint, destination: str) -> bytes:
    """Return the first bytes of a frame from the client: the MAC address of its next hop towards
    the destination, and its own. Raises MeasurementError when the next hop does not answer."""
    [route] = _ip(client, "route", "get", destination)
    next_hop = str(route.get("gateway", destination))
    entries = _ip(client, "neighbour", "show", next_hop, "dev", client.interface)
    if not any("lladdr" in entry for entry in entries):
        # A packet makes the kernel ask for the MAC address; whether it is answered does not matter.
        ping = ["ping", "-c", "1", "-W", "2", destination]
        client.host.run(ping, timeout_s=_TIMEOUT_S, check=False)
        entries = _ip(client, "neighbour", "show", next_hop, "dev", client.interface)
    [link] = _ip(client, "link", "show", "dev", client.interface)
    known = [str(entry["lladdr"]) for entry in entries if "lladdr" in entry]
    if not known:
        raise MeasurementError(f"the client does not find the MAC address of {next_hop}")
    return bytes.fromhex(f"{known[0]}{link['address']}".replace(":", ""))


def _ip(endpoint: Endpoint, *words: str) -> Sequence[Mapping[str, Any]]:
    """Run `ip -json` on an endpoint, and return its answer; empty if it prints nothing."""
    done = endpoint.host.run(["ip", "-json", *words], timeout_s=_TIMEOUT_S)
    answer: Sequence[Mapping[str, Any]] = json.loads(done.text or "[]")
    return answer
