"""How the firewall's rules get into the kernel, are counted, and are taken out again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress

from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import nftables
from sfcperf.vnfs.firewall import rules

TABLE = "sfcperf-firewall"
COMMAND_TIMEOUT_S = 60.0


class Engine(ABC):
    """A packet filter of the kernel."""

    @abstractmethod
    def requirements(self) -> list[Requirement]:
        """Its commands."""

    @abstractmethod
    def load(self, host: Host, count: int, default: str) -> None:
        """All rules. Raises MeasurementError."""

    @abstractmethod
    def last_rule_packets(self, host: Host, default: str) -> int:
        """Packets that met the last rule. Raises MeasurementError."""

    @abstractmethod
    def remove(self, host: Host) -> None:
        """Harmless when they are gone, or the host."""


class Nftables(Engine):
    """A table of its own."""

    def requirements(self) -> list[Requirement]:
        """`nft`."""
        return [nftables.requirement()]

    def load(self, host: Host, count: int, default: str) -> None:
        """See Engine.load."""
        nftables.load(host, TABLE, rules.nftables())
        nftables.append(host, TABLE, rules.FORWARD, rules.nftables_rules(count, default))

    def last_rule_packets(self, host: Host, default: str) -> int:
        """From the named counter."""
        name = rules.PASSED if default == "accept" else rules.DROPPED
        return nftables.packets(host, TABLE)[name]

    def remove(self, host: Host) -> None:
        """See Engine.remove."""
        nftables.remove(host, TABLE)


class Iptables(Engine):
    """Chains of its own in table `filter`; `variant` is `nft` or `legacy`."""

    def __init__(self, variant: str) -> None:
        self._command = f"iptables-{variant}"

    def requirements(self) -> list[Requirement]:
        """`iptables-VARIANT` and its `-restore`."""
        version = [self._command, "--version"]
        return [
            tool(self._command, "iptables", version),
            tool(f"{self._command}-restore", "iptables"),
        ]

    def load(self, host: Host, count: int, default: str) -> None:
        """See Engine.load. What an earlier firewall left is taken away first."""
        self.remove(host)
        self._restore(host, rules.iptables(count, default))

    def last_rule_packets(self, host: Host, default: str) -> int:
        """From the chain behind all rules, which has one."""
        argv = [self._command, "--wait", "--numeric", "--verbose", "--exact", "--list", rules.END]
        lines = host.run(argv, timeout_s=COMMAND_TIMEOUT_S).text.splitlines()
        counted = [line.split() for line in lines[2:]]
        if len(counted) != 1:
            raise MeasurementError(f"the chain {rules.END} is not as it was", where=host.name)
        return int(counted[0][0])

    def remove(self, host: Host) -> None:
        """See Engine.remove."""
        with suppress(MeasurementError):
            self._restore(host, rules.iptables_removal())

    def _restore(self, host: Host, text: str) -> None:
        argv = [f"{self._command}-restore", "--wait", "--noflush"]
        host.run(argv, stdin=text.encode(), timeout_s=COMMAND_TIMEOUT_S)


ENGINES: dict[str, Engine] = {
    "nftables": Nftables(),
    "iptables": Iptables("nft"),
    "iptables-legacy": Iptables("legacy"),
}
"""By the knob `engine`."""
