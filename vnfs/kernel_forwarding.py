"""The Linux kernel's IPv4 forwarding between two interfaces, which most VNF types share."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from sfcperf.environment.tools import tool
from sfcperf.errors import DeploymentError, MeasurementError, errors_as
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import protocol_counters
from sfcperf.plugins import Requirement
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.vnfs.engine import Engine
from sfcperf.vnfs.kernel_settings import KernelSettings

COMMAND_TIMEOUT_S = 30.0
_TABLES = (5301, 5302)
"""Routing tables of what arrives at the ingress, and at the egress."""

DROPS = {
    "header": "InHdrErrors",
    "address": "InAddrErrors",
    "no_route": "OutNoRoutes",
    "in_discard": "InDiscards",
    "out_discard": "OutDiscards",
    "fragmentation": "FragFails",
}
"""Why a packet was not forwarded -> counter of the kernel (names of RFC 4293)."""


def requirements() -> list[Requirement]:
    """Require `ip` and `sysctl`."""
    return [tool("ip", "iproute2"), tool("sysctl", "procps")]


def ip_counters(host: Host) -> Mapping[str, int]:
    """The kernel's IPv4 counters since the network namespace was created. Raises
    MeasurementError."""
    return protocol_counters(host.read_text("/proc/net/snmp"), "Ip")


@contextmanager
def all_or_nothing(running: RunningFunction) -> Iterator[None]:
    """Stop the function if the block, which sets it up, raises: nothing of it stays on the host."""
    try:
        yield
    except BaseException:
        running.stop()
        raise


def deploying(name: str, host: Host) -> AbstractContextManager[None]:
    """Turn a MeasurementError of the block into a DeploymentError that names the instance."""
    return errors_as(DeploymentError, MeasurementError, context=name, where=host.name)


class KernelForwarding(RunningFunction):
    """A host whose kernel forwards between the two attached interfaces. What arrives by another
    interface, by which the host may be managed, is not forwarded.

    `launch` calls, in this order, the constructor, `add_routes`, `set_up` and `forward`. `stop`
    calls `take_away`.
    """

    more_interfaces: ClassVar[tuple[str, ...]] = ()
    """Interfaces of the function's own: packets are forwarded between these and the attached ones
    too."""
    rules_gone: ClassVar[str] = ""
    """What `problem` says, before the error, when the function's rules cannot be counted; empty:
    the error says enough."""
    _engine = Engine()
    """The function's rules; by default it has none."""

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        """Make the function, and change nothing in the kernel yet. Raises MeasurementError."""
        self._host = host
        self._attachment = attachment
        self._knobs = knobs
        self._interfaces = attachment.interfaces
        ends = (attachment.client, attachment.server)
        # Each interface, with the IPv4 and MAC address of the endpoint behind it.
        self._ends = tuple(zip(attachment.interfaces, ends, strict=True))
        self._settings = KernelSettings(host)
        self._stopped = False
        # The kernel has counted since the namespace was created, for earlier functions too.
        self._at_start = ip_counters(host)

    @classmethod
    def launch(
        cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]
    ) -> RunningFunction:
        """Set up everything, then forward; when a step fails, nothing stays. Raises
        DeploymentError, which names the instance."""
        with deploying(attachment.name, host):
            running = cls(host, attachment, knobs)
            with all_or_nothing(running):
                running.add_routes()
                running.set_up()
                running.forward()
        return running

    def add_routes(self) -> None:
        """Bring links up, and add host routes and permanent neighbours for both endpoints. Raises
        MeasurementError.

        The client is behind the ingress, the server behind the egress. Host routes win over those
        of a subnet that both interfaces may be in, and need no addresses; permanent neighbours need
        no ARP, which the SFC proxy does not carry. Packets for neither endpoint, such as traffic
        that was captured elsewhere, arrive by one interface and leave by the other. Nothing is
        forwarded yet.
        """
        lines = [f"link set dev {interface} up" for interface in self._interfaces]
        for interface, (address, mac) in self._ends:
            lines.append(f"route replace {address}/32 dev {interface} scope link")
            lines.append(f"neighbour replace {address} lladdr {mac} nud permanent dev {interface}")
        # A kernel that never had an address has no local table yet, and refuses all next hops.
        # A route makes the table, which stays when the route is deleted.
        any_route = f"broadcast 255.255.255.255 dev {self._interfaces[0]} table local"
        lines += [f"route replace {any_route}", f"route delete {any_route}"]
        # A rule can be there twice, so old ones are deleted first. For rules that are not there ip
        # reports an error, and continues.
        with suppress(MeasurementError):
            self._ip([line for way in self._ways for line in way.delete], "-force")
        self._ip([*lines, *(line for way in self._ways for line in way.add)])

    @property
    def _ways(self) -> Iterator[_PolicyRoute]:
        """Yield two policy routes: from the ingress to the server, and from the egress to the
        client."""
        for table, arriving, (leaving, (address, _)) in zip(
            _TABLES, self._interfaces, reversed(self._ends), strict=True
        ):
            yield _PolicyRoute(table, arriving, leaving, address)

    def set_up(self) -> None:
        """Set up what the function needs before packets may pass; here, load its rules. Raises
        MeasurementError, DeploymentError."""
        self._engine.load()

    def forward(self) -> None:
        """Turn forwarding on. Raises MeasurementError."""
        self._settings.set(_forwarding_settings([*self._interfaces, *self.more_interfaces]))

    def counters(self) -> Mapping[str, int]:
        """IPv4 packets since the start, from the kernel's IP statistics (RFC 4293 names).

        `received` counts all that arrived and was not for the host itself, `forwarded` all that a
        route was found for; `dropped` is the sum of the `dropped_REASON` counters. Raises
        MeasurementError.
        """
        now = ip_counters(self._host)
        since = {name: now[name] - self._at_start[name] for name in now}
        drops = {f"dropped_{name}": since[field] for name, field in DROPS.items()}
        own = since["InDelivers"] + since["InUnknownProtos"]
        return {
            "received": since["InReceives"] - own,
            "forwarded": since["ForwDatagrams"],
            "dropped": sum(drops.values()),
            **drops,
        }

    def problem(self) -> str | None:
        """Return None while forwarding is on, and both routes and the function's own rules exist;
        else what is wrong. A link that goes down takes its route with it."""
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
        try:
            self._engine.counters()
        except MeasurementError as error:
            return f"{self.rules_gone}: {error.message}" if self.rules_gone else error.message
        return None

    def stop(self) -> None:
        """Stop forwarding, then remove what was set up. Only the first call does anything, because
        the host may already have another function when a second one comes."""
        if self._stopped:
            return
        self._stopped = True
        # Errors are ignored, because a host that is gone forwards nothing. Forwarding ends also
        # where it was on before.
        with suppress(MeasurementError):
            self._settings.restore({_forwarding(name): "0" for name in self._interfaces})
        self.take_away()
        lines = []
        for interface, (address, mac) in self._ends:
            lines.append(f"route delete {address}/32 dev {interface} scope link")
            lines.append(f"neighbour delete {address} lladdr {mac} dev {interface}")
        lines += [line for way in self._ways for line in way.delete]
        with suppress(MeasurementError):
            self._ip(lines, "-force")

    def take_away(self) -> None:
        """Remove what the function set up beside routes. `stop` calls this when nothing is
        forwarded any more. Harmless when it is gone already, or its host."""
        self._engine.remove()

    def _ip(self, lines: Sequence[str], *options: str) -> None:
        """Run these lines by `ip -batch`, with these options of ip. Raises MeasurementError when a
        line fails; with `-force` the lines after it are run all the same."""
        self._host.run(
            ["ip", *options, "-batch", "-"],
            stdin="".join(f"{line}\n" for line in lines).encode(),
            timeout_s=COMMAND_TIMEOUT_S,
        )


