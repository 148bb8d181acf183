"""Text of IPVS: what `ipvsadm --restore` and `ip -batch` read, and what `ipvsadm --list` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sfcperf.errors import MeasurementError

SERVICES = "/proc/net/ip_vs"
ROUTE_TABLE = "1532"
FLAGS = ("--tcp-service", "--udp-service")
_SCHEDULERS = {"round-robin": "rr", "hash": "sh -b sh-port"}


def module(release: str) -> Path | None:
    """Return the kernel's IPVS module, which may be compressed; None if it has none."""
    folder = Path("/lib/modules") / release / "kernel/net/netfilter/ipvs"
    return next(iter(sorted(folder.glob("ip_vs.ko*"))), None)


def route_rules(ingress: str, port: int) -> list[list[str]]:
    """Return selectors of `ip rule` for the packets that IPVS is to balance. TCP and UDP are
    given by number, because small machines lack /etc/protocols."""
    return [
        ["iif", ingress, "ipproto", protocol, "dport", str(port), "lookup", ROUTE_TABLE]
        for protocol in ("6", "17")
    ]


def routes(ingress: str, server: str, port: int) -> str:
    """Return lines for `ip -batch` that make the kernel hand packets to IPVS. IPVS takes packets
    that are for this host, so the server's address is local for packets that come in for the
    balanced port. What IPVS sends on leaves by the egress."""
    lines = [f"route replace local {server}/32 dev lo table {ROUTE_TABLE}"]
    # The table `local` (rule 0) is looked at first; the server's address is not in it.
    lines += [f"rule add {' '.join(rule)} priority 100" for rule in route_rules(ingress, port)]
    return "\n".join(lines) + "\n"


def services(server: str, port: int, backends: Sequence[int], scheduler: str) -> str:
    """Return lines for `ipvsadm --restore` that balance with masquerading (-m): destination NAT."""
    lines = []
    for flag in ("-t", "-u"):
        lines.append(f"-A {flag} {server}:{port} -s {_SCHEDULERS[scheduler]}")
        lines += [f"-a {flag} {server}:{port} -r {server}:{backend} -m" for backend in backends]
    return "\n".join(lines) + "\n"


def counters(listing: str, backends: Sequence[int]) -> Mapping[str, int]:
    """Read the output of `ipvsadm --list --numeric --stats --exact`: lines of services, each
    followed by those of its backends (`  -> ADDRESS:PORT  Conns InPkts OutPkts InBytes OutBytes`).

    Raises MeasurementError when no service is there.
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
