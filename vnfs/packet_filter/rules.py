"""The firewall's rules as text for nft and for iptables-restore."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

TABLE = "sfcperf-firewall"
"""Name of the nftables table."""
CHAIN = "sfcperf"
"""Chain of iptables, below FORWARD: rules of the host's own stay."""
END = "sfcperf-end"
"""Chain of iptables behind all rules: it can be counted without listing these."""
FORWARD = "forward"
"""Chain of the nftables table."""
LAST = "last"
"""Named counter of nftables: packets that met the last rule."""

_FIRST = int(ipaddress.IPv4Address("240.0.0.1"))


def addresses(count: int) -> Iterator[ipaddress.IPv4Address]:
    """`count` different addresses that no packet has: 240.0.0.0/4 is reserved (RFC 1112, section
    4), and Linux forwards nothing to it. A rule for each makes the kernel compare every packet with
    every rule, as with the paper's non-matching rules (Van Tu et al., CNSM 2020, section IV-B)."""
    return (ipaddress.IPv4Address(_FIRST + number) for number in range(count))


def nftables() -> str:
    """Body of an nftables table whose chain has no rules yet."""
    return f"""
counter {LAST} {{
}}
chain {FORWARD} {{
type filter hook forward priority filter; policy accept;
}}"""


def nftables_rules(count: int, default: str) -> list[str]:
    """Return the rules for the chain FORWARD: `count` rules that match nothing, then the last one,
    which is `default` (`accept` or `drop`)."""
    rules = [f"ip daddr {address} counter drop" for address in addresses(count)]
    return [*rules, f"counter name {LAST} {default}"]


def iptables(count: int, default: str) -> str:
    """Return the input of `iptables-restore --noflush` that adds chains and rules in one
    transaction."""
    rules = "\n".join(f"-A {CHAIN} -d {address} -j DROP" for address in addresses(count))
    return f"""*filter
:{CHAIN} - [0:0]
:{END} - [0:0]
{rules}
-A {CHAIN} -j {END}
-A {END} -j {default.upper()}
-A FORWARD -j {CHAIN}
COMMIT
"""


def iptables_removal() -> list[str]:
    """Return what takes chains and rules away again, for iptables.Chains."""
    chains = (CHAIN, END)
    return [
        f"filter -D FORWARD -j {CHAIN}",
        *(f"filter {option} {chain}" for option in ("-F", "-X") for chain in chains),
    ]