@dataclass(frozen=True)
class _PolicyRoute:
    """Where packets go that arrive at an interface and have no route of their own, as lines of `ip
    -batch`. Routes of the table `main` come first, except a default route, which may be that of the
    management network."""

    table: int
    """Routing table that holds the route."""
    arriving: str
    """Interface at which the packets arrive."""
    leaving: str
    """Interface by which they leave."""
    next_hop: str
    """IPv4 address of the endpoint behind `leaving`."""

    @property
    def add(self) -> tuple[str, ...]:
        return (
            f"route replace default via {self.next_hop} dev {self.leaving} onlink {self._table}",
            *(f"rule add {rule}" for rule in self.rules),
        )

    @property
    def delete(self) -> tuple[str, ...]:
        return (
            *(f"rule delete {rule}" for rule in self.rules),
            f"route flush {self._table}",
        )

    @property
    def _table(self) -> str:
        return f"table {self.table}"

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules: look at the table `main` without its default route, then at the table of this
        interface."""
        # Each table gets two priorities of its own: the lower one is looked at first.
        iif = f"iif {self.arriving}"
        return (
            f"{iif} priority {2 * self.table} lookup main suppress_prefixlength 0",
            f"{iif} priority {2 * self.table + 1} lookup {self.table}",
        )


class KernelFunction(NetworkFunction):
    """A VNF type whose packets the host's kernel forwards; it knows nothing of NSH."""

    nsh_aware = False
    interfaces = 2
    running: ClassVar[type[KernelForwarding]] = KernelForwarding
    """Class of the function that `start` launches."""

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require `ip`, `sysctl`, and what the type itself needs."""
        return [*requirements(), *cls.own_requirements(knobs)]

    @classmethod
    def own_requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require what the type needs beyond kernel forwarding."""
        return []

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Launch `running`, which sets up the kernel and then forwards. Raises DeploymentError."""
        return cls.running.launch(host, attachment, knobs)


def _forwarding(interface: str) -> str:
    return f"net/ipv4/conf/{interface}/forwarding"


def _forwarding_settings(interfaces: Sequence[str]) -> dict[str, str]:
    """Return settings, name -> value, by which the kernel forwards what arrives at these
    interfaces, from any source, and sends no redirects.

    The setting of `all` or the interface's own is enough to turn the check of sources
    (`rp_filter`) or redirects on, so both are set to 0. Where two interfaces are in one subnet,
    each answers ARP for its own address alone. IPv6 is turned off, so that the host itself has no
    IPv6 traffic.
    """
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
    """Parse /proc/net/route: return (interface, address) of each /32 route. The file has addresses
    as little-endian hexadecimal numbers."""
    routes = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if fields[7] == "FFFFFFFF":
            address = ipaddress.IPv4Address(bytes.fromhex(fields[1])[::-1])
            routes.add((fields[0], str(address)))
    return routes
