"""How the firewall's rules get into the kernel, are counted, and are taken out again."""

from __future__ import annotations

from collections.abc import Mapping

from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import iptables, nftables
from sfcperf.vnfs.packet_filter import rules


class Nftables(nftables.Table):
    """The firewall's rules as a table of nftables of its own."""

    def __init__(self, host: Host, count: int, default: str) -> None:
        """`default` is `accept` or `drop`."""
        filters = rules.nftables_rules(count, default)
        super().__init__(host, rules.TABLE, rules.nftables(), {rules.FORWARD: filters})


class Iptables(iptables.Chains):
    """The firewall's rules as chains of its own in the table `filter`, by iptables-nft."""

    def __init__(self, host: Host, count: int, default: str) -> None:
        """`default` is `accept` or `drop`."""
        super().__init__(host, rules.iptables(count, default), rules.iptables_removal())

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Return `iptables-VARIANT` and its `-restore` as requirements."""
        return [tool(cls.command, "iptables", [cls.command, "--version"]), *super().requirements()]

    def counters(self) -> Mapping[str, int]:
        """Return what the chain behind all rules has counted; that chain has one rule."""
        argv = [self.command, "--wait", "--numeric", "--verbose", "--exact", "--list", rules.END]
        lines = self._host.run(argv, timeout_s=iptables.COMMAND_TIMEOUT_S).text.splitlines()
        counted = [line.split() for line in lines[2:]]
        if len(counted) != 1:
            raise MeasurementError(f"the chain {rules.END} has changed", where=self._host.name)
        return {rules.LAST: int(counted[0][0])}


class LegacyIptables(Iptables):
    """The firewall's rules by the xtables of older kernels."""

    command = "iptables-legacy"


ENGINES: dict[str, type[Nftables | Iptables]] = {
    "nftables": Nftables,
    "iptables": Iptables,
    "iptables-legacy": LegacyIptables,
}
"""Engines by the value of the knob `engine`. Each counts, as `rules.LAST`, the packets that met
the last rule."""
