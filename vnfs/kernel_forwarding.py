"""The Linux kernel's IPv4 forwarding between two interfaces: what router, firewall, NAT and their
like have in common."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sfcperf.environment.tools import tool
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import ip_statistics
from sfcperf.vnfs.base import Attachment, RunningFunction
from sfcperf.vnfs.kernel_settings import KernelSettings

COMMAND_TIMEOUT_S = 30.0


def requirements() -> list[Requirement]:
    """`ip` and `sysctl`."""
    return [tool("ip", "iproute2"), tool("sysctl", "procps")]


@contextmanager
def deployment_errors(host: Host, attachment: Attachment) -> Iterator[None]:
    """A command that fails on the host, as a DeploymentError that names the instance."""
    try:
        yield
    except MeasurementError as error:
        raise DeploymentError(
            f"{attachment.name}: {error.message}", where=host.name, hint=error.hint
        ) from error


@contextmanager
def all_or_nothing(running: RunningFunction) -> Iterator[None]:
    """While a function is set up: when a step fails, nothing of it stays on the host."""
    try:
        yield
    except BaseException:
        running.stop()
        raise


CHECK_CHECKSUMS_KNOB: Mapping[str, Any] = {
    "description": "Whether connection tracking verifies checksums. UDP with a trailer behind its "
    "data and no option checksum fails there, and would go on untranslated.",
    "type": "boolean",
    "default": False,
}
"""Schema of the knob `check_checksums`."""


class KernelForwarding(RunningFunction):
    """A host whose kernel forwards, between these two interfaces and no others: what comes in by
    another one, by which the host may be managed, goes nowhere.

    To be set up under `all_or_nothing`: `add_routes`, the function's own rules, `forward`.
    """

    def __init__(self, host: Host, attachment: Attachment) -> None:
        """Nothing is changed yet. Raises MeasurementError."""
        self._host = host
        self._interfaces = attachment.interfaces
        ends = (attachment.client, attachment.server)
        self._ends = tuple(zip(attachment.interfaces, ends, strict=True))
        self._settings = KernelSettings(host)
        self._stopped = False
        self._at_start = ip_statistics.read(host)

    def add_routes(self) -> None:
        """Links up, host routes and permanent neighbours for both endpoints. Raises
        MeasurementError.

        The client is behind the ingress, the server behind the egress. Host routes win over those
        of a subnet that both interfaces may be in, and need no addresses; permanent neighbours need
        no ARP, which the SFC proxy does not carry. Nothing is forwarded yet.
        """
        lines = [f"link set dev {interface} up" for interface in self._interfaces]
        for interface, (address, mac) in self._ends:
            lines.append(f"route replace {address}/32 dev {interface} scope link")
            lines.append(f"neighbour replace {address} lladdr {mac} nud permanent dev {interface}")
        self._ip(lines)

    def forward(self, *more: str) -> None:
        """Turn forwarding on, between both interfaces and `more` of the function's own. Raises
        MeasurementError."""
        self._settings.set(_forwarding_settings([*self._interfaces, *more]))

    def check_checksums(self, check: bool) -> None:
        """Whether connection tracking holds a packet with a wrong checksum for invalid, and so
        leaves it untranslated. Raises MeasurementError; there must be rules that use it already.

        Its check of UDP takes the length from the IP header, so that options behind the datagram
        (RFC 9868, or a trailer) are part of the sum.
        """
        self._settings.set({"net/netfilter/nf_conntrack_checksum": str(int(check))})

    def counters(self) -> Mapping[str, int]:
        """IPv4 packets since the start, from the kernel's IP statistics (RFC 4293 names).

        `received` counts all that came in and was not for the host itself, `forwarded` all that a
        route was found for; `dropped` is the sum of the `dropped_REASON` counters. Raises
        MeasurementError.
        """
        now = ip_statistics.read(self._host)
        since = {name: now[name] - self._at_start[name] for name in now}
        drops = {f"dropped_{name}": since[field] for name, field in ip_statistics.DROPS.items()}
        own = since["InDelivers"] + since["InUnknownProtos"]
        return {
            "received": since["InReceives"] - own,
            "forwarded": since["ForwDatagrams"],
            "dropped": sum(drops.values()),
            **drops,
        }

    def problem(self) -> str | None:
        """None while forwarding is on and both routes stand (a link that goes down takes its
        route with it)."""
        try:
            for interface in self._interfaces:
                if self._host.read_text(f"/proc/sys/{_forwarding(interface)}").strip() != "1":
                    return "IPv4 forwarding was turned off"
            routes = _host_routes(self._host.read_text("/proc/net/route"))
        except MeasurementError as error:
            return error.message
        for interface, (address, _) in self._ends:
            if (interface, address) not in routes:
                return f"the route to {address} by {interface} is gone"
        return None

    def stop(self) -> None:
        """Forward no more; then take away what was set up. Once only: by a second time the host
        may have got another function."""
        if self._stopped:
            return
        self._stopped = True
        # A host that is gone forwards nothing. Forwarding ends also where it was on before.
        with suppress(MeasurementError):
            self._settings.restore({_forwarding(name): "0" for name in self._interfaces})
        self.take_away()
        lines = []
        for interface, (address, mac) in self._ends:
            lines.append(f"route delete {address}/32 dev {interface} scope link")
            lines.append(f"neighbour delete {address} lladdr {mac} dev {interface}")
        with suppress(MeasurementError):
            self._ip(lines, "-force")

    def take_away(self) -> None:
        """What the function set up beside routes, when nothing is forwarded any more; harmless
        when it is gone, or its host."""

    def _ip(self, lines: Sequence[str], *options: str) -> None:
        """Lines of `ip -batch`."""
        self._host.run(
            ["ip", *options, "-batch", "-"],
            stdin="".join(f"{line}\n" for line in lines).encode(),
            timeout_s=COMMAND_TIMEOUT_S,
        )


def _forwarding(interface: str) -> str:
    return f"net/ipv4/conf/{interface}/forwarding"


def _forwarding_settings(interfaces: Sequence[str]) -> dict[str, str]:
    """Forward what comes in by these interfaces, from whatever source; send no redirects (`all` or
    the interface's own would do for these two, so that both are set). Where two interfaces are in
    one subnet, each answers ARP for its own address alone. No chatter of IPv6."""
    settings = {"net/ipv4/conf/all/rp_filter": "0", "net/ipv4/conf/all/send_redirects": "0"}
    for interface in interfaces:
        scope = f"net/ipv4/conf/{interface}"
        settings |= {
            f"net/ipv6/conf/{interface}/disable_ipv6": "1",
            f"{scope}/rp_filter": "0",
            f"{scope}/send_redirects": "0",
            f"{scope}/arp_ignore": "1",
            f"{scope}/arp_announce": "2",
            _forwarding(interface): "1",
        }
    return settings


def _host_routes(table: str) -> set[tuple[str, str]]:
    """(interface, address) of the /32 routes in /proc/net/route, whose addresses are
    little-endian hexadecimal."""
    routes = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if fields[7] == "FFFFFFFF":
            address = ipaddress.IPv4Address(bytes.fromhex(fields[1])[::-1])
            routes.add((fields[0], str(address)))
    return routes
