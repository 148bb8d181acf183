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

COMMAND_TIMEOUT_S = 10.0


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


def add_routes(host: Host, attachment: Attachment) -> None:
    """Links up, host routes and permanent neighbours for both endpoints. Raises MeasurementError.

    The client is behind the ingress, the server behind the egress. Nothing is forwarded yet, so
    that a function can set up its rules first.
    """
    host.run(["ip", "-batch", "-"], stdin=_batch(attachment).encode(), timeout_s=COMMAND_TIMEOUT_S)


def forward(host: Host, attachment: Attachment, *more: str) -> None:
    """Turn forwarding on, between the attachment's interfaces and `more` of the function's own.

    Raises MeasurementError.
    """
    settings = _sysctls([*attachment.interfaces, *more])
    host.run(["sysctl", "-q", "-w", *settings], timeout_s=COMMAND_TIMEOUT_S)


def check_checksums(host: Host, check: bool) -> None:
    """Whether connection tracking holds a packet with a wrong checksum for invalid, and so leaves
    it untranslated. Raises MeasurementError; there must be rules that use connection tracking.

    Its check of UDP takes the length from the IP header, so that options behind the datagram
    (RFC 9868, or a trailer) are part of the sum.
    """
    setting = f"net/netfilter/nf_conntrack_checksum={int(check)}"
    host.run(["sysctl", "-q", "-w", setting], timeout_s=COMMAND_TIMEOUT_S)


CHECK_CHECKSUMS_KNOB: Mapping[str, Any] = {
    "description": "Whether connection tracking verifies checksums. UDP with a trailer behind its "
    "data and no option checksum fails there, and would go on untranslated.",
    "type": "boolean",
    "default": False,
}
"""Schema of the knob `check_checksums`."""


def _batch(attachment: Attachment) -> str:
    """Lines for `ip -batch`.

    Host routes and permanent neighbours need neither addresses on the interfaces nor ARP, which
    the SFC proxy does not carry.
    """
    lines = [f"link set dev {interface} up" for interface in attachment.interfaces]
    ends = (attachment.client, attachment.server)
    for interface, (address, mac) in zip(attachment.interfaces, ends, strict=True):
        lines.append(f"route replace {address}/32 dev {interface} scope link")
        lines.append(f"neighbour replace {address} lladdr {mac} nud permanent dev {interface}")
    return "\n".join(lines) + "\n"


def _sysctls(interfaces: Sequence[str]) -> list[str]:
    """Forward; take packets whatever their source; send no redirects (`all` or the interface's
    own would do for rp_filter and send_redirects, so that both are set)."""
    settings = ["net/ipv4/ip_forward=1"]
    for scope in ("all", *interfaces):
        settings.append(f"net/ipv4/conf/{scope}/rp_filter=0")
        settings.append(f"net/ipv4/conf/{scope}/send_redirects=0")
    return settings


class KernelForwarding(RunningFunction):
    """A host whose kernel forwards."""

    def __init__(self, host: Host, attachment: Attachment) -> None:
        self._host = host
        self._routes = tuple(
            (interface, address)
            for interface, (address, _) in zip(
                attachment.interfaces, (attachment.client, attachment.server), strict=True
            )
        )
        self._at_start = ip_statistics.read(host)

    def counters(self) -> Mapping[str, int]:
        """IPv4 packets since the start, from the kernel's IP statistics (RFC 4293 names).

        `received` counts all that came in, `forwarded` all that a route was found for; `dropped`
        is the sum of the `dropped_REASON` counters. Raises MeasurementError.
        """
        now = ip_statistics.read(self._host)
        since = {name: now[name] - self._at_start[name] for name in now}
        drops = {f"dropped_{name}": since[field] for name, field in ip_statistics.DROPS.items()}
        return {
            "received": since["InReceives"],
            "forwarded": since["ForwDatagrams"],
            "dropped": sum(drops.values()),
            **drops,
        }

    def problem(self) -> str | None:
        """None while forwarding is on and both routes stand (a link that goes down takes its
        route with it)."""
        try:
            if self._host.read_text("/proc/sys/net/ipv4/ip_forward").strip() != "1":
                return "IPv4 forwarding was turned off"
            routes = _host_routes(self._host.read_text("/proc/net/route"))
        except MeasurementError as error:
            return error.message
        for interface, address in self._routes:
            if (interface, address) not in routes:
                return f"the route to {address} by {interface} is gone"
        return None

    def stop(self) -> None:
        """Forward no more; routes go with the host's interfaces."""
        # A host that is gone forwards nothing.
        with suppress(MeasurementError):
            self._host.run(
                ["sysctl", "-q", "-w", "net/ipv4/ip_forward=0"], timeout_s=COMMAND_TIMEOUT_S
            )


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
