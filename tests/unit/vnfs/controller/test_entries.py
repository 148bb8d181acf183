"""Table entries: a packet that follows them crosses the functions of its path, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from support.sfcmon.controller_states import mac, states, switch, two_switches
from support.tiers import examples

from sfcperf.vnfs.sfcmon.controller.entries import Entry, entries, mac_number
from sfcperf.vnfs.sfcmon.controller.model import Endpoint, Function, Match, State
from sfcperf.vnfs.sfcmon.controller.references import problems

Tables = dict[str, dict[str, dict[tuple[int, ...], Entry]]]
"""Switch -> table -> exact fields of the key, by name -> entry."""


def _tables(state: State) -> Tables:
    tables: Tables = {}
    for name, wanted in entries(state).items():
        for entry in wanted:
            of_table = tables.setdefault(name, {}).setdefault(entry.table, {})
            key = tuple(value for _, value in entry.key if isinstance(value, int))
            assert key not in of_table
            of_table[key] = entry
    return tables


@dataclass
class Packet:
    """Does what vnfs/sfcmon/p4/README.md says that entries do, and knows nothing of paths."""

    state: State
    tables: Tables
    switch: str
    port: int
    destination_mac: str
    crossed: list[str] = field(default_factory=list)

    def travel(self) -> None:
        """Until it leaves at an endpoint: `switch` and `port` are then the endpoint's."""
        header = self._parameters("rules", self.port)
        while True:
            entry = self.tables[self.switch]["paths"][(header["si"], header["spi"])]
            to = dict(entry.parameters)
            assert to["from"] in (0, self.port), "dropped: wrong port"
            if entry.action == "end":
                self.port = to["port"]
                return
            if entry.action == "end_gpe":
                self._cross_links(to)
                self.port = self._parameters("stations", mac_number(self.destination_mac))["port"]
                return
            name, function = self._function(to["port"])
            if function is None:
                assert entry.action == "to_gpe"
                self._cross_links(to)
                continue
            assert entry.action == f"to_{function.transport}"
            self.crossed.append(name)
            self._cross_function(function, to)
            header["si"] -= 1
            if function.transport == "plain":
                header = self._parameters("returns", self.port)

    def _parameters(self, table: str, *key: int) -> dict[str, int]:
        return dict(self.tables[self.switch][table][key].parameters)

    def _function(self, port: int) -> tuple[str, Function | None]:
        for name, function in self.state.functions.items():
            ends = [end.port for end in function.attachments.values()]
            if function.switch == self.switch and port in ends:
                return name, function
        return "", None

    def _cross_function(self, function: Function, to: dict[str, int]) -> None:
        ends = [function.ingress, function.egress or function.ingress]
        if to["port"] != function.ingress.port:
            ends.reverse()
        entry, leave = ends
        assert to["mac"] == mac_number(entry.mac)
        assert to.get("address") == (entry.address and int(entry.address))
        self.port = leave.port

    def _cross_links(self, to: dict[str, int]) -> None:
        port = to["port"]
        while True:
            self.switch, self.port = self._far_end(port)
            here = self.state.switches[self.switch]
            if to["address"] == int(here.address):
                assert to["mac"] == mac_number(here.mac)
                return
            port = self._parameters("routes", to["address"])["port"]

    def _far_end(self, port: int) -> tuple[str, int]:
        for link in self.state.links.values():
            for here, far in (link.ends, link.ends[::-1]):
                if (here.switch, here.port) == (self.switch, port):
                    return far.switch, far.port
        raise AssertionError(f"no link at port {port} of {self.switch}")


@examples(300)
@given(states())
def test_packets_cross_the_functions_in_order_and_back(state: State):
    assert not problems(state)
    tables, hops = _tables(state), list(state.paths[7].hops)
    client, server = state.endpoints["client"], state.endpoints["server"]

    def crossed(source: Endpoint, destination: Endpoint) -> list[str]:
        packet = Packet(state, tables, source.switch, source.port, destination.mac)
        packet.travel()
        assert (packet.switch, packet.port) == (destination.switch, destination.port)
        return packet.crossed

    assert crossed(client, server) == hops
    assert crossed(server, client) == hops[::-1]


