"""Troubles: failures of the calls that a run makes, each of which a run must survive."""

from __future__ import annotations

from collections.abc import Mapping

from support.faulty_cloud.faults import Answer, Delay, Fault, Garble, HangUp, Truncate
from support.faulty_cloud.rules import Rule

ONE = r"/[0-9a-f-]{32,36}$"
"""The end of the path of one thing."""
LOST = HangUp(reached=True)
REFUSED = HangUp(reached=False)


def _identity(fault: Fault, nth: int = 1) -> Rule:
    return Rule(fault, "identity", "POST", r"/auth/tokens$", nth=nth)


def _compute(fault: Fault, method: str, path: str, nth: int = 1) -> Rule:
    return Rule(fault, "compute", method, path, nth=nth)


def _network(fault: Fault, method: str, path: str, nth: int = 1) -> Rule:
    return Rule(fault, "network", method, rf"/v2\.0/{path}", nth=nth)


READING: Mapping[str, Rule] = {
    "authenticate: 503": _identity(Answer(503)),
    "authenticate: connection refused, then": _identity(REFUSED, nth=2),
    "versions of glance: 502": Rule(Answer(502), "image", "GET", r"^/$"),
    "find the image: 500": Rule(Answer(500), "image", "GET", r"/images"),
    "find the flavor: half an answer": _compute(Truncate(), "GET", r"/flavors"),
    "find a network: 429, wait 1 s": _network(Answer(429, retry_after="1"), "GET", "networks"),
    "look at a server: token expired": _compute(Answer(401), "GET", r"/servers"),
    "look at a server: no JSON": _compute(Garble(), "GET", r"/servers", nth=3),
    "look at a server: 503": _compute(Answer(503), "GET", r"/servers", nth=5),
    "read the console: 502": _compute(Answer(502), "POST", r"/servers/[^/]+/action$"),
}
"""Calls that change nothing."""

MAKING: Mapping[str, Rule] = {
    "make the key pair: answer lost": _compute(LOST, "POST", r"/os-keypairs$"),
    "make a network: answer lost": _network(LOST, "POST", "networks$"),
    "make a subnet: gateway gave up": _network(Answer(504, reached=True), "POST", "subnets$"),
    "make ports: 500": _network(Answer(500), "POST", "ports$"),
    "make ports, again: half an answer": _network(Truncate(), "POST", "ports$", nth=2),
    "make a server: answer lost": _compute(LOST, "POST", r"/servers$"),
    "make a server: 429, no word of when": _compute(Answer(429), "POST", r"/servers$", nth=2),
    "make a server: late": _compute(Delay(3), "POST", r"/servers$", nth=3),
    "make a port pair: 409": _network(Answer(409), "POST", "sfc/port_pairs$"),
    "make a port pair, again: answer lost": _network(LOST, "POST", "sfc/port_pairs$", nth=2),
    "make a group: 502 though it was made": _network(
        Answer(502, reached=True), "POST", "sfc/port_pair_groups$"
    ),
    "make a classifier: no JSON": _network(Garble(), "POST", "sfc/flow_classifiers$"),
    "make a chain: answer lost": _network(LOST, "POST", "sfc/port_chains$"),
}
"""Calls that make: some did, and nobody was told."""

REMOVING: Mapping[str, Rule] = {
    "remove the chain: answer lost": _network(LOST, "DELETE", "sfc/port_chains" + ONE),
    "remove a classifier: 409": _network(Answer(409), "DELETE", "sfc/flow_classifiers" + ONE),
    "remove a group: 500": _network(Answer(500), "DELETE", "sfc/port_pair_groups" + ONE),
    "remove a port pair: 503": _network(Answer(503), "DELETE", "sfc/port_pairs" + ONE),
    "remove a server: 429, wait 1 s": _compute(
        Answer(429, retry_after="1"), "DELETE", "/servers" + ONE
    ),
    "remove a server: answer lost": _compute(LOST, "DELETE", "/servers" + ONE, nth=2),
    "remove a port: token expired": _network(Answer(401), "DELETE", "ports" + ONE),
    "remove a subnet or network: 409": _network(Answer(409), "DELETE", "(subnets|networks)" + ONE),
    "remove the key pair: 500": _compute(Answer(500), "DELETE", r"/os-keypairs/"),
}
"""Calls that remove."""


def _tacker(fault: Fault, method: str, path: str, nth: int = 1) -> Rule:
    return Rule(fault, "nfv-orchestration", method, rf"/v1\.0/{path}", nth=nth)


OF_TACKER: Mapping[str, Rule] = {
    "make a VNFD: 503": _tacker(Answer(503), "POST", r"vnfds(\.json)?$"),
    "make a VNF: answer lost": _tacker(LOST, "POST", r"vnfs(\.json)?$"),
    "look at VNFs: token expired": _tacker(Answer(401), "GET", "vnfs"),
    "make a forwarding graph: half an answer": _tacker(Truncate(), "POST", r"vnffgs(\.json)?$"),
    "remove a forwarding graph: answer lost": _tacker(LOST, "DELETE", "vnffgs/"),
    "remove a VNF: 500": _tacker(Answer(500), "DELETE", "vnfs/"),
}
"""Calls of the life cycle by Tacker."""
