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
    """The firewall's rules in an nftables table of their own."""

    def __init__(self, host: Host, count: int, default: str) -> None:
        """`count` rules match nothing; behind them, `default` (`accept` or `drop`) is for all
        packets."""
        filters = rules.nftables_rules(count, default)
        super().__init__(host, rules.TABLE, rules.nftables(), {rules.FORWARD: filters})


class Iptables(iptables.Chains):
    """The firewall's rules in chains of their own in the table `filter`, by iptables-nft."""

    def __init__(self, host: Host, count: int, default: str) -> None:
        """`count` rules match nothing; behind them, `default` (`accept` or `drop`) is for all
        packets."""
        super().__init__(host, rules.iptables(count, default), rules.iptables_removal())

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require the command, such as `iptables-nft`, and its `-restore`."""
        return [tool(cls.command, "iptables", [cls.command, "--version"]), *super().requirements()]

    def counters(self) -> Mapping[str, int]:
        """Return, as `rules.LAST`, the packets that reached the chain behind all rules, which has
        one rule. Raises MeasurementError, also when that rule is gone."""
        argv = [self.command, "--wait", "--numeric", "--verbose", "--exact", "--list", rules.END]
        lines = self._host.run(argv, timeout_s=iptables.COMMAND_TIMEOUT_S).text.splitlines()
        # Two lines of headings come first. A rule's line begins with its packets.
        counted = [line.split() for line in lines[2:]]
        if len(counted) != 1:
            raise MeasurementError(f"the chain {rules.END} has changed", where=self._host.name)
        return {rules.LAST: int(counted[0][0])}


class LegacyIptables(Iptables):
    """The firewall's rules by iptables-legacy: the xtables that iptables used before nf_tables."""

    command = "iptables-legacy"


ENGINES: dict[str, type[Nftables | Iptables]] = {
    "nftables": Nftables,
    "iptables": Iptables,
    "iptables-legacy": LegacyIptables,
}
"""Engines by the knob `engine`. Each counts, as `rules.LAST`, the packets that met the last
rule."""
