"""Whether the classifier sends the packets that are measured into the chain.

What bypasses the chain is found by the counters of its functions too, but only after everything was
deployed, and in each trial again.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network

from sfcperf import plugins
from sfcperf.workflow.model import ChainSpec, EndpointSpec, ProbeSpec
from sfcperf.workflow.topology import Report

_MATCH = "/chain/classifier/match"


def check_classified(
    chain: ChainSpec,
    client: EndpointSpec,
    server: EndpointSpec,
    probes: Iterable[ProbeSpec],
    report: Report,
) -> None:
    """Report what would send measured packets past the functions of a chain: addresses that the
    workflow gives, and what the probes say that they send. All prefixes and addresses are sound."""
    if not chain.functions:
        return
    _check_address(chain.match.source, "source", client, report)
    _check_address(chain.match.destination, "destination", server, report)
    for probe in probes:
        protocols = plugins.load("probe", probe.probe).ip_protocols(probe.parameters)
        if protocols:
            _check_probe(probe, protocols, chain, report)


def _check_address(prefix: str | None, key: str, endpoint: EndpointSpec, report: Report) -> None:
    if prefix is None or endpoint.address is None:
        return
    if IPv4Address(endpoint.address) not in IPv4Network(prefix):
        report(
            ("chain", "classifier", "match", key),
            f"the {endpoint.name}'s address {endpoint.address} is not in {prefix}: all packets "
            "would go past the chain",
            allowed=f"a prefix that holds {endpoint.address}",
        )


def _check_probe(
    probe: ProbeSpec, protocols: frozenset[str], chain: ChainSpec, report: Report
) -> None:
    match = chain.match
    path = ("probes", probe.index)
    if match.ip_proto != "any" and match.ip_proto not in protocols:
        sent = " and ".join(sorted(protocols))
        report(
            path,
            f"{probe.label} measures {sent} packets, but only {match.ip_proto} enters the chain: "
            "they would go past it",
            allowed=f"a probe that sends {match.ip_proto}, or {_MATCH}/ip_proto any or {sent}",
        )
        return
    port = probe.parameters.get("port")
    if port is not None and match.destination_port not in (None, port):
        report(
            path,
            f"{probe.label} sends to port {port}, but only what goes to port "
            f"{match.destination_port} enters the chain: its packets would go past it",
            allowed=f'"port": {match.destination_port}, or {_MATCH}/destination_port {port}',
        )
