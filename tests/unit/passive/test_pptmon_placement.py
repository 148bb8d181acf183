"""Which instance of pptmon goes where, in which mode and order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pptmon.chain import chain, function

from sfcperf.errors import MeasurementError
from sfcperf.passive.pptmon_placement import Placement, place

PARAMETERS = {"choice": "random", "format": "rfc", "carrier": "auto", "metrics": ["time"]}


def told(placements: list[Placement]) -> list[tuple[str, str, str, str]]:
    return [(p.function.name, p.mode, p.ingress, p.egress) for p in placements]


def options(placement: Placement, **given: Any) -> str:
    return " ".join(placement.options(PARAMETERS | given))


def test_three_routers_forward() -> None:
    placements = place(chain([function(n) for n in (1, 2, 3)]), "forward")
    assert told(placements) == [
        ("router-3", "sink", "eth0", "eth1"),
        ("router-2", "transit", "eth0", "eth1"),
        ("router-1", "source", "eth0", "eth1"),
    ]
    assert options(placements[1]) == "--mode transit --vnf-id 2 --ingress eth0 --egress eth1"
    assert options(placements[2], metrics=["time", "delay"]) == (
        "--mode source --vnf-id 1 --ingress eth0 --egress eth1 --rate 1 --choice random "
        "--format rfc --carrier auto --metrics time,delay"
    )


def test_both_directions_have_their_own_sources_started_last() -> None:
    placements = place(chain([function(1), function(2)]), "both")
    assert told(placements) == [
        ("router-2", "sink", "eth0", "eth1"),
        ("router-1", "sink", "eth1", "eth0"),
        ("router-1", "source", "eth0", "eth1"),
        ("router-2", "source", "eth1", "eth0"),
    ]
    assert len({p.name for p in placements}) == 4


def test_what_is_not_seen_is_left_out_and_positions_stay() -> None:
    functions = [function(1, "forwarder"), function(2), function(3, "forwarder"), function(4)]
    placements = place(chain(functions), "forward")
    assert [(p.mode, p.function.position) for p in placements] == [("sink", 4), ("source", 2)]


def test_who_is_seen_in_plain_ip() -> None:
    """A forwarder; heavy_hitter takes packets before tc does."""
    plain = [replace(function(1, kind), nsh_aware=False) for kind in ("forwarder", "heavy_hitter")]
    for functions in (plain[:1], [plain[1], function(2)]):
        (only,) = place(chain(functions), "forward")
        assert only.function == functions[-1]
        assert (only.mode, only.samples, only.reports) == ("source-sink", True, True)


def test_one_that_hides_packets_is_left_out() -> None:
    """Whatever its type does otherwise: a program that reads a packet socket."""
    functions = [replace(function(1), hides_packets=True), function(2)]
    (only,) = place(chain(functions), "forward")
    assert only.function == functions[1]


def test_who_takes_nsh_is_seen_at_two_ports() -> None:
    """In a VM, two ports lead to the function's own interface."""
    (only,) = place(chain([function(1, "forwarder", interfaces=("in", "out"))]), "forward")
    assert (only.ingress, only.egress) == ("in", "out")


def test_chains_that_cannot_be_seen() -> None:
    assert place(chain([]), "forward") == []
    with pytest.raises(MeasurementError, match="none of the chain's VNFs: those of type forwarder"):
        place(chain([function(1, "forwarder")]), "forward")
    with pytest.raises(MeasurementError, match="at most 255 VNFs, so not router-256"):
        place(chain([function(255), function(256)]), "forward")


def test_where_a_vnf_has_one_interface_packets_of_the_other_direction_are_not_sampled() -> None:
    single = chain([function(1, interfaces=("eth0",)), function(2)])
    source = place(single, "forward")[-1]
    assert options(source).endswith("--filter src=10.0.0.1")
    asked = {"source": "10.0.0.0/30", "protocol": "udp"}
    assert options(source, filter=asked).endswith("--filter proto=udp,src=10.0.0.0/30")
    with pytest.raises(MeasurementError, match="one interface"):
        place(single, "both")


def test_the_filter_is_mirrored_for_replies_and_the_period_wins() -> None:
    asked = {"source": "10.0.0.1", "destination_port": 80}
    forward, reverse = place(chain([function(1)]), "both")
    assert options(forward, filter=asked).endswith("--filter src=10.0.0.1,dport=80")
    assert options(reverse, filter=asked).endswith("--filter dst=10.0.0.1,sport=80")
    assert "--period-ms 0 " in options(forward, period_ms=0)
    assert "--rate 0.5 " in options(forward, rate_hz=0.5)


@given(
    kinds=st.lists(st.sampled_from(["router", "forwarder"]), min_size=1, max_size=12),
    direction=st.sampled_from(["forward", "reverse", "both"]),
)
def test_no_packet_gets_a_header_that_nobody_takes_out(kinds: list[str], direction: str) -> None:
    functions = [function(position, kind) for position, kind in enumerate(kinds, 1)]
    seen = [f for f in functions if f.type == "router"]
    if not seen:
        return
    placements = place(chain(functions), direction)
    for one in {p.direction for p in placements}:
        started = [p for p in placements if p.direction == one]
        along = sorted(started, key=lambda p: p.function.position, reverse=one == "reverse")
        assert [p.function for p in along] == (seen if one == "forward" else seen[::-1])
        # Each is started before the one from which it gets packets.
        assert started == along[::-1]
        assert [p.samples for p in along] == [True] + [False] * (len(seen) - 1)
        assert [p.reports for p in along] == [False] * (len(seen) - 1) + [True]
    assert sorted(p.samples for p in placements) == [p.samples for p in placements]
