"""The load balancer's rules as text for nft."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.vnfs.base import Attachment

SEED = 0x5FC
"""Of the hash: the same connection goes to the same backend in every run."""
_MARK = 0x5FC


def nftables(attachment: Attachment, port: int, backends: Sequence[int], scheduler: str) -> str:
    """Body of an nftables table: connections to `port` of the server go to one of `backends`.

    The choice falls once for a connection; then connection tracking keeps it. `hash` is Jenkins'
    hash of the client's address and port. Connections are counted in a chain of type nat, which
    sees their first packets alone: to `ct state new` all of UDP is new until a reply comes.
    """
    server, inside = attachment.server[0], attachment.interfaces[0]
    names = {backend: f"connections_port{backend}" for backend in backends}
    choices = ", ".join(f"{index} : {backend}" for index, backend in enumerate(backends))
    number = {
        "round-robin": f"numgen inc mod {len(backends)}",
        "hash": f"jhash ip saddr . th sport mod {len(backends)} seed {SEED:#x}",
    }[scheduler]
    counters = "\n".join(f"counter {name} {{\n}}" for name in ("balanced", *names.values()))
    by_port = ", ".join(f'{backend} : "{name}"' for backend, name in names.items())
    ours = "meta l4proto { tcp, udp }"
    return f"""
{counters}
chain choose {{
type nat hook prerouting priority dstnat; policy accept;
iifname "{inside}" ip daddr {server} {ours} th dport {port} \\
ct mark set {_MARK:#x} dnat to {server}:{number} map {{ {choices} }}
}}
chain seen {{
type filter hook forward priority filter; policy accept;
ct mark {_MARK:#x} counter name balanced
}}
chain given {{
type nat hook postrouting priority srcnat; policy accept;
ct mark {_MARK:#x} {ours} counter name th dport map {{ {by_port} }}
}}"""
