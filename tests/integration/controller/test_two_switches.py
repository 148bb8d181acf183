"""The controller and two switches: traffic crosses both, whatever becomes of the controller."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import finsy
import pytest
from finsy import P4TableEntry
from support.network.wires import eventually
from support.sfcmon.controller_bench import (
    CROSSINGS,
    RULE_PORT,
    Switches,
    packet,
)
from support.sfcmon.controller_process import ControllerProcess

from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.controller.entries import Entry, entries
from sfcperf.vnfs.sfcmon.controller.model import State
from sfcperf.vnfs.sfcmon.controller.tables import everything, of_p4

pytestmark = [pytest.mark.root, pytest.mark.bmv2]

ALL = {"eval_packets": 0, "share": 0.0, "packets": 0}
"""Thresholds that every packet meets."""
MONITORING = {"poll_ms": 10, "window_ms": 100, "thresholds": ALL}
ONE_WINDOW = MONITORING | {"window_ms": 3_600_000}


@pytest.fixture(scope="module")
def switches() -> Iterator[Switches]:
    with Switches() as made:
        yield made


@pytest.fixture(scope="module")
def controller(switches: Switches) -> Iterator[ControllerProcess]:
    folder = Path(tempfile.mkdtemp(prefix="ctl-"))
    made = ControllerProcess(folder)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            assert made.end() == (0, "")
        shutil.rmtree(folder)


def _take(controller: ControllerProcess, state: dict[str, Any]) -> None:
    controller.request("PUT", "/state", state)
    assert eventually(controller.in_sync), controller.request("GET", "/status")


def _crosses(switches: Switches, *, reverse: bool = False) -> bool:
    """Whether a packet arrives."""
    here, there = switches.client, switches.server
    if reverse:
        here, there = there, here
    there.waiting()
    here.send([packet(reverse=reverse)])
    return eventually(lambda: len(there.waiting()) == 1)


def test_packets_cross_both_switches_and_their_functions(
    switches: Switches, controller: ControllerProcess
) -> None:
    _take(controller, switches.state())
    assert _crosses(switches)
    before = {name: _hops(controller, name) for name in ("s1", "s2")}
    for reverse in (False, True):
        assert _crosses(switches, reverse=reverse)
    for name, spi_si in {
        "s1": [(10, 255), (10, 254), (11, 254), (11, 253)],
        "s2": [(10, 254), (10, 253), (11, 255), (11, 254)],
    }.items():
        after = _hops(controller, name)
        assert {key: after[key] - before[name][key] for key in after} == dict.fromkeys(spi_si, 1)


def _hops(controller: ControllerProcess, switch: str) -> dict[tuple[int, int], int]:
    counters = controller.request("GET", f"/switches/{switch}/counters")
    return {(each["spi"], each["si"]): each["packets"] for each in counters["paths"]}


def test_a_rule_is_changed_and_removed(switches: Switches, controller: ControllerProcess) -> None:
    _take(controller, switches.state())
    there = controller.request("GET", "/rules/there")
    other = {"first": RULE_PORT + 1, "last": RULE_PORT + 1}
    assert _crosses(switches)
    # What no rule matches bypasses the functions, and arrives as well.
    for change in (there | {"match": there["match"] | {"destination_port": other}}, None):
        before = _hops(controller, "s1")
        if change is None:
            controller.request("DELETE", "/rules/there")
        else:
            controller.request("PUT", "/rules/there", change)
        assert _crosses(switches)
        assert _hops(controller, "s1") == before
    controller.request("PUT", "/rules/there", there)
    assert _crosses(switches)
    assert _hops(controller, "s1") != before


# --- reconciliation ---


def _tables(address: str, tamper: bool = False) -> set[Entry]:
    """All that a switch has, read by another client."""

    async def read() -> set[Entry]:
        options = finsy.SwitchOptions(
            p4info=Program.SKETCHES.p4info, p4blob=Program.SKETCHES.json, initial_election_id=5
        )
        async with finsy.Switch("judge", address, options) as switch:
            if tamper:
                await _tamper(switch)
            reading: Any = switch.read(everything())
            found = [of_p4(entry) async for entry in reading]
        return {entry for entry in found if entry is not None}

    return asyncio.run(read())


async def _tamper(switch: finsy.Switch) -> None:
    """Remove, change and add entries."""
    match, action = finsy.Match, finsy.Action
    reading: Any = switch.read([P4TableEntry("paths"), P4TableEntry("rules")])
    await switch.delete([entry async for entry in reading])
    await switch.modify(
        [P4TableEntry("mtus", match=match(port=1), action=action("limit", bytes=99))]
    )
    strange = P4TableEntry(
        "paths",
        match=match(spi=99, si=9),
        action=action("end", **{"port": 1, "from": 0}),
    )
    await switch.insert([strange])


def test_a_switch_that_was_changed_behind_its_back_is_mended(
    switches: Switches, controller: ControllerProcess
) -> None:
    raw = switches.state()
    _take(controller, raw)
    wanted = entries(State.model_validate(raw))
    address = switches.switches["s1"].address
    assert _tables(address) == set(wanted["s1"])
    assert controller.end() == (0, "")
    assert _tables(address, tamper=True) != set(wanted["s1"])
    controller.start()
    assert eventually(controller.in_sync)
    assert _tables(address) == set(wanted["s1"])
    assert _crosses(switches)


def test_a_switch_that_is_away_is_reported_and_gets_all_when_it_is_back(
    switches: Switches, controller: ControllerProcess
) -> None:
    _take(controller, switches.state(**MONITORING))
    switches.switches["s2"].stop()
    assert eventually(lambda: not controller.request("GET", "/status")["switches"]["s2"]["in_sync"])
    # Changes are taken all the same, and the other switch has them.
    assert controller.client.put("/rules/there", json=_bypass()).status_code == 200
    controller.request("PUT", "/rules/there", switches.state()["rules"]["there"])
    status = controller.request("GET", "/status")["switches"]
    assert status["s1"]["in_sync"]
    assert "does not answer" in status["s2"]["problem"] or "lost" in status["s2"]["problem"]
    answer = controller.client.post("/switches/s2/windows")
    assert (answer.status_code, answer.json()["error"][:9]) == (409, "switch s2")
    switches.launch("s2")
    # Its socket has another name now.
    _take(controller, switches.state(**MONITORING))
    assert _crosses(switches)


def _bypass() -> dict[str, Any]:
    return {"switch": "s1", "port": 1, "priority": 10, "path": None}


def test_a_switch_that_refuses_is_reported(
    switches: Switches, controller: ControllerProcess
) -> None:
    state = switches.state()
    _take(controller, state)
    state["switches"]["s2"]["device"] = 7
    controller.request("PUT", "/state", state)

    def problem() -> str:
        found: str = controller.request("GET", "/status")["switches"]["s2"]["problem"]
        return found

    assert eventually(lambda: "device" in problem()), problem()
    _take(controller, switches.state())
    assert _crosses(switches)


# --- windows ---


def _counted(controller: ControllerProcess, switch: str, first: int) -> int:
    """Packets of all windows but the first ones."""
    windows = controller.windows(switch)
    assert [each["number"] for each in windows] == list(range(len(windows)))
    windows = windows[first:]
    for before, after in pairwise(windows):
        assert before["end_ns"] <= after["start_ns"] < after["end_ns"]
    return sum(each["packets"] for each in windows)


def test_no_packet_is_lost_or_counted_twice(
    switches: Switches, controller: ControllerProcess
) -> None:
    first = _monitor(controller, switches, MONITORING)
    with switches.traffic() as traffic:
        traffic.wait_for(600)
    assert traffic.received == traffic.sent
    for name in ("s1", "s2"):
        last = controller.request("POST", f"/switches/{name}/windows")
        assert _counted(controller, name, first[name]) == CROSSINGS * traffic.sent
        listed = controller.request("GET", f"/switches/{name}/windows")
        assert listed[-1] == last
        for window in listed:
            assert sum(flow["packets"] for flow in window["flows"]) == window["packets"]
            assert window["missing_flows"] == 0
    assert sum(each["packets"] > 0 for each in controller.windows("s1")[first["s1"] :]) > 2


def _monitor(
    controller: ControllerProcess, switches: Switches, monitoring: dict[str, Any]
) -> dict[str, int]:
    """With these settings; gives the number of the first window of each switch."""
    _take(controller, switches.state(**monitoring))
    assert eventually(lambda: _monitored(controller))
    for name in switches.switches:
        controller.request("POST", f"/switches/{name}/windows")
    return {name: len(controller.windows(name)) for name in switches.switches}


def _monitored(controller: ControllerProcess) -> bool:
    status = controller.request("GET", "/status")["switches"].values()
    return all(each["monitoring"]["problem"] is None for each in status)


def test_flows_of_the_open_window_are_known_early(
    switches: Switches, controller: ControllerProcess
) -> None:
    first = _monitor(controller, switches, ONE_WINDOW)
    switches.client.send([packet(source_port=number) for number in (7, 8)])

    def found() -> set[tuple[int, int, int]]:
        flows = controller.request("GET", "/switches/s1/flows")
        return {(flow["spi"], flow["si"], flow["source_port"]) for flow in flows}

    assert eventually(lambda: found() == {(10, si, n) for si in (255, 254) for n in (7, 8)})
    assert len(controller.windows("s1")) == first["s1"]
    ended = controller.request("POST", "/switches/s1/windows")
    assert {flow["packets"] for flow in ended["flows"]} == {1}
    assert not found()


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_a_killed_controller_loses_nothing(
    switches: Switches, controller: ControllerProcess, kills: int
) -> None:
    """Killed at a moment that nobody chooses, while packets are forwarded and windows end."""
    first = _monitor(controller, switches, MONITORING | {"window_ms": 50})
    with switches.traffic() as traffic:
        for _ in range(kills):
            traffic.wait_for(200)
            assert controller.end(signal.SIGKILL)[0] == -signal.SIGKILL
            traffic.wait_for(100)
            controller.start()
            assert eventually(lambda: controller.in_sync() and _monitored(controller))
    assert traffic.received == traffic.sent
    for name in ("s1", "s2"):
        controller.request("POST", f"/switches/{name}/windows")
        assert _counted(controller, name, first[name]) == CROSSINGS * traffic.sent


def test_the_last_window_ends_with_the_controller(
    switches: Switches, controller: ControllerProcess
) -> None:
    first = _monitor(controller, switches, ONE_WINDOW)
    assert _crosses(switches)
    assert controller.end() == (0, "")
    [last] = controller.windows("s1")[first["s1"] :]
    assert (last["packets"], last["asked"]) == (CROSSINGS, True)
    # Nobody reads while it is away; the next one continues.
    assert _crosses(switches)
    controller.start()
    assert eventually(lambda: _monitored(controller))
    window = controller.request("POST", "/switches/s1/windows")
    assert (window["packets"], window["start_ns"]) == (CROSSINGS, last["end_ns"])


def test_registers_of_a_switch_that_was_restarted_belong_to_no_window(
    switches: Switches, controller: ControllerProcess
) -> None:
    first = _monitor(controller, switches, ONE_WINDOW)
    assert _crosses(switches)
    for name in ("s1", "s2"):
        switches.switches[name].process.send_signal(signal.SIGKILL)
        switches.switches[name].stop()
        switches.launch(name)
    _take(controller, switches.state(**ONE_WINDOW))
    assert eventually(lambda: _monitored(controller))
    assert _crosses(switches)
    for name in ("s1", "s2"):
        window = controller.request("POST", f"/switches/{name}/windows")
        assert window["packets"] == CROSSINGS
        assert len(controller.windows(name)) == first[name] + 1


def test_settings_hold_from_the_next_window_on(
    switches: Switches, controller: ControllerProcess
) -> None:
    _monitor(controller, switches, ONE_WINDOW)
    adaptive = {"adaptive_flows": 5, "sizes": {"iblt_cells": 400}}
    thresholds = {"eval_packets": 3, "share": 0.25, "packets": 2}
    settings = ONE_WINDOW | adaptive | {"thresholds": thresholds}
    controller.request("PUT", "/monitoring/s1", settings)
    for _ in range(3):
        assert all(_crosses(switches) for _ in range(6))
        controller.request("POST", "/switches/s1/windows")
    old, new, adapted = controller.windows("s1")[-3:]
    assert (old["thresholds"]["eval"], old["iblt_cells"]) == (0, 300)
    assert new["thresholds"] == {"eval": 3, "share": 2**30, "packets": 2}
    assert new["iblt_cells"] == 400
    # A share of 1/4 of 12 packets.
    assert adapted["thresholds"] == {"eval": 3, "share": 0, "packets": 3}


def test_a_second_controller_waits_for_the_first(
    switches: Switches, controller: ControllerProcess
) -> None:
    state = switches.state()
    _take(controller, state)
    folder = Path(tempfile.mkdtemp(prefix="ctl-"))
    second = ControllerProcess(folder)
    try:
        second.request("PUT", "/state", state)
        status = second.request("GET", "/status")["switches"]
        words = "another controller is the primary one of this switch"
        assert eventually(
            lambda: (
                {e["problem"] for e in second.request("GET", "/status")["switches"].values()}
                == {words}
            )
        ), status
        os.kill(controller.process.pid, signal.SIGKILL)
        controller.process.communicate()
        assert eventually(second.in_sync)
    finally:
        assert second.end() == (0, "")
        shutil.rmtree(folder)
