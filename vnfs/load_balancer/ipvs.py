"""IPVS as text: what `ipvsadm --restore` and `ip -batch` read, and what `ipvsadm --list` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sfcperf.errors import MeasurementError

SERVICES = "/proc/net/ip_vs"
"""It exists where IPVS is loaded, or part of the kernel."""
ROUTE_TABLE = "1532"
"""Routing table in which the server's address is local."""
FLAGS = ("--tcp-service", "--udp-service")
"""Options of ipvsadm, one for each service that `services` adds."""
_SCHEDULERS = {"round-robin": "rr", "hash": "sh -b sh-port"}


def module(release: str) -> Path | None:
    """Find the file of the kernel's IPVS module, which may be compressed; None: it is not there."""
    folder = Path("/lib/modules") / release / "kernel/net/netfilter/ipvs"
    return next(iter(sorted(folder.glob("ip_vs.ko*"))), None)


def route_rules(ingress: str, port: int) -> list[list[str]]:
    """Selectors of `ip rule` for packets that IPVS shall have: TCP and UDP, by number, since small
    machines lack /etc/protocols."""
    return [
        ["iif", ingress, "ipproto", protocol, "dport", str(port), "lookup", ROUTE_TABLE]
        for protocol in ("6", "17")
    ]


def routes(ingress: str, server: str, port: int) -> str:
    """Lines for `ip -batch` that bring packets to IPVS, which takes only those for this host. The
    server's address is made local for packets that arrive at the ingress for the balanced port.
    Packets that IPVS sends on do not meet this rule, and leave by the egress."""
    lines = [f"route replace local {server}/32 dev lo table {ROUTE_TABLE}"]
    # Rule 0, the table `local`, comes first; the server's address is not in it.
    lines += [f"rule add {' '.join(rule)} priority 100" for rule in route_rules(ingress, port)]
    return "\n".join(lines) + "\n"


def services(server: str, port: int, backends: Sequence[int], scheduler: str) -> str:
    """Lines for `ipvsadm --restore`, with masquerading (-m): destination NAT."""
    lines = []
    for flag in ("-t", "-u"):
        lines.append(f"-A {flag} {server}:{port} -s {_SCHEDULERS[scheduler]}")
        lines += [f"-a {flag} {server}:{port} -r {server}:{backend} -m" for backend in backends]
    return "\n".join(lines) + "\n"


def counters(listing: str, backends: Sequence[int]) -> Mapping[str, int]:
    """Return `balanced`, packets both ways of all services, and for each backend its connections
    as `connections_portN`. Raises MeasurementError when no service is there.

    `listing` is what `ipvsadm --list --numeric --stats --exact` prints: lines of services, each
    followed by lines of its backends (`  -> ADDRESS:PORT  Conns InPkts OutPkts InBytes OutBytes`).
    """
    balanced, services_seen = 0, 0
    connections = dict.fromkeys(backends, 0)
    for words in map(str.split, listing.splitlines()):
        if words[:1] in (["TCP"], ["UDP"]):
            services_seen += 1
            balanced += int(words[3]) + int(words[4])
        elif words[:1] == ["->"] and words[1] != "RemoteAddress:Port":
            connections[int(words[1].rpartition(":")[2])] += int(words[2])
    if not services_seen:
        raise MeasurementError("the IPVS services are gone")
    by_backend = {f"connections_port{port}": count for port, count in connections.items()}
    return {"balanced": balanced, **by_backend}
