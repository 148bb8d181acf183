"""Tables of sfc-sff: what they say of a scenario, read by sfc-sff itself."""

from __future__ import annotations

import pytest
from support.records.scenarios import scenario, topology

from sfcperf.drivers.local import dataplane
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.drivers.local.layout import lay_out
from sfcperf.drivers.openstack.overlay import layout as overlay
from sfcperf.drivers.openstack.overlay.layout import Nic
from sfcperf.drivers.sff.ebpf_tables import sff_tables
from sfcperf.drivers.sff.layout import Layout
from sfcperf.errors import EnvironmentLacks
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Link, Match, Node, Scenario, Topology

LINE = Topology(
    "line",
    (Node("a"), Node("b"), Node("c")),
    (Link(("a", "b"), rate_bps=1_000_000), Link(("b", "c"))),
    {"client": "a", "chain": "c", "server": "a"},
)


def lines(chain: Scenario, node: str, layout: Layout | None = None) -> list[str]:
    found = layout or lay_out(chain, "abcdef")
    text = sff_tables(found, chain, node, take_xdp=list(found.nodes), shown=False, trace=0)
    return text.splitlines()


def test_replies_match_with_source_and_destination_exchanged() -> None:
    match = Match("udp", "10.0.0.0/24", "10.1.0.0/16", 1000, 53)
    rules = [line for line in lines(scenario(["router"], match=match), "node1") if "rule" in line]
    assert rules == [
        "rule 1 path 42 255 version 4 protocol udp source 10.0.0.0/24 destination 10.1.0.0/16 "
        "source-port 1000 destination-port 53",
        "rule 1 path 42 255 version 4 protocol udp source 10.0.0.0/24 destination 10.1.0.0/16 "
        "source-port 0 destination-port 0",
        "rule 2 path 8388650 255 version 4 protocol udp destination 10.0.0.0/24 source 10.1.0.0/16 "
        "destination-port 1000 source-port 53",
        "rule 2 path 8388650 255 version 4 protocol udp destination 10.0.0.0/24 source 10.1.0.0/16 "
        "destination-port 0 source-port 0",
    ]


def test_a_node_in_between_has_routes_and_no_paths() -> None:
    chain = scenario(["forwarder", "forwarder"], where=LINE, nodes=["c", "a"])
    between = lines(chain, "b")
    assert not any(line.startswith(("path", "rule")) for line in between)
    assert [line.split()[1] for line in between if line.startswith("route")] == [
        "10.255.0.1",
        "10.255.0.3",
    ]


def test_links_that_take_no_xdp_frames() -> None:
    """Shaped ones, and those to nodes of another data plane."""
    ports = [line for line in lines(scenario([], where=LINE), "b") if "kind underlay" in line]
    assert [line.endswith("xdp yes") for line in ports] == [False, True]
    chain = scenario([], where=topology("T2"))
    text = sff_tables(
        lay_out(chain, "abcdef"), chain, "node1", take_xdp=["node1"], shown=False, trace=0
    )
    (link,) = (line for line in text.splitlines() if "kind underlay" in line)
    assert not link.endswith("xdp yes")


def test_in_a_lan_nodes_reach_one_another_directly() -> None:
    """So nothing is in transit: a frame that a switch floods to a node goes nowhere."""
    chain = scenario(["forwarder", "router"])
    names = ("client", "server", "forwarder-1", "router-2")
    cards = {
        name: Nic(f"ens{n}", f"02:00:00:00:00:0{n}", f"198.18.0.{n}")
        for n, name in enumerate(names, start=1)
    }
    told = lines(chain, "forwarder-1", overlay.lay_out(chain, "abcdef", cards, 1500))
    assert told[0] == "node 02:00:00:00:00:03 address 198.18.0.3"
    assert [line for line in told if "kind underlay" in line] == [
        "port 200 interface ens3 kind underlay mtu 1500 generic yes"
    ]
    assert not any(line.startswith("route") for line in told)
    [onward] = (line for line in told if line.startswith("path 42 254 "))
    assert onward.endswith(" to gpe port 200 mac 02:00:00:00:00:04 address 198.18.0.4")


def test_a_path_continues_only_from_the_function_before() -> None:
    told = lines(scenario(["forwarder", "router"]), "node1")
    assert [line.split(" to ")[0] for line in told if line.startswith("path 42 ")] == [
        "path 42 255 from 1",
        "path 42 254 from 110",
        "path 42 253 from 113",
    ]


def test_without_bpf_auto_is_ovs_and_ebpf_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel without BPF, which this machine is not: a mock."""
    lacks = Requirement("BPF", False, "Operation not permitted", "use ovs")
    monkeypatch.setattr(dataplane, "_ebpf", lambda: [lacks])
    assert dataplane.of_nodes({"dataplane": "auto"}, ["a", "b"]) == {"a": "ovs", "b": "ovs"}
    needs = dataplane.requirements({"dataplane": "auto"})
    assert "auto is ovs" in needs[-1].detail and lacks.detail in needs[-1].detail
    assert any(need.name == "ovs-vswitchd" for need in needs)
    assert dataplane.requirements({"dataplane": "ebpf"}) == [lacks]


def test_nodes_that_are_not_named_have_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataplane, "_ebpf", list)
    asked = {"dataplane": {"a": "ovs"}}
    assert dataplane.of_nodes(asked, ["a", "b"]) == {"a": "ovs", "b": "ebpf"}


def test_what_nodes_lack_that_are_not_named_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without eBPF and Open vSwitch: a mock."""
    monkeypatch.setattr(dataplane, "_ebpf", lambda: [Requirement("BPF", False, "no")])
    monkeypatch.setattr(dataplane, "_openvswitch", lambda: [Requirement("ovs", False, "none")])
    chains = [scenario([], where=LINE)]
    with pytest.raises(EnvironmentLacks, match=r"ovs \(none\)"):
        LocalDriver.check_capacity({"dataplane": {"a": "bmv2", "b": "bmv2"}}, chains)
    LocalDriver.check_capacity({"dataplane": dict.fromkeys("abc", "bmv2")}, chains)
