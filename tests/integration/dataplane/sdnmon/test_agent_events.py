"""What sfc-sdnmon-agent does by itself: notifications, and ports that come and go."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import struct
import time
from pathlib import Path

import pytest
from support.network.wires import eventually, ip, space
from support.sdnmon import openflow as of
from support.sdnmon.ends import ends
from support.sdnmon.five_tuple import FIVE, keys_of
from support.sdnmon.frames import udp_flows
from support.sdnmon.openflow import Connection, Refused, packed_keys
from support.sdnmon.switch import BRIDGE, Bench, bench

pytestmark = pytest.mark.root


# --- notifications ---


def test_notifications_wait_for_a_controller_that_wants_them(fresh: Bench) -> None:
    """They go to all that have asked for features, and to no other."""
    fresh.connect()
    first = fresh.accepted()
    first.ask(of.MODE_ON, dataclasses.replace(FIVE, threshold=5).packed)
    before = time.time_ns()
    fresh.send(udp_flows(range(50)))
    first.barrier()
    first.status()
    assert first.others == []
    first.close()
    second = fresh.accepted()
    assert second.status().notifications == 1
    second.ask(of.FEATURES)
    time_ns, entries, threshold = second.notification()
    assert (entries, threshold) == (6, 5)
    assert before - 10**8 <= time_ns <= time.time_ns()
    second.barrier()
    assert second.others == []


def _notifications(controller: Connection) -> list[bytes]:
    """Contents of those that have come."""
    controller.ask(of.STATUS)
    return [m.body[8:] for m in controller.others if m.exp_type == of.OVERFLOW_NOTIFICATION]


def test_each_crossing_is_notified_once_on_each_connection(tmp_path: Path) -> None:
    """Entries that come and go above nine tenths of the threshold are one crossing."""
    with ends(tmp_path) as made:
        wanting = [made.introduced()[1] for _ in range(3)]
        silent = made.introduced()[1]
        for controller in wanting:
            controller.ask(of.FEATURES)
        silent.ask(of.MODE_ON, dataclasses.replace(FIVE, threshold=10).packed)
        steps = ((10, 0), (11, 1), (10, 1), (20, 1), (9, 1), (11, 2), (0, 2), (30, 3))
        for kept, crossings in steps:
            there = len(silent.statistics().entries)
            kind = of.ADD_ENTRIES if kept > there else of.REMOVE_ENTRIES
            keys = keys_of(range(min(kept, there), max(kept, there)))
            silent.ask(kind, packed_keys(keys))
            assert eventually(
                lambda n=crossings: [len(_notifications(c)) for c in wanting] == [n] * 3
            )
        assert _notifications(silent) == []
        for one in _notifications(wanting[0]):
            assert struct.unpack("!II", one[8:]) == (11, 10)


# --- ports ---


def test_ports_that_come_and_go(fresh: Bench) -> None:
    """The switch's messages about them reach the controller as well. That a port has no interface
    is said once."""
    patch = ["--", "set", "interface", "patch0", "type=patch", "options:peer=nowhere"]
    fresh.vsctl("add-port", BRIDGE, "patch0", *patch)
    fresh.connect()
    controller = fresh.accepted()
    for _ in range(2):
        if controller.status().on:
            controller.ask(of.MODE_OFF)
        controller.ask(of.MODE_ON, FIVE.packed)
        assert controller.status().ports == fresh.names
    fresh.vsctl("del-port", fresh.names[1])
    controller.receive(lambda message: message.type == of.PORT_STATUS)
    assert eventually(lambda: controller.status().ports == fresh.names[:1])
    fresh.send(udp_flows(range(3)), port=1)
    fresh.vsctl("add-port", BRIDGE, fresh.names[1])
    assert eventually(lambda: controller.status().ports == fresh.names)
    fresh.send(udp_flows(range(5)), port=1)
    assert controller.status().totals["received"] == 5
    ip("-n", space(fresh.host), "link", "delete", fresh.names[0])
    assert eventually(lambda: controller.status().ports == fresh.names[1:])
    assert fresh.agent.complaints.count("the port patch0 is not monitored") == 1


def test_ports_of_the_options(tmp_path: Path) -> None:
    with bench(tmp_path, options=["--port", "p1", "--attach", "clsact"]) as made:
        made.connect()
        controller = made.accepted()
        controller.ask(of.MODE_ON, FIVE.packed)
        assert controller.status().ports == ("p1",)
        assert made.tool.status["ports"][0]["attach"] == "clsact"
        switch = space(made.host)
        ip("-n", switch, "link", "delete", "p1")
        assert eventually(lambda: controller.status().ports == ())
        ip("-n", switch, "link", "add", "p1", "type", "veth")
        assert eventually(lambda: controller.status().ports == ("p1",))
        controller.ask(of.MODE_OFF)
        ip("-n", switch, "link", "delete", "p1")
        assert "p1" in _refusal(controller)
        assert not made.tool.state.exists()
        made.tool.state.mkdir()
        lock = os.open(made.tool.state, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another command takes too long" in _refusal(controller)
        os.close(lock)
        assert "p1" in _refusal(controller), "it is said each time"


def _refusal(controller: Connection) -> str:
    """Why MODE_ON fails."""
    with pytest.raises(Refused) as refused:
        controller.ask(of.MODE_ON, FIVE.packed)
    assert refused.value.code == of.FAILED
    return refused.value.text
