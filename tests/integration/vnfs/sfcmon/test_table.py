"""The table of flows of the engine `ebpf`, against the reference parser; and no monitoring."""

from __future__ import annotations

import subprocess
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from support.network.wires import Lab, eventually
from support.sfcmon.ebpf_tool import from_both_cpus, start
from support.sfcmon.frames import over_ethernet, random_frames, udp4

from sfcperf.dataplane import binaries
from sfcperf.dataplane.nsh import Nsh
from sfcperf.dataplane.nsh.frame import Unparsed, parse
from sfcperf.dataplane.nsh.packet import KEY_BYTES
from sfcperf.vnfs.forwarder.function import attach_pass

BURST = 2000
NSH = Nsh(spi=1, si=255, next_protocol=1)
TABLE = ("--monitor", "table")


def frames(count: int) -> list[bytes]:
    """One of each of so many flows."""
    return [over_ethernet(udp4("10.0.0.1", "10.1.0.1", 1000 + n), NSH) for n in range(count)]


def flows_of(sent: list[bytes]) -> Counter[tuple[str, str]]:
    """What has to be listed, by the reference parser."""
    sums: Counter[tuple[str, str]] = Counter()
    for frame in sent:
        with suppress(Unparsed):
            packet = parse(frame)
            key = packet.flow.flow_id_2.ljust(KEY_BYTES, b"\0").hex()
            sums[key, "packets"] += 1
            sums[key, "bytes"] += packet.size_bytes
    return sums


def listed(windows: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """(key, `packets` or `bytes`) -> sum over the windows."""
    sums: Counter[tuple[str, str]] = Counter()
    for window in windows:
        for key, packets, size in window["flows"]:
            sums[key, "packets"] += packets
            sums[key, "bytes"] += size
    return sums


def test_counts_are_exact(lab: Lab) -> None:
    tool = start(lab, *TABLE)
    sent = random_frames(3, 600)
    expected = flows_of(sent)
    tool.feed(sent)
    (window,) = tool.ended()
    assert listed([window]) == expected
    assert window["untracked"] == 0
    assert window["packets"] == sum(n for (_, what), n in expected.items() if what == "packets")
    assert window["packets"] + sum(window["unparsed"]) == len(sent)


def test_windows_lose_nothing_and_count_nothing_twice(lab: Lab) -> None:
    tool = start(lab, *TABLE, window_ms="5")
    sent = frames(20)
    from_both_cpus(lab, tool, sent * BURST)
    windows = tool.ended()
    packets = [n for (_, what), n in listed(windows).items() if what == "packets"]
    assert len(windows) > 3
    assert packets == [2 * BURST] * len(sent)
    assert sum(window["packets"] for window in windows) == 2 * BURST * len(sent)


def test_packets_without_room_are_counted_and_idle_flows_make_room(lab: Lab) -> None:
    tool = start(lab, *TABLE, "--table-flows", "4")
    first, second = frames(7)[:5], frames(7)[3:]
    tool.feed(first * 3)
    full = tool.window()
    assert (full["packets"], full["untracked"]) == (15, 3)
    assert listed([full]) == flows_of(first[:4] * 3)
    # Each bank keeps flows for one window of its own without packets.
    assert [tool.window()["packets"] for _ in range(3)] == [0, 0, 0]
    tool.feed(second * 2)
    window = tool.window()
    assert window["untracked"] == 0
    assert listed([window]) == flows_of(second * 2)


def test_entries_are_there_from_the_start_and_stay(lab: Lab) -> None:
    sent = frames(4)
    known = f"2:{parse(sent[1]).flow.flow_id_2.hex()}"
    tool = start(lab, *TABLE, "--table-flows", "2", "--table-entries", known)
    for _ in range(5):
        tool.feed(sent)
        window = tool.window()
        assert listed([window]) == flows_of(sent[1:3])
        assert window["untracked"] == 2
        assert tool.window()["flows"] == []


def refused(*options: str) -> str:
    """What the program says before it ends at once."""
    argv = [str(binaries.find("sfc-sfcmon")), "--interface", "lo", *TABLE, *options]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    return done.stderr


def test_entries_that_are_refused() -> None:
    for entries in (
        *("", "1:", "0:" + "0" * 40, "1:" + "00" * 20),
        *("x:" + "0" * 40, "1:000001ff1104,"),
    ):
        assert f"'{entries}' is no list of entries" in refused("--table-entries", entries)
    entries = f"5:{parse(frames(1)[0]).flow.flow_id_2.hex()}"
    said = refused("--table-flows", "4", "--table-entries", entries)
    assert "5 entries do not fit into a table of 4 flows" in said


@pytest.mark.parametrize("monitor", ["sketches", "table", "none"])
def test_packets_are_forwarded_alike(lab: Lab, monitor: str) -> None:
    tool = start(lab, "--monitor", monitor)
    attach_pass(tool.sender.host, [tool.sender.interface])
    sent, got = frames(20), list[bytes]()
    tool.wire.send(sent)

    def all_back() -> bool:
        got.extend(tool.wire.waiting())
        return len(got) >= len(sent)

    assert eventually(all_back)
    assert [Nsh.decode(frame[14:]) for frame in got] == [
        (replace(NSH, si=254), frame[14 + len(NSH.encode()) :]) for frame in sent
    ]
    assert len(tool.ended()) == (monitor != "none")
