"""Rules that are set while the firewall works: sets of the kernel's packet filter (nftables).

An element has a time, after which the kernel removes it. A packet costs the same few lookups,
however many elements there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from sfcperf.hosts.base import Host
from sfcperf.vnfs import nftables
from sfcperf.vnfs.packet_filter.rules import FORWARD, LAST
from sfcperf.vnfs.rule_interface.rules import Flow, Rule, has_ports
from sfcperf.vnfs.rule_interface.table import Operation, PutRule, RemoveRule, RuleTable

DROPS = {
    "by_flow_rule": "by_flow",
    "by_source_rule": "by_source",
    "while_failed": "failed",
}
"""Why a packet was dropped -> named counter."""
_LEASE = "lease"
_IPV4 = "4"
"""The only element of the set of the lease: the version of IP that all packets here have. While
the element is there, packets pass."""


def body(*, fail_closed: bool) -> str:
    """Return the body of the table. The chain FORWARD takes further rules at its end. With
    `fail_closed`, packets are dropped while there is no lease.

    Without connection tracking nothing puts fragments together: those behind the first have no
    ports, and match no flow with ports.
    """
    leased = f"ip version != @{_LEASE} counter name failed drop" if fail_closed else ""
    return f"""
counter {LAST} {{
}}
counter by_flow {{
}}
counter by_source {{
}}
counter failed {{
}}
set {_LEASE} {{
typeof ip version
flags timeout
}}
set sources {{
type ipv4_addr
flags timeout
}}
set flows {{
type inet_proto . ipv4_addr . inet_service . ipv4_addr . inet_service
flags timeout
}}
set pairs {{
type inet_proto . ipv4_addr . ipv4_addr
flags timeout
}}
chain with_ports {{
meta l4proto . ip saddr . th sport . ip daddr . th dport @flows counter name by_flow drop
meta l4proto . ip daddr . th dport . ip saddr . th sport @flows counter name by_flow drop
}}
chain without_ports {{
meta l4proto . ip saddr . ip daddr @pairs counter name by_flow drop
meta l4proto . ip daddr . ip saddr @pairs counter name by_flow drop
}}
chain set_rules {{
{leased}
ip saddr @sources counter name by_source drop
meta l4proto {{ tcp, udp, dccp, sctp, udplite }} goto with_ports
goto without_ports
}}
chain {FORWARD} {{
type filter hook forward priority filter; policy accept;
jump set_rules
}}"""


class SetTable(nftables.Table, RuleTable):
    """A table of nftables whose sets hold the rules: an engine of kernel forwarding, and what the
    rule interface changes."""

    versions = frozenset((4,))

    def __init__(self, host: Host, name: str, more: Sequence[str], *, fail_closed: bool) -> None:
        """`more`: rules behind the sets."""
        super().__init__(host, name, body(fail_closed=fail_closed), {FORWARD: more})

    def change(self, operations: Sequence[Operation], lease_s: float | None) -> None:
        """Change the sets in transactions of at most RULES_AT_ONCE operations. Then let the lease
        end `lease_s` from now, at once with 0; None leaves it as it is. Raises MeasurementError."""
        # nft takes 1.7 KiB of the function's memory for each operation.
        for start in range(0, len(operations), nftables.RULES_AT_ONCE):
            portion = operations[start : start + nftables.RULES_AT_ONCE]
            self.transact("".join(self._commands(portion)))
        if lease_s is not None:
            lines = self._removal(_LEASE, _IPV4)
            if lease_s:
                lines += self._add(_LEASE, f"{_IPV4} timeout {_ms(lease_s)}")
            self.transact(lines)

    def _commands(self, operations: Iterable[Operation]) -> Iterator[str]:
        """Yield the commands of nft for these operations. Neighbouring ones of the same kind, in
        one set, share a command. A rule that is renewed is removed and added again."""
        for (place, is_new), group in groupby(operations, _kind_of):
            # Of what is put twice, the last one holds.
            latest = {_element(each.rule): each for each in group}
            if not is_new:
                yield self._removal(place, ", ".join(latest))
            timed = [
                f"{element} timeout {_ms(each.ttl_s)}"
                for element, each in latest.items()
                if isinstance(each, PutRule)
            ]
            if timed:
                yield self._add(place, ", ".join(timed))

    def _add(self, place: str, elements: str) -> str:
        return f"add element ip {self.name} {place} {{ {elements} }}\n"

    def _removal(self, place: str, elements: str) -> str:
        """Return commands that remove elements whether they are there or not. nft can remove only
        elements that are there, so they are added first. A renewal also needs this, because kernels
        before 6.12 do not change the time of an element that is there."""
        remove = f"delete element ip {self.name} {place} {{ {elements} }}\n"
        return self._add(place, elements) + remove


def _kind_of(operation: Operation) -> tuple[str, Any]:
    """Return the name of the rule's set, and what happens to the rule: it is new (True), renewed
    (False) or removed (None)."""
    place = _place(operation.rule)
    if isinstance(operation, RemoveRule):
        return place, None
    return place, not operation.renew


def _place(rule: Rule) -> str:
    """Return the name of the set that holds a rule."""
    if not isinstance(rule, Flow):
        return "sources"
    return "flows" if has_ports(rule.protocol) else "pairs"


def _element(rule: Rule) -> str:
    """Return a rule as an element of its set."""
    if not isinstance(rule, Flow):
        return rule.address
    (low, low_port), (high, high_port) = rule.low, rule.high
    if has_ports(rule.protocol):
        return f"{rule.protocol} . {low} . {low_port} . {high} . {high_port}"
    return f"{rule.protocol} . {low} . {high}"


def _ms(seconds: float) -> str:
    """Return seconds as a time for nft: whole milliseconds, at least 1."""
    return f"{max(round(1000 * seconds), 1)}ms"
