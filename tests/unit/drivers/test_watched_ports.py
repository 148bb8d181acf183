"""Words for sfc-sfcmon: what Open vSwitch looks up at each port."""

from __future__ import annotations

from support.records.scenarios import scenario, topology

from sfcperf.drivers.local.layout import lay_out
from sfcperf.drivers.local.sff.watched_ports import watched_ports
from sfcperf.workflow.model import Match, Scenario


def words(chain: Scenario, node: str) -> set[str]:
    layout = lay_out(chain, "abc123")
    found = watched_ports(layout, chain, layout.nodes[node])
    assert len(found) == len(set(found))
    return set(found)


def test_one_node() -> None:
    match = Match(ip_proto="tcp", source="10.0.0.0/24", destination_port=80)
    chain = scenario(["forwarder", "router"], match=match)
    assert words(chain, "node1") == {
        "client:rule,path=42/255,protocol=tcp,source=10.0.0.0/24,destination-port=80",
        "server:rule,path=8388650/255,protocol=tcp,destination=10.0.0.0/24,source-port=80",
        "forwarder-1:nsh",
        "router-2-out:rule,path=42/253",
        "router-2-in:rule,path=8388650/254",
    }


def test_paths_that_are_bypassed_are_not_watched() -> None:
    assert words(scenario([]), "node1") == set()
    chain = scenario(["router"], reverse="bypass")
    assert words(chain, "node1") == {
        "client:rule,path=42/255",
        "router-1-out:rule,path=42/254",
    }


def test_nodes_and_tunnels() -> None:
    chain = scenario(["forwarder"], where=topology("T2"), encapsulation="nsh-vxlan-gpe")
    assert words(chain, "node1") == {
        "client:rule,path=42/255",
        "server:rule,path=8388650/255",
        "link1a:underlay,address=10.255.0.1",
    }
    assert words(chain, "node2") == {
        "forwarder-1:underlay,address=10.255.0.2",
        "link1b:underlay,address=10.255.0.2",
    }
