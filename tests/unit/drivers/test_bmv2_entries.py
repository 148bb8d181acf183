"""Ports and tables of a node on bmv2, by hand, without a switch."""

from __future__ import annotations

from typing import Any

import pytest
from support.records.scenarios import scenario, topology

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.drivers.local.layout import lay_out
from sfcperf.drivers.local.sff.bmv2_entries import interfaces, sff_entries
from sfcperf.errors import WorkflowError
from sfcperf.passive.sfcmon import SfcmonMonitor
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Link, Match, MonitorSpec, Node, Scenario, Topology

TAG = "abcdef"
REVERSE = 42 | 1 << 23
ALL_IPV4 = {"version": (4, 255)}


def tables(chain: Scenario, node: str, on_bmv2: set[str] | None = None) -> dict[str, list[Any]]:
    """Table -> entries: key, action, parameters without MAC addresses."""
    layout = lay_out(chain, TAG)
    nodes = set(layout.nodes) if on_bmv2 is None else on_bmv2
    found: dict[str, list[Any]] = {}
    for entry in sff_entries(layout, chain, layout.nodes[node], nodes):
        parameters = {name: value for name, value in entry["parameters"] if name != "mac"}
        found.setdefault(entry["table"], []).append(
            (dict(entry["key"]), entry["action"], parameters)
        )
    return found


def ports(chain: Scenario, node: str) -> dict[int, str]:
    layout = lay_out(chain, TAG)
    return interfaces(layout, layout.nodes[node])


def test_the_number_of_a_port_says_its_kind() -> None:
    assert ports(scenario(["forwarder", "router"]), "node1") == {
        1: "client",
        2: "server",
        128: "forwarder-1",
        258: "router-2-in",
        259: "router-2-out",
    }
    tunnelled = scenario(["forwarder"], where=topology("T2"), encapsulation="nsh-vxlan-gpe")
    assert ports(tunnelled, "node1") == {1: "client", 2: "server", 451: "link1a"}
    assert ports(tunnelled, "node2") == {384: "forwarder-1", 451: "link1b"}


def test_both_paths_of_a_chain_on_one_node() -> None:
    found = tables(scenario(["forwarder", "router"]), "node1")
    assert found["paths"] == [
        ({"spi": 42, "si": 255}, "to_nsh", {"port": 128, "from": 1}),
        ({"spi": 42, "si": 254}, "to_plain", {"port": 258, "from": 128}),
        ({"spi": 42, "si": 253}, "end", {"port": 2, "from": 259}),
        ({"spi": REVERSE, "si": 255}, "to_plain", {"port": 259, "from": 2}),
        ({"spi": REVERSE, "si": 254}, "to_nsh", {"port": 128, "from": 258}),
        ({"spi": REVERSE, "si": 253}, "end", {"port": 1, "from": 128}),
    ]
    assert found["returns"] == [
        ({"port": 259}, "encapsulate", {"spi": 42, "si": 253}),
        ({"port": 258}, "encapsulate", {"spi": REVERSE, "si": 254}),
    ]
    assert found["rules"] == [
        ({"port": 1, **ALL_IPV4}, "encapsulate", {"spi": 42, "si": 255}),
        ({"port": 2, **ALL_IPV4}, "encapsulate", {"spi": REVERSE, "si": 255}),
    ]
    assert [parameters for *_, parameters in found["stations"]] == [{"port": 1}, {"port": 2}]
    assert found["mtus"][0] == ({"port": 1}, "limit", {"bytes": 1500})


def test_other_data_planes_may_send_by_any_link() -> None:
    """What comes from the function itself is known all the same."""
    chain = scenario(["forwarder"], where=topology("T2"))
    for on_bmv2, came_from in (({"node1", "node2"}, 451), ({"node2"}, 0)):
        first, second, *_ = tables(chain, "node2", on_bmv2)["paths"]
        assert first == ({"spi": 42, "si": 255}, "to_nsh", {"port": 128, "from": came_from})
        assert second[2]["from"] == 128


def test_replies_are_matched_the_other_way_round() -> None:
    match = Match("tcp", source="10.0.0.9/24", destination_port=80)
    forward, unseen, reverse, unseen_back = tables(scenario(["router"], match=match), "node1")[
        "rules"
    ]
    prefix = (10 << 24, 0xFFFFFF00)
    tcp = {**ALL_IPV4, "protocol": (6, 255)}
    assert forward[0] == {"port": 1, **tcp, "source": prefix, "destination_port": (80, 80)}
    assert reverse[0] == {"port": 2, **tcp, "destination": prefix, "source_port": (80, 80)}
    # Fragments but the first have the ports 0.
    none = {"source_port": (0, 0), "destination_port": (0, 0)}
    assert unseen[0] == {"port": 1, **tcp, "source": prefix, **none}
    assert unseen_back[0] == {"port": 2, **tcp, "destination": prefix, **none}


def test_without_a_chain_there_are_stations_alone() -> None:
    found = tables(scenario([], where=topology("T3")), "node1")
    assert found.keys() == {"node", "mtus", "routes", "stations"}
    bypassing = tables(scenario(["router"], reverse="bypass"), "node1")
    assert [key["port"] for key, *_ in bypassing["rules"]] == [1]


def test_functions_that_leave_frames_as_they_are_are_refused() -> None:
    chain = scenario(["program"], knobs={"attach": "bridged"})
    assert _refusal(chain).startswith("/vnfs/program/knobs: program-1 leaves frames as they are")


def _refusal(chain: Scenario, **planes: str) -> str:
    config = with_defaults(LocalDriver.parameters, {"dataplane": planes or "bmv2"})
    with pytest.raises(WorkflowError) as refused:
        LocalDriver.validate(config, [chain])
    return str(refused.value)


def _monitored(**given: Any) -> Scenario:
    known = with_defaults(SfcmonMonitor.parameters, given)
    chain = scenario(["router"], where=topology("T2"))
    return Scenario(**{**vars(chain), "monitors": (MonitorSpec("sfcmon", known),)})


def test_sizes_that_the_program_has_no_room_for_are_refused() -> None:
    said = _refusal(_monitored(at="sffs", iblt_cells=513))
    assert said.startswith("/monitors/0/iblt_cells: the P4 program on bmv2 has no room for 513")
    config = with_defaults(LocalDriver.parameters, {"dataplane": "bmv2"})
    LocalDriver.validate(config, [_monitored(at="functions", iblt_cells=513)])
    # The other node can.
    planes = {"dataplane": {"node1": "bmv2", "node2": "ovs"}}
    config = with_defaults(LocalDriver.parameters, planes)
    LocalDriver.validate(config, [_monitored(at="both", nodes=["node2"], iblt_cells=513)])


def test_it_never_lets_bypass_what_it_cannot_parse() -> None:
    chain = scenario(["router"], where=topology("T2"), bypass_unparsed=True)
    assert _refusal(chain, node1="ovs", node2="bmv2").startswith(
        "/chain/classifier/bypass_unparsed:"
    )


def test_more_links_than_ports_are_refused() -> None:
    names = [f"n{number}" for number in range(61)]
    star = Topology(
        "star",
        tuple(map(Node, names)),
        tuple(Link((names[0], name)) for name in names[1:]),
        {"client": "n0", "chain": "n0", "server": "n0"},
    )
    assert "n0 has 60 links, and a switch on bmv2 has ports for 59" in _refusal(
        scenario([], where=star)
    )
