"""The chain of a scenario: builds endpoints and service functions, and checks that the chain can
work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from sfcperf import plugins
from sfcperf.workflow.document import choices, pointer
from sfcperf.workflow.model import (
    ChainSpec,
    EndpointSpec,
    FunctionSpec,
    Match,
    ProbeSpec,
    Resources,
    Topology,
)
from sfcperf.workflow.topology import Report, known_node

MAX_LENGTH = 32


@dataclass(frozen=True)
class Vnf:
    """A VNF of the workflow, which the chain may contain several times."""

    type: str
    vnfd: Path | None
    """Its descriptor; None: that of its type, if that has one."""
    node: str | None
    """Node of its SFs, unless the chain names another one; None: the node of the chain."""
    resources: Resources
    knobs: Mapping[str, Any]
    files: Mapping[pointer.Path, str]
    """As in FunctionSpec."""


def build_endpoint(
    name: Literal["client", "server"], value: Mapping[str, Any], topology: Topology, report: Report
) -> EndpointSpec | None:
    """Build an endpoint on its node. None if no node is given, or if it does not exist; that is
    reported."""
    resources = value.get("resources")
    path = ("endpoints", name, "node") if "node" in value else ("topology", "placement", name)
    node = value.get("node") or topology.placement.get(name)
    if node is None:
        _report_unplaced(report, f"the {name}", f'placement "{name}" or endpoints.{name}.node')
        return None
    if not known_node(node, [n.name for n in topology.nodes], path, report):
        return None
    return EndpointSpec(
        name,
        node,
        None if resources is None else Resources(**resources),
        value.get("address"),
        value.get("options", {}),
    )


def build_functions(
    chain: Mapping[str, Any], vnfs: Mapping[str, Vnf], topology: Topology, report: Report
) -> tuple[FunctionSpec, ...]:
    """Build the SFs of the chain in order, with names, positions and nodes. `chain` and `vnfs`: the
    sections of the workflow. SFs with an error are reported and left out."""
    functions: list[FunctionSpec] = []
    numbers: Counter[str] = Counter()
    nodes = [node.name for node in topology.nodes]
    for index, entry in enumerate(chain["functions"]):
        path = ("chain", "functions", index)
        name = entry["vnf"]
        if name not in vnfs:
            report((*path, "vnf"), f"there is no VNF {name!r}", **choices(name, vnfs))
            continue
        node, node_path = _node(entry, name, vnfs[name], topology, path)
        if node is None:
            _report_unplaced(report, f"the VNF {name!r}", 'placement "chain" or the VNF\'s node')
            continue
        if not known_node(node, nodes, node_path, report):
            continue
        for _ in range(entry.get("count", 1)):
            numbers[name] += 1
            vnf = vnfs[name]
            functions.append(
                FunctionSpec(
                    name=f"{name}-{numbers[name]}",
                    vnf=name,
                    type=vnf.type,
                    position=len(functions) + 1,
                    node=node,
                    resources=vnf.resources,
                    knobs=vnf.knobs,
                    vnfd=vnf.vnfd,
                    files=vnf.files,
                )
            )
    return tuple(functions)


def build_chain(
    chain: Mapping[str, Any], functions: tuple[FunctionSpec, ...], report: Report
) -> ChainSpec:
    """Build the SFP of a scenario from the section `chain` and its SFs. Errors are reported; the
    result must then not be used."""
    classifier = chain.get("classifier", {})
    spec = ChainSpec(
        functions=functions,
        match=_match(classifier.get("match", {}), report),
        encapsulation=chain.get("encapsulation", "auto"),
        reverse=chain.get("reverse", "symmetric"),
        spi=chain.get("spi", 1),
        initial_si=chain.get("initial_si", 255),
        bypass_unparsed=classifier.get("bypass_unparsed", False),
    )
    length = len(functions)
    if length > MAX_LENGTH:
        report(
            ("chain", "functions"),
            f"the chain has {length} service functions",
            allowed=f"0 to {MAX_LENGTH}",
        )
    # Each SF decrements the SI, and an SFF discards packets with an SI of 0 (RFC 8300): the last
    # SF must leave at least 1.
    elif length >= spec.initial_si:
        report(
            ("chain", "initial_si"),
            f"the service index runs out: {spec.initial_si} - {length} service functions = "
            f"{spec.initial_si - length}",
            allowed=f"{length + 1} to 255",
        )
    return spec


def check_reachable(
    chain: ChainSpec, client: EndpointSpec, server: EndpointSpec, topology: Topology, report: Report
) -> None:
    """Report pairs of nodes that follow each other on the path of packets and have no link."""
    linked = {frozenset(link.between) for link in topology.links}
    nodes = [client.node, *(function.node for function in chain.functions), server.node]
    hops = [(a, b, "the chain") for a, b in pairwise(nodes)]
    # Packets that bypass the chain go directly between the endpoints.
    if chain.reverse == "bypass" or chain.match != Match() or chain.bypass_unparsed:
        hops.append((client.node, server.node, "traffic outside of the chain"))
    for first, second, what in dict.fromkeys(hops):
        if first != second and frozenset((first, second)) not in linked:
            report(
                ("topology", "links"),
                f"{what} goes from {first} to {second}, which have no link",
                hint="add the link, or leave out `links` to link all nodes with each other",
            )


def _node(
    entry: Mapping[str, Any], name: str, vnf: Vnf, topology: Topology, path: tuple[str | int, ...]
) -> tuple[str | None, tuple[str | int, ...]]:
    """Node of an SF, and where the document names it: in the chain, in the VNF, or as the
    placement. The node is None if none of them names one."""
    if "node" in entry:
        return entry["node"], (*path, "node")
    if vnf.node is not None:
        return vnf.node, ("vnfs", name, "node")
    return topology.placement.get("chain"), ("topology", "placement", "chain")


def _report_unplaced(report: Report, what: str, where: str) -> None:
    """Report that nothing says on which node `what` is; `where` names the keys that could."""
    report(("topology",), f"the topology has several nodes, but {what} has no node", where)


def _match(value: Mapping[str, Any], report: Report) -> Match:
    """Build what the classifier matches; report prefixes that are none, and ports of a protocol
    without ports."""
    path = ("chain", "classifier", "match")
    match = Match(**value)
    for key in ("source", "destination"):
        prefix = value.get(key)
        if prefix is not None and not _is_prefix(prefix):
            report(
                (*path, key),
                f"{prefix!r} is not an IPv4 prefix",
                allowed="e.g. 10.0.0.0/24, with host bits of 0",
            )
    for key in ("source_port", "destination_port"):
        if key in value and match.ip_proto not in ("tcp", "udp"):
            report(
                (*path, key),
                f"a port needs a protocol with ports, but ip_proto is {match.ip_proto!r}",
                allowed="ip_proto tcp or udp",
            )
    return match


def _is_prefix(text: str) -> bool:
    try:
        IPv4Network(text)
    except ValueError:
        return False
    return True


_MATCH = "/chain/classifier/match"


def check_classified(
    chain: ChainSpec,
    client: EndpointSpec,
    server: EndpointSpec,
    probes: Iterable[ProbeSpec],
    report: Report,
) -> None:
    """Report addresses and probes whose packets the classifier would not send into the chain.

    Without this check, only the counters of the functions would show it, after the deployment and
    in each trial. All prefixes and addresses are valid here.
    """
    if not chain.functions:
        return
    _check_address(chain.match.source, "source", client, report)
    _check_address(chain.match.destination, "destination", server, report)
    for probe in probes:
        protocols = plugins.load("probe", probe.probe).ip_protocols(probe.parameters)
        if protocols:  # without any, it is not known what the probe sends
            _check_probe(probe, protocols, chain, report)


def _check_address(prefix: str | None, key: str, endpoint: EndpointSpec, report: Report) -> None:
    """Report an endpoint whose address is not in the prefix that the classifier matches (`key` of
    `match`). None: the prefix is any, or the driver chooses the address."""
    if prefix is None or endpoint.address is None:
        return
    if IPv4Address(endpoint.address) not in IPv4Network(prefix):
        report(
            ("chain", "classifier", "match", key),
            f"the {endpoint.name}'s address {endpoint.address} is not in {prefix}: all packets "
            "would bypass the chain",
            allowed=f"a prefix that contains {endpoint.address}",
        )


def _check_probe(
    probe: ProbeSpec, protocols: frozenset[str], chain: ChainSpec, report: Report
) -> None:
    """Report a probe whose protocol or port the classifier does not match."""
    match = chain.match
    path = ("probes", probe.index)
    if match.ip_proto != "any" and match.ip_proto not in protocols:
        sent = " and ".join(sorted(protocols))
        report(
            path,
            f"{probe.label} measures {sent} packets, but only {match.ip_proto} enters the chain: "
            "they would bypass it",
            allowed=f"a probe that sends {match.ip_proto}, or {_MATCH}/ip_proto any or {sent}",
        )
        return
    port = probe.parameters.get("port")
    if port is not None and match.destination_port not in (None, port):
        report(
            path,
            f"{probe.label} sends to port {port}, but only packets to port "
            f"{match.destination_port} enter the chain: its packets would bypass it",
            allowed=f'"port": {match.destination_port}, or {_MATCH}/destination_port {port}',
        )


def port_for(probe: ProbeSpec, chain: ChainSpec) -> int | None:
    """Return the port of the server to which a probe has to send: the one that the classifier
    matches, or one that a function takes which ends connections of the probe's protocol. None: to
    any."""
    if chain.match.destination_port is not None:
        return chain.match.destination_port
    return next((port for ports in _ended_ports(probe, chain).values() for port in ports), None)


def _ended_ports(probe: ProbeSpec, chain: ChainSpec) -> dict[str, tuple[int, ...]]:
    """VNF that ends connections of a protocol of the probe -> ports of the server that it takes."""
    protocols = plugins.load("probe", probe.probe).ip_protocols(probe.parameters)
    redirections = (
        (function.vnf, plugins.load("vnf", function.type).redirection(function.knobs))
        for function in chain.functions
    )
    return {
        vnf: redirection.ports
        for vnf, redirection in redirections
        if redirection is not None and redirection.protocol in protocols
    }


def check_redirected(chain: ChainSpec, probes: Sequence[ProbeSpec], report: Report) -> None:
    """Report probes whose port no function takes that ends connections of their protocol: each of
    their trials would fail, because the measured traffic passes these functions by."""
    for probe in probes:
        port, ended = probe.parameters.get("port"), _ended_ports(probe, chain)
        ports = sorted({taken for each in ended.values() for taken in each})
        # What does not enter the chain is reported for that.
        enters = chain.match.destination_port in (None, port)
        if ended and port is not None and port not in ports and enters:
            report(
                ("probes", probe.index, "port"),
                f"{probe.label} sends to port {port}, which is not redirected to "
                f"{' or '.join(ended)}: its packets would pass it by, and each trial would fail",
                allowed=", ".join(map(str, ports)),
                hint=f"without `port` it is {port_for(probe, chain)}; or add {port} to the `ports` "
                "of `redirect`; ping measures what passes by",
            )


def check_redirections(chain: ChainSpec, report: Report) -> None:
    """Report functions that end connections in a chain that does not bring them all packets of
    these and of their own, or nothing else, with which the traversal could be proven."""
    match, path = chain.match, ("chain", "classifier", "match")
    for function in {function.vnf: function for function in chain.functions}.values():
        redirection = plugins.load("vnf", function.type).redirection(function.knobs)
        if redirection is None:
            continue
        ends = f"{function.vnf} ends connections"
        ports = {*redirection.ports, *redirection.server_ports}
        if chain.reverse == "bypass":
            report(
                ("chain", "reverse"),
                f"{ends}, and the server's replies to its own would bypass it",
                allowed='"symmetric"',
            )
        if match.source_port is not None:
            report(
                (*path, "source_port"),
                f"{ends}, and replies to its own, from other ports, would bypass it",
                hint="leave the port out",
            )
        if match.ip_proto not in ("any", redirection.protocol):
            report(
                (*path, "ip_proto"),
                f"{ends} of {redirection.protocol}, which would bypass it",
                allowed=f'"any" or "{redirection.protocol}"',
            )
        elif match.destination_port is not None and ports != {match.destination_port}:
            others = ", ".join(map(str, sorted(ports - {match.destination_port})))
            report(
                (*path, "destination_port"),
                f"{ends} of port {others}, which would bypass it",
                hint="leave the port out",
            )
        elif match.destination_port is not None and redirection.protocol == "udp":
            # Of TCP, segments without a connection still cross.
            report(
                (*path, "destination_port"),
                f"{function.vnf} takes all packets of the chain, so that none could prove that "
                "they traverse it",
                hint="leave the port out",
            )
