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
"""Why a packet was dropped -> named counter of nftables."""
_LEASE = "lease"
_IPV4 = "4"
"""The lease's only element. All packets have this version of IP, so they pass while it is there."""


def body(*, fail_closed: bool) -> str:
    """Return the body of the table. The chain FORWARD takes further rules at its end.

    Without connection tracking there are no fragments put together: those behind the first have no
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
    """A table of nftables whose sets hold the rules."""

    versions = frozenset((4,))

    def __init__(self, host: Host, name: str, more: Sequence[str], *, fail_closed: bool) -> None:
        """`more`: rules that stand behind the sets."""
        super().__init__(host, name, body(fail_closed=fail_closed), {FORWARD: more})

    def change(self, operations: Sequence[Operation], lease_s: float | None) -> None:
        """Change the sets in transactions of at most RULES_AT_ONCE operations, then renew the
        lease, or end it at 0 s. Raises MeasurementError."""
        # For each operation nft takes 1.7 KiB of the function's memory.
        for start in range(0, len(operations), nftables.RULES_AT_ONCE):
            portion = operations[start : start + nftables.RULES_AT_ONCE]
            self.transact("".join(self._commands(portion)))
        if lease_s is not None:
            lines = self._removal(_LEASE, _IPV4)
            if lease_s:
                lines += self._add(_LEASE, f"{_IPV4} timeout {_ms(lease_s)}")
            self.transact(lines)

    def _commands(self, operations: Iterable[Operation]) -> Iterator[str]:
        """Yield commands of nft, one for a run of operations of the same kind on the same set."""
        for (place, is_new), group in groupby(operations, _kind_of):
            # If the same rule is set twice in the run, the last one holds.
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
        """Return commands for one transaction that remove elements, whether they are there or
        not. An element can be removed only if it is there, so it is added first. Renewals use
        this too: kernels before 6.12 do not change the time of an element that is there."""
        remove = f"delete element ip {self.name} {place} {{ {elements} }}\n"
        return self._add(place, elements) + remove


def _kind_of(operation: Operation) -> tuple[str, Any]:
    """Return the rule's set, and whether the operation adds (True), renews (False) or removes
    (None) the rule."""
    place = _place(operation.rule)
    if isinstance(operation, RemoveRule):
        return place, None
    return place, not operation.renew


def _place(rule: Rule) -> str:
    if not isinstance(rule, Flow):
        return "sources"
    return "flows" if has_ports(rule.protocol) else "pairs"


def _element(rule: Rule) -> str:
    if not isinstance(rule, Flow):
        return rule.address
    (low, low_port), (high, high_port) = rule.low, rule.high
    if has_ports(rule.protocol):
        return f"{rule.protocol} . {low} . {low_port} . {high} . {high_port}"
    return f"{rule.protocol} . {low} . {high}"


def _ms(seconds: float) -> str:
    return f"{max(round(1000 * seconds), 1)}ms"