def test_the_entries_of_a_small_topology():
    """Each of them, written down by hand."""
    state = State.model_validate(two_switches())
    assert not problems(state)
    found = {
        name: {(each.table, each.key, each.action, each.parameters) for each in wanted}
        for name, wanted in entries(state).items()
    }
    s1, s2 = (mac_number(mac(number)) for number in (1, 2))
    at_1, at_2 = 0xC0000201, 0xC0000202
    udp = (("destination_port", (5000, 5009)), ("port", 1), ("protocol", (17, 255)))
    assert found["s1"] == {
        ("node", (), "set_node", (("address", at_1), ("mac", s1))),
        ("mtus", (("port", 1),), "limit", (("bytes", 1500),)),
        ("mtus", (("port", 128),), "limit", (("bytes", 1600),)),
        ("mtus", (("port", 384),), "limit", (("bytes", 1700),)),
        ("routes", (("address", at_2),), "relay", (("port", 384),)),
        ("stations", (("mac", mac_number(mac(11))),), "deliver", (("port", 1),)),
        ("stations", (("mac", mac_number(mac(12))),), "deliver_gpe", _there(384, s2, at_2)),
        ("rules", udp, "encapsulate", (("si", 255), ("spi", 10))),
        ("paths", _key(10, 255), "to_nsh", _to(128, 21, 1)),
        ("paths", _key(10, 254), "to_gpe", _there(384, s2, at_2, came_from=128)),
        ("paths", _key(11, 254), "to_nsh", _to(128, 21, 384)),
        ("paths", _key(11, 253), "end", (("from", 128), ("port", 1))),
    }
    assert found["s2"] == {
        ("node", (), "set_node", (("address", at_2), ("mac", s2))),
        ("mtus", (("port", 2),), "limit", (("bytes", 1500),)),
        ("mtus", (("port", 256),), "limit", (("bytes", 1500),)),
        ("mtus", (("port", 257),), "limit", (("bytes", 1500),)),
        ("mtus", (("port", 384),), "limit", (("bytes", 1700),)),
        ("routes", (("address", at_1),), "relay", (("port", 384),)),
        ("stations", (("mac", mac_number(mac(11))),), "deliver_gpe", _there(384, s1, at_1)),
        ("stations", (("mac", mac_number(mac(12))),), "deliver", (("port", 2),)),
        ("rules", (("port", 2),), "encapsulate", (("si", 255), ("spi", 11))),
        ("paths", _key(10, 254), "to_plain", _to(256, 22, 384)),
        ("returns", (("port", 257),), "encapsulate", (("si", 253), ("spi", 10))),
        ("paths", _key(10, 253), "end", (("from", 257), ("port", 2))),
        ("paths", _key(11, 255), "to_plain", _to(257, 23, 2)),
        ("returns", (("port", 256),), "encapsulate", (("si", 254), ("spi", 11))),
        ("paths", _key(11, 254), "to_gpe", _there(384, s1, at_1, came_from=256)),
    }
    assert {each.priority for each in entries(state)["s1"] if each.table == "rules"} == {10}


def _key(spi: int, si: int) -> tuple[tuple[str, int], ...]:
    return (("si", si), ("spi", spi))


def _to(port: int, number: int, came_from: int) -> tuple[tuple[str, int], ...]:
    return (("from", came_from), ("mac", mac_number(mac(number))), ("port", port))


def _there(port: int, number: int, address: int, **of_path: int) -> tuple[tuple[str, int], ...]:
    came_from = [("from", of_path["came_from"])] if of_path else []
    return (("address", address), *came_from, ("mac", number), ("port", port))


@pytest.mark.parametrize(
    ("match", "fields"),
    [
        ({}, {}),
        ({"version": 6}, {"version": (6, 255)}),
        (
            {"source": "198.18.0.0/15"},
            {"version": (4, 255), "source": (0xC6120000, 0xFFFE0000)},
        ),
        (
            {"destination": "2001:db8::/32"},
            {
                "version": (6, 255),
                "destination": (0x20010DB8 << 96, 0xFFFFFFFF << 96),
            },
        ),
        ({"source": "0.0.0.0/0"}, {"version": (4, 255)}),
        ({"protocol": 0}, {"protocol": (0, 255)}),
        ({"source_port": {"first": 0, "last": 0}}, {"source_port": (0, 0)}),
        ({"destination_port": {"first": 0, "last": 65535}}, {}),
    ],
)
def test_the_key_of_a_match(match: dict[str, Any], fields: dict[str, Any]):
    """Fields that match all are left out, as P4Runtime wants."""
    raw = two_switches()
    raw["rules"] = {"a": {"switch": "s1", "port": 1, "priority": 5, "match": match, "path": None}}
    [rule] = [each for each in entries(State.model_validate(raw))["s1"] if each.table == "rules"]
    assert (dict(rule.key), rule.action) == (fields | {"port": 1}, "bypass")
    assert Match.model_validate(match).model_dump(mode="json", exclude_defaults=True) == match


def test_a_switch_without_links_has_no_way_to_others():
    raw = {
        "switches": {"s1": switch(1), "s2": switch(2, {1: 1500})},
        "endpoints": {"client": {"switch": "s2", "port": 1, "mac": mac(1)}},
    }
    assert [each.table for each in entries(State.model_validate(raw))["s1"]] == ["node"]
