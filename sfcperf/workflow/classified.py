"""Whether the classifier sends the packets that are measured into the chain.

What bypasses the chain is found by the counters of its functions too, but only after everything was
deployed, and in each trial again.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfcperf import plugins
from sfcperf.workflow.model import ChainSpec, ProbeSpec
from sfcperf.workflow.topology import Report

_MATCH = "/chain/classifier/match"


def check_classified(probes: Iterable[ProbeSpec], chain: ChainSpec, report: Report) -> None:
    """Report the probes whose packets would go past the functions of a chain."""
    if not chain.functions:
        return
    for probe in probes:
        protocols = plugins.load("probe", probe.probe).ip_protocols(probe.parameters)
        if protocols:
            _check_probe(probe, protocols, chain, report)


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
