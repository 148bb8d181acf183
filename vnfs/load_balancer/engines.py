"""What balances: IPVS where the kernel has it, else a map of nftables."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import uname
from pathlib import Path

from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import nftables
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.engine import Engine
from sfcperf.vnfs.load_balancer import ipvs

TABLE = "sfcperf-load-balancer"
COMMAND_TIMEOUT_S = 30.0
SEED = 0x5FC
"""Seed of the hash: the same connection goes to the same backend in every run."""
_MARK = 0x5FC
"""Mark of the connections that are balanced, by which their packets are counted."""


@dataclass(frozen=True)
class Service:
    """The service that is balanced."""

    port: int
    """TCP and UDP port of the server that the client addresses."""
    backends: tuple[int, ...]
    """Ports of the server that connections go to."""
    scheduler: str
    """`round-robin` or `hash` (of the client's address and port)."""


def table_body(attachment: Attachment, service: Service) -> str:
    """Return the body of an nftables.Table that balances: connections to the port go to one of the
    backends.

    A backend is chosen once for a connection; then connection tracking keeps it. `hash` is Jenkins'
    hash of the client's address and port. Connections are counted in a chain of type nat, which
    sees only their first packets; for `ct state new`, all UDP packets are new until a reply comes.
    """
    server, inside = attachment.server[0], attachment.interfaces[0]
    backends = service.backends
    names = {backend: f"connections_port{backend}" for backend in backends}
    choices = ", ".join(f"{index} : {backend}" for index, backend in enumerate(backends))
    number = {
        "round-robin": f"numgen inc mod {len(backends)}",
        "hash": f"jhash ip saddr . th sport mod {len(backends)} seed {SEED:#x}",
    }[service.scheduler]
    counters = "\n".join(f"counter {name} {{\n}}" for name in ("balanced", *names.values()))
    by_port = ", ".join(f'{backend} : "{name}"' for backend, name in names.items())
    protocols = "meta l4proto { tcp, udp }"
    return f"""
{counters}
chain choose {{
type nat hook prerouting priority dstnat; policy accept;
iifname "{inside}" ip daddr {server} {protocols} th dport {service.port} \\
ct mark set {_MARK:#x} dnat to {server}:{number} map {{ {choices} }}
}}
chain seen {{
type filter hook forward priority filter; policy accept;
ct mark {_MARK:#x} counter name balanced
}}
chain given {{
type nat hook postrouting priority srcnat; policy accept;
ct mark {_MARK:#x} {protocols} counter name th dport map {{ {by_port} }}
}}"""


class Nftables(nftables.Table):
    """Balances by destination NAT to an element of a map."""

    def __init__(self, host: Host, attachment: Attachment, service: Service) -> None:
        super().__init__(host, TABLE, table_body(attachment, service))


class Ipvs(Engine):
    """Balances by IPVS in destination NAT mode (masquerading)."""

    def __init__(self, host: Host, attachment: Attachment, service: Service) -> None:
        self._host = host
        self._ingress = attachment.interfaces[0]
        self._server = attachment.server[0]
        self._service = service

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require `ipvsadm`, and IPVS in the kernel or as a module."""
        there = Path(ipvs.SERVICES).exists() or ipvs.module(uname().release) is not None
        kernel = Requirement(
            "IPVS",
            there,
            "in the kernel" if there else f"the kernel {uname().release} has no IPVS",
            "" if there else "set the load balancer's knob `engine` to `nftables`",
            of_this_kernel=True,
        )
        return [kernel, tool("ipvsadm", "ipvsadm", ["ipvsadm", "--version"])]

    def load(self) -> None:
        """Remove what an earlier function left, then add routes by `ip -batch` and services by
        `ipvsadm --restore`. Raises MeasurementError."""
        service = self._service
        routes = ipvs.routes(self._ingress, self._server, service.port)
        services = ipvs.services(self._server, service.port, service.backends, service.scheduler)
        self.remove()
        self._run(["ip", "-batch", "-"], routes)
        self._run(["ipvsadm", "--restore"], services)

    def counters(self) -> Mapping[str, int]:
        """Return the counters that `ipvsadm --list --stats` prints. Raises MeasurementError."""
        listing = self._run(["ipvsadm", "--list", "--numeric", "--stats", "--exact"])
        return ipvs.counters(listing, self._service.backends)

    def remove(self) -> None:
        """Delete the IPVS services, and the routing rules and routes that lead to them. Ignores
        failures: they may be gone."""
        port = self._service.port
        commands = [
            *(
                ["ipvsadm", "--delete-service", flag, f"{self._server}:{port}"]
                for flag in ipvs.FLAGS
            ),
            *(["ip", "rule", "delete", *rule] for rule in ipvs.route_rules(self._ingress, port)),
            ["ip", "route", "flush", "table", ipvs.ROUTE_TABLE],
        ]
        with suppress(MeasurementError):
            for argv in commands:
                self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False)

    def _run(self, argv: list[str], stdin: str = "") -> str:
        return self._host.run(argv, stdin=stdin.encode(), timeout_s=COMMAND_TIMEOUT_S).text


ENGINES: dict[str, type[Ipvs | Nftables]] = {"ipvs": Ipvs, "nftables": Nftables}
"""Engines by the knob `engine`. Each counts `balanced`, packets of balanced connections, and for
each backend `connections_portN`."""


def choose(host: Host, wanted: str) -> str:
    """Return the engine, `ipvs` or `nftables`, for the knob `engine`: `auto` is IPVS where the
    host's kernel has it and `ipvsadm` is there, else nftables."""
    if wanted != "auto":
        return wanted
    try:
        # The command loads the module, if it is not loaded yet.
        host.run(["ipvsadm", "--list", "--numeric"], timeout_s=COMMAND_TIMEOUT_S)
    except MeasurementError:
        return "nftables"
    return "ipvs"
