"""What balances: IPVS where the kernel has it, else a map of nftables."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
from sfcperf.vnfs.load_balancer import ipvs, rules

TABLE = "sfcperf-load-balancer"
COMMAND_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Service:
    """What is balanced."""

    port: int
    """TCP and UDP port of the server that the client addresses."""
    backends: tuple[int, ...]
    """Ports of the server that connections go to."""
    scheduler: str
    """`round-robin` or `hash` (of the client's address and port)."""


class Engine(ABC):
    """A load balancer of the kernel."""

    @abstractmethod
    def requirements(self) -> list[Requirement]:
        """Its command, and the kernel's part."""

    @abstractmethod
    def load(self, host: Host, attachment: Attachment, service: Service) -> None:
        """Balance. Raises MeasurementError."""

    @abstractmethod
    def counters(self, host: Host, service: Service) -> Mapping[str, int]:
        """`balanced`: packets of balanced connections; `connections_portN` per backend. Raises
        MeasurementError."""

    @abstractmethod
    def remove(self, host: Host, attachment: Attachment, service: Service) -> None:
        """Harmless when it is gone, or its host."""


class Nftables(Engine):
    """Destination NAT to an element of a map."""

    def requirements(self) -> list[Requirement]:
        """`nft`."""
        return [nftables.requirement()]

    def load(self, host: Host, attachment: Attachment, service: Service) -> None:
        """See Engine.load."""
        body = rules.nftables(attachment, service.port, service.backends, service.scheduler)
        nftables.load(host, TABLE, body)

    def counters(self, host: Host, service: Service) -> Mapping[str, int]:
        """From the named counters."""
        return nftables.packets(host, TABLE)

    def remove(self, host: Host, attachment: Attachment, service: Service) -> None:
        """See Engine.remove."""
        nftables.remove(host, TABLE)


class Ipvs(Engine):
    """IPVS in destination NAT mode (masquerading)."""

    def requirements(self) -> list[Requirement]:
        """`ipvsadm` and the module."""
        there = Path(ipvs.SERVICES).exists() or ipvs.module(uname().release) is not None
        kernel = Requirement(
            "IPVS",
            there,
            "in the kernel" if there else f"the kernel {uname().release} has no IPVS",
            "" if there else "set the load balancer's knob `engine` to `nftables`",
            of_this_kernel=True,
        )
        return [kernel, tool("ipvsadm", "ipvsadm", ["ipvsadm", "--version"])]

    def load(self, host: Host, attachment: Attachment, service: Service) -> None:
        """See Engine.load."""
        self.remove(host, attachment, service)
        try:
            self._load(host, attachment, service)
        except MeasurementError:
            self.remove(host, attachment, service)
            raise

    def _load(self, host: Host, attachment: Attachment, service: Service) -> None:
        server = attachment.server[0]
        host.run(
            ["ip", "-batch", "-"],
            stdin=ipvs.routes(attachment.interfaces[0], server, service.port).encode(),
            timeout_s=COMMAND_TIMEOUT_S,
        )
        services = ipvs.services(server, service.port, service.backends, service.scheduler)
        host.run(["ipvsadm", "--restore"], stdin=services.encode(), timeout_s=COMMAND_TIMEOUT_S)

    def counters(self, host: Host, service: Service) -> Mapping[str, int]:
        """From `ipvsadm --list --stats`."""
        argv = ["ipvsadm", "--list", "--numeric", "--stats", "--exact"]
        return ipvs.counters(host.run(argv, timeout_s=COMMAND_TIMEOUT_S).text, service.backends)

    def remove(self, host: Host, attachment: Attachment, service: Service) -> None:
        """See Engine.remove."""
        server = attachment.server[0]
        commands = [
            *(
                ["ipvsadm", "--delete-service", flag, f"{server}:{service.port}"]
                for flag in ipvs.FLAGS
            ),
            *(
                ["ip", "rule", "delete", *rule]
                for rule in ipvs.route_rules(attachment.interfaces[0], service.port)
            ),
            ["ip", "route", "flush", "table", ipvs.ROUTE_TABLE],
        ]
        with suppress(MeasurementError):
            for argv in commands:
                host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False)


ENGINES: dict[str, Engine] = {"ipvs": Ipvs(), "nftables": Nftables()}


def choose(host: Host, wanted: str) -> str:
    """Name of the engine for the knob `engine`; `auto` is IPVS where the host's kernel has it and
    `ipvsadm` is there."""
    if wanted != "auto":
        return wanted
    try:
        # A module that is not loaded yet is loaded by it.
        host.run(["ipvsadm", "--list", "--numeric"], timeout_s=COMMAND_TIMEOUT_S)
    except MeasurementError:
        return "nftables"
    return "ipvs"
