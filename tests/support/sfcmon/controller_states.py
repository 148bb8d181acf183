"""States for the SFC controller: small ones by hand, random ones by Hypothesis."""

from __future__ import annotations

from itertools import count
from typing import Any

from hypothesis import strategies as st

from sfcperf.vnfs.sfcmon.controller.model import State

TYPES = ("nsh", "gpe", "plain")
"""Transports, and types of SFs of the same name."""
LINK_PORTS, FUNCTION_PORTS = 384, {"nsh": 128, "plain": 256, "gpe": 450}


def mac(number: int) -> str:
    return "02:00:" + number.to_bytes(4, "big").hex(":")


def switch(number: int, ports: dict[int, int] | None = None) -> dict[str, Any]:
    return {
        "p4runtime": f"unix:/switches/{number}",
        "mac": mac(number),
        "address": f"192.0.2.{number}",
        "ports": ports or {},
    }


def two_switches() -> dict[str, Any]:
    """Client and an NSH function at s1, a function behind the proxy and the server at s2."""
    return {
        "switches": {
            "s1": switch(1, {1: 1500, 128: 1600, 384: 1700}),
            "s2": switch(2, {2: 1500, 256: 1500, 257: 1500, 384: 1700}),
        },
        "links": {
            "s1-s2": {"ends": [{"switch": "s1", "port": 384}, {"switch": "s2", "port": 384}]}
        },
        "endpoints": {
            "client": {"switch": "s1", "port": 1, "mac": mac(11)},
            "server": {"switch": "s2", "port": 2, "mac": mac(12)},
        },
        "functions": {
            "fwd-1": {
                "type": "forwarder",
                "switch": "s1",
                "transport": "nsh",
                "ingress": {"port": 128, "mac": mac(21)},
            },
            "fw-1": {
                "type": "firewall",
                "switch": "s2",
                "transport": "plain",
                "ingress": {"port": 256, "mac": mac(22)},
                "egress": {"port": 257, "mac": mac(23)},
            },
        },
        "chains": {"web": {"types": ["forwarder", "firewall"]}},
        "paths": {
            10: {
                "chain": "web",
                "hops": ["fwd-1", "fw-1"],
                "source": "client",
                "destination": "server",
                "reverse_spi": 11,
            }
        },
        "rules": {
            "there": {
                "switch": "s1",
                "port": 1,
                "priority": 10,
                "match": {"protocol": 17, "destination_port": {"first": 5000, "last": 5009}},
                "path": 10,
            },
            "back": {"switch": "s2", "port": 2, "priority": 10, "path": 11},
        },
    }


@st.composite
def states(draw: st.DrawFn) -> State:
    """Up to 5 connected switches, with functions anywhere, and a path with its reverse path."""
    names = [f"s{number}" for number in range(draw(st.integers(1, 5)))]
    ports: dict[str, dict[int, int]] = {name: {1: 1500, 2: 1500} for name in names}
    numbers = count(100)
    state: dict[str, Any] = {"links": {}, "functions": {}}

    def port(name: str, first: int) -> int:
        number = next(n for n in count(first) if n not in ports[name])
        ports[name][number] = 1500
        return number

    def link(one: str, other: str) -> None:
        ends = [{"switch": name, "port": port(name, LINK_PORTS)} for name in (one, other)]
        state["links"][f"{one}-{other}-{len(state['links'])}"] = {"ends": ends}

    for place, name in enumerate(names[1:], 1):
        link(draw(st.sampled_from(names[:place])), name)
    if len(names) > 1:
        for one, other in draw(
            st.lists(st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True))
        ):
            link(one, other)

    def attachment(name: str, transport: str) -> dict[str, Any]:
        number = next(numbers)
        address = f"198.51.100.{number - 99}" if transport == "gpe" else None
        where = port(name, FUNCTION_PORTS[transport])
        return {"port": where, "mac": mac(number), "address": address}

    transports = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=6))
    for place, transport in enumerate(transports):
        at = draw(st.sampled_from(names))
        two = transport == "plain" or draw(st.booleans())
        state["functions"][f"f{place}"] = {
            "type": transport,
            "switch": at,
            "transport": transport,
            "ingress": attachment(at, transport),
            "egress": attachment(at, transport) if two else None,
        }
    ends = [draw(st.sampled_from(names)) for _ in range(2)]
    state["endpoints"] = {
        name: {"switch": at, "port": number, "mac": mac(90 + number)}
        for number, (name, at) in enumerate(zip(("client", "server"), ends, strict=True), 1)
    }
    state["chains"] = {"chain": {"types": transports}}
    state["paths"] = {
        7: {
            "chain": "chain",
            "hops": list(state["functions"]),
            "source": "client",
            "destination": "server",
            "initial_si": draw(st.integers(len(transports) + 1, 255)),
            "reverse_spi": 8,
        }
    }
    state["rules"] = {
        name: {"switch": at, "port": number, "priority": 1, "path": spi}
        for name, at, number, spi in zip("ab", ends, (1, 2), (7, 8), strict=True)
    }
    state["switches"] = {name: switch(number + 1, ports[name]) for number, name in enumerate(names)}
    return State.model_validate(state)
