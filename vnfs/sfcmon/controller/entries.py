"""From the controller's state to the table entries that each switch must have.

Keys and parameters are numbers: those of addresses of IPv4 have 32 bits, those of MAC addresses 48.
`vnfs/sfcmon/p4/README.md` describes the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from sfcperf.vnfs.sfcmon.controller.directions import Direction, Hop, directions
from sfcperf.vnfs.sfcmon.controller.model import Match, PortRange, Rule, State
from sfcperf.vnfs.sfcmon.controller.topology import Topology

TABLES = ("node", "rules", "returns", "paths", "stations", "routes", "mtus")
"""Tables that the controller writes; `window` opens windows, and is no part of the state."""
DEFAULT_ACTIONS = ("node",)
"""Those of TABLES that have no key: their only entry is the default action."""
ROOM = {"rules": 65536, "returns": 128, "paths": 4096, "stations": 1024, "routes": 256, "mtus": 512}
"""Entries that each table has room for."""
_BYTE = (1 << 8) - 1

Key = tuple[tuple[str, int | tuple[int, int]], ...]
"""Fields by name: a number; value and mask; or first and last. Those that match all are left out.
"""


@dataclass(frozen=True)
class Entry:
    """An entry of a table."""

    table: str
    key: Key
    action: str
    parameters: tuple[tuple[str, int], ...]
    priority: int = 0
    """The larger wins; 0 in tables whose keys are all exact."""

    @property
    def identity(self) -> tuple[str, Key, int]:
        """What identifies the entry: a table has only one with this key and priority."""
        return self.table, self.key, self.priority


def entries(state: State) -> dict[str, list[Entry]]:
    """Switch -> its entries. The state must have no `references.problems`."""
    topology, ways = Topology(state), list(directions(state))
    return {name: list(_of_switch(state, topology, ways, name)) for name in state.switches}


def _of_switch(
    state: State, topology: Topology, ways: list[Direction], name: str
) -> Iterator[Entry]:
    """Yield all entries of the switch `name`. `ways` are the directions of all paths."""
    switch = state.switches[name]
    yield _entry("node", {}, "set_node", mac=mac_number(switch.mac), address=int(switch.address))
    for port, mtu in sorted(switch.ports.items()):
        yield _entry("mtus", {"port": port}, "limit", bytes=mtu)
    for other, far in sorted(state.switches.items()):
        if other != name and (step := topology.next(name, other)) is not None:
            yield _entry("routes", {"address": int(far.address)}, "relay", port=step.port)
    yield from _stations(state, topology, name)
    for direction in ways:
        yield from _path(state, topology, direction, name)
        yield from _returns(direction, name)
    initial_si = {direction.spi: direction.hops[0].si for direction in ways}
    for _, rule in sorted(state.rules.items()):
        if rule.switch == name:
            yield _rule(rule, initial_si)


def _entry(
    table: str,
    key: dict[str, int | tuple[int, int]],
    action: str,
    *,
    priority: int = 0,
    **parameters: int,
) -> Entry:
    """Make an entry. Fields and parameters are sorted, so that the same entry is equal to this one
    when it is read from a switch."""
    # `from` is a word of Python, so callers name that parameter `from_`.
    named = sorted((name.rstrip("_"), value) for name, value in parameters.items())
    return Entry(table, tuple(sorted(key.items())), action, tuple(named), priority)


def mac_number(mac: str) -> int:
    """Return a MAC address as a number, as tables have it."""
    return int(mac.replace(":", ""), 16)


# --- packets that bypass the chains ---


def _stations(state: State, topology: Topology, name: str) -> Iterator[Entry]:
    """Yield the entries by which a switch delivers packets to endpoints: its own, and those of
    switches that links lead to."""
    for _, endpoint in sorted(state.endpoints.items()):
        key: dict[str, Any] = {"mac": mac_number(endpoint.mac)}
        if endpoint.switch == name:
            yield _entry("stations", key, "deliver", port=endpoint.port)
        elif topology.next(name, endpoint.switch) is not None:
            yield _entry(
                "stations", key, "deliver_gpe", **_tunnel(state, topology, name, endpoint.switch)
            )


def _tunnel(state: State, topology: Topology, name: str, other: str) -> dict[str, int]:
    """Return parameters of an action by which the switch `name` sends packets to another one."""
    step, far = topology.next(name, other), state.switches[other]
    assert step is not None, "references.problems refuses paths that links do not connect"
    return {"port": step.port, "mac": mac_number(far.mac), "address": int(far.address)}


# --- paths ---


def _path(state: State, topology: Topology, direction: Direction, name: str) -> Iterator[Entry]:
    """Yield the entries of a direction at the switch `name`. A packet is looked up where it comes
    from, and where its next function is."""
    # The switch and the port at which packets come from the step before.
    here, port = direction.source_switch, state.endpoints[direction.source].port
    for hop in direction.hops:
        there = hop.function.switch
        key: dict[str, Any] = {"spi": direction.spi, "si": hop.si}
        if here != there and here == name:
            tunnel = _tunnel(state, topology, here, there)
            yield _entry("paths", key, "to_gpe", from_=port, **tunnel)
        if there == name:
            came_from = port if here == there else _arrival(topology, here, there)
            yield _to_function(key, hop, came_from)
        here, port = there, hop.exit.port
    if here != name:
        return
    key, end = {"spi": direction.spi, "si": direction.final_si}, direction.destination
    if direction.destination_switch == name:
        yield _entry("paths", key, "end", from_=port, port=state.endpoints[end].port)
    else:
        tunnel = _tunnel(state, topology, name, direction.destination_switch)
        yield _entry("paths", key, "end_gpe", from_=port, **tunnel)


def _arrival(topology: Topology, here: str, there: str) -> int:
    """Return the port by which packets from the switch `here` come in at the switch `there`."""
    step = topology.last(here, there)
    assert step is not None
    return step.far_port


def _to_function(key: dict[str, Any], hop: Hop, came_from: int) -> Entry:
    """Return the entry that hands packets which came in at the port `came_from` to a function."""
    where = {"port": hop.entry.port, "mac": mac_number(hop.entry.mac), "from_": came_from}
    if hop.entry.address is not None:
        where["address"] = int(hop.entry.address)
    return _entry("paths", key, f"to_{hop.function.transport}", **where)


def _returns(direction: Direction, name: str) -> Iterator[Entry]:
    """Yield the entries for packets that return from functions without NSH. The SFC proxy gives
    them one again, and decrements the SI in the place of the function."""
    for hop in direction.hops:
        if hop.function.transport == "plain" and hop.function.switch == name:
            yield _entry(
                "returns", {"port": hop.exit.port}, "encapsulate", spi=direction.spi, si=hop.si - 1
            )


# --- rules ---


def _rule(rule: Rule, initial_si: dict[int, int]) -> Entry:
    """Return the entry of a rule. `initial_si`: SPI of a direction -> SI with which it begins."""
    key = match_key(rule.match) | {"port": rule.port}
    if rule.path is None:
        return _entry("rules", key, "bypass", priority=rule.priority)
    return _entry(
        "rules",
        key,
        "encapsulate",
        priority=rule.priority,
        spi=rule.path,
        si=initial_si[rule.path],
    )


def match_key(match: Match) -> dict[str, int | tuple[int, int]]:
    """Return the fields of the key of `rules` for packets that match, but for the port."""
    fields: dict[str, int | tuple[int, int]] = {}
    for version in match.versions:
        fields["version"] = (version, _BYTE)
    if match.protocol is not None:
        fields["protocol"] = (match.protocol, _BYTE)
    for name, prefix in (("source", match.source), ("destination", match.destination)):
        # A prefix of length 0 matches all of its version.
        if prefix is not None and prefix.prefixlen:
            fields[name] = _ternary(prefix)
    for name, ports in (
        ("source_port", match.source_port),
        ("destination_port", match.destination_port),
    ):
        if ports is not None and ports != PortRange(first=0, last=65535):
            fields[name] = (ports.first, ports.last)
    return fields


def _ternary(prefix: IPv4Network | IPv6Network) -> tuple[int, int]:
    """Return value and mask of 128 bits; addresses of IPv4 are in the low 32, the others are 0."""
    return int(prefix.network_address), int(prefix.netmask)
