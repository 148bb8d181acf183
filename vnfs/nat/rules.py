"""The NAT's rules as text for nft."""

from __future__ import annotations

from sfcperf.vnfs.base import Attachment


def nftables(
    attachment: Attachment, ports: tuple[int, int], destination: tuple[int, int] | None
) -> str:
    """Body of an nftables table.

    `ports`, first and last: what source ports (of ICMP: identifiers) are translated to, at random.
    `destination`: port of the server that the client addresses, and the one it is translated to.
    """
    client, server = attachment.client[0], attachment.server[0]
    inside, outside = attachment.interfaces
    onto = f"{client}:{ports[0]}-{ports[1]} fully-random"
    before = ""
    if destination is not None:
        virtual, real = destination
        before = (
            f'iifname "{inside}" ip daddr {server} meta l4proto {{ tcp, udp }} th dport {virtual} '
            f"dnat to {server}:{real}"
        )
    return f"""
counter translated_source {{
}}
counter translated_destination {{
}}
counter untracked {{
}}
chain destination {{
type nat hook prerouting priority dstnat; policy accept;
{before}
}}
chain source {{
type nat hook postrouting priority srcnat; policy accept;
oifname "{outside}" ip saddr {client} meta l4proto {{ tcp, udp }} snat to {onto}
oifname "{outside}" ip saddr {client} meta l4proto icmp snat to {onto}
}}
chain seen {{
type filter hook postrouting priority 300; policy accept;
ct status snat counter name translated_source
ct status dnat counter name translated_destination
oifname {{ "{inside}", "{outside}" }} ct state invalid counter name untracked
}}"""
