"""The local driver's parts that touch nothing: routes, CPUs, shapers."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.drivers.local.cpus import CpuAssignment, usable_text
from sfcperf.drivers.local.layout import next_hops
from sfcperf.drivers.local.scenario_deployment import burst_bytes
from sfcperf.errors import EnvironmentLacks
from sfcperf.workflow.model import Node


class TestRoutes:
    def test_a_line_is_walked_through_its_middle(self) -> None:
        hops = next_hops(["a", "b", "c"], [("a", "b"), ("c", "b")])
        assert hops["a"] == {"b": "b", "c": "b"}
        assert hops["b"] == {"a": "a", "c": "c"}

    def test_what_cannot_be_reached_is_absent(self) -> None:
        assert next_hops(["a", "b", "c"], [("a", "b")])["c"] == {}

    @given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
    def test_following_the_hops_arrives_without_a_loop(self, pairs: set[tuple[int, int]]) -> None:
        nodes = [str(number) for number in range(8)]
        links = [(str(a), str(b)) for a, b in pairs if a != b]
        hops = next_hops(nodes, links)
        for start, table in hops.items():
            for destination in table:
                here, walked = start, 0
                while here != destination:
                    here, walked = hops[here][destination], walked + 1
                    assert walked < len(nodes)


class TestCpus:
    def test_instances_go_where_the_fewest_are(self) -> None:
        cpus = CpuAssignment([Node("n")], [0, 1])
        assert cpus.assign("a", "n", 1) == (0,)
        assert cpus.assign("b", "n", 1) == (1,)
        assert not cpus.shared
        assert cpus.assign("c", "n", 2) == (0, 1)
        assert cpus.shared

    def test_nodes_take_cpus_in_turn(self) -> None:
        cpus = CpuAssignment([Node("a", 1), Node("b", 1), Node("c", 2)], [4, 5])
        assert (cpus.share("sff@a", "a"), cpus.share("sff@b", "b"), cpus.share("sff@c", "c")) == (
            (4,),
            (5,),
            (4, 5),
        )

    def test_too_many_are_refused_by_name(self) -> None:
        with pytest.raises(EnvironmentLacks, match="node n needs 3"):
            CpuAssignment([Node("n", 3)], [0, 1])
        with pytest.raises(EnvironmentLacks, match="fwd-1 needs 2"):
            CpuAssignment([Node("n", 1)], [0, 1]).assign("fwd-1", "n", 2)

    def test_a_narrowed_affinity_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`taskset -c 0 sfcperf run`: the machine has more CPUs."""
        monkeypatch.setattr(os, "cpu_count", lambda: 2)
        for wanted in ([Node("n", 2)], [Node("n")]):
            with pytest.raises(EnvironmentLacks, match=r"1 of 2.*affinity"):
                CpuAssignment(wanted, [0]).assign("fwd-1", "n", 2)
        assert usable_text([0, 1]) == "2"


def test_a_shapers_bucket_holds_some_packets_and_ten_milliseconds() -> None:
    assert burst_bytes(1_000_000, 1500) == 10 * 1514
    assert burst_bytes(1_000_000_000, 1500) == 1_250_000
