"""Features that sfc-ids makes of captures, against another implementation."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.utils import RawPcapReader
from support.needs import compiled
from support.schemas import validator
from support.tiers import examples
from support.vnfs import flow_reference
from support.vnfs.ids_tool import (
    WRAPPERS,
    as_records,
    capture,
    extract,
    packet,
    printed,
    run,
    wrapped,
)

from sfcperf.vnfs.ids.features import NAMES
from sfcperf.vnfs.ids.function import BINARY

START_NS = 1_700_000_000_123_456_789
STEPS_NS = st.one_of(
    st.sampled_from([0, 1, 999, 1000, 10**6, 999_999_999, 10**9, 10**9 + 999, 10**9 + 1000]),
    st.integers(0, 3 * 10**9),
    st.integers(-(10**6), 0),
    st.sampled_from([-5 * 10**9, 5 * 10**9, 60 * 10**9]),
)
GOLDEN = Path(__file__).with_name("ids_golden")
_TALKS = [
    (ends, ports, size)
    for size in range(5)
    for port in range(3000, 3000 + 4 * (size + 1))
    for ends, ports in (((1, 2), (port, 53)), ((2, 1), (53, port)))
]
WINDOWS_MS = [(2000, 2000), (2000, 1000), (1000, 100), (100, 100), (60_000, 60_000)]


@st.composite
def _packets(draw: st.DrawFn) -> bytes:
    version = draw(st.sampled_from([4, 6]))
    transports = ["tcp", "tcp", "udp", "fragment", *(["icmp"] if version == 4 else [])]
    made = packet(
        version,
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        (draw(st.sampled_from([80, 256])), draw(st.sampled_from([80, 1]))),
        draw(st.sampled_from(transports)),
        flags="".join(draw(st.sets(st.sampled_from("FSRPAU")))),
        dscp=draw(st.sampled_from([0, 0, 1, 46, 63])),
        payload=draw(st.integers(0, 1400)),
        options=draw(st.booleans()),
    )
    return wrapped(made, draw(st.sampled_from(WRAPPERS)))


def _options(window_ms: int, slide_ms: int, early_packets: int, early_flows: int) -> list[str]:
    options = {
        "window-ms": window_ms,
        "slide-ms": slide_ms,
        "early-packets": early_packets,
        "early-flows": early_flows,
    }
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def _timed(frames: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """With times instead of steps."""
    times = accumulate(step for step, _ in frames)
    return [(START_NS + time, frame) for time, (_, frame) in zip(times, frames, strict=True)]


@examples(500)
@given(
    frames=st.lists(st.tuples(STEPS_NS, _packets()), min_size=1, max_size=25),
    windows=st.sampled_from(WINDOWS_MS),
    early_packets=st.sampled_from([0, 1, 2, 4]),
    early_flows=st.sampled_from([0, 1, 2, 16]),
)
def test_records_equal_those_of_another_implementation(
    frames: list[tuple[int, bytes]], windows: tuple[int, int], early_packets: int, early_flows: int
) -> None:
    trace = _timed(frames)
    how = (*windows, early_packets, early_flows)
    found = extract(trace, *_options(*how))
    assert as_records(found) == flow_reference.records(trace, *how)
    assert [record["sequence"] for record in found] == list(range(len(found)))


@cache
def _udp(version: int, ends: tuple[int, int], ports: tuple[int, int]) -> bytes:
    """Scapy makes frames slowly."""
    return wrapped(packet(version, *ends, ports, "udp"), "plain")


@st.composite
def _short_flows(draw: st.DrawFn) -> bytes:
    """Of two clients and a server that answers, in many flows."""
    version, client = draw(st.sampled_from([4, 6])), draw(st.integers(1, 2))
    ends, ports = (client, 3), (draw(st.integers(1000, 1006)), 80)
    if draw(st.sampled_from([True, False, False])):
        ends, ports = ends[::-1], ports[::-1]
    return _udp(version, ends, ports)


@examples(500)
@given(
    frames=st.lists(
        st.tuples(st.sampled_from([0, 10**6, 10**7, 3 * 10**8, -5 * 10**9]), _short_flows()),
        min_size=10,
        max_size=80,
    ),
    windows=st.sampled_from([(2000, 2000), (1000, 500), (100, 100)]),
    early_packets=st.sampled_from([2, 4, 100]),
    early_flows=st.integers(1, 8),
)
def test_early_records_of_many_flows_equal_those_of_another_implementation(
    frames: list[tuple[int, bytes]], windows: tuple[int, int], early_packets: int, early_flows: int
) -> None:
    """And come in the same order."""
    trace = _timed(frames)
    how = (*windows, early_packets, early_flows)
    assert as_records(extract(trace, *_options(*how))) == flow_reference.records(trace, *how)


@cache
def _syn(source: int, port: int) -> bytes:
    return wrapped(packet(4, source, 99, (port, 80), "tcp", flags="S"), "plain")


def _flood(flows: int, source: int = 1) -> list[bytes]:
    """A packet of each flow."""
    return [_syn(source, 1000 + number) for number in range(flows)]


def _early_ports(frames: Sequence[bytes], *options: str) -> list[int]:
    """The client's port of each early record, in their order; all packets are in one pane."""
    trace = [(START_NS + n, frame) for n, frame in enumerate(frames)]
    found = extract(trace, "--window-ms", "60000", *options)
    return [record["features"][1] for record in found if record["kind"] == "early"]


def test_each_16_flows_of_a_client_have_their_early_records_together() -> None:
    """Not flows of others, nor those that had a record: an early one, or that of a flow that left
    a full table; nor those of an earlier pane."""
    flood = _flood(16)
    assert _early_ports(flood[:15]) == []
    assert _early_ports(_flood(40)) == list(range(1000, 1032))
    assert _early_ports(_flood(40), "--early-flows", "0") == []
    assert _early_ports(_flood(40), "--early-packets", "0") == []
    spoofed = [frame for source in range(2, 202) for frame in _flood(1, source)]
    assert _early_ports(spoofed) == []
    assert _early_ports([*flood[:15], *spoofed, flood[15]]) == list(range(1000, 1016))
    assert _early_ports([flood[0]] * 4 + flood) == [1000]
    # It has had its early record with the others: no second one follows.
    assert _early_ports(flood * 4) == list(range(1000, 1016))
    whole, half = ("--flows", "16", "--early-flows", "16"), ("--flows", "8", "--early-flows", "16")
    assert _early_ports(_flood(96), *whole) == list(range(1000, 1096))
    assert _early_ports(_flood(96), *half) == []
    start = START_NS // 10**10 * 10**10
    times = [start] * 15 + [start + 10**9] * 15
    found = extract(list(zip(times, _flood(30), strict=True)), "--window-ms", "1000")
    assert {record["kind"] for record in found} == {"window"}


def _flow(*times_us: int, back: tuple[int, ...] = ()) -> list[tuple[int, bytes]]:
    """Packets of a flow at these times after START_NS; those at places of `back` come back."""
    there, answer = (
        wrapped(packet(4, *ends, ports, "tcp"), "plain")
        for ends, ports in (((1, 2), (5, 80)), ((2, 1), (80, 5)))
    )
    frames = [answer if n in back else there for n in range(len(times_us))]
    return [(START_NS + 1000 * us, frame) for us, frame in zip(times_us, frames, strict=True)]


def _only(frames: list[tuple[int, bytes]]) -> dict[str, Any]:
    """The record of one window, by column."""
    (record,) = extract(frames, "--early-packets", "0", "--window-ms", "60000")
    return dict(zip(NAMES, record["features"], strict=True))


def test_times_within_a_flow() -> None:
    """By hand. A gap divides a flow only if it is longer than a second, and no direction has an
    inter-arrival time across it; a least value of 0 stays."""

    def found(flow: list[tuple[int, bytes]], *names: str) -> tuple[Any, ...]:
        columns = _only(flow)
        return tuple(columns[name] for name in names)

    parts = ("sflow_fpackets", "max_idle", "max_fiat")
    assert found(_flow(0, 1_000_000), *parts) == (2, 0, 1_000_000)
    assert found(_flow(0, 1_000_001), *parts) == (1, 1_000_001, 0)
    both_ways = _flow(0, 10, 2_000_000, 2_000_030, back=(1, 3))
    assert found(both_ways, "max_fiat", "max_biat", "max_idle") == (0, 0, 1_999_990)
    active = ("min_active", "mean_active", "max_active", "std_active")
    assert found(both_ways, *active) == (10, 20, 30, 14)  # the root of 200
    assert found(_flow(0, 0, 7), "min_fiat", "mean_fiat", "max_fiat") == (0, 3, 7)


@pytest.mark.parametrize(("pause_ms", "clients"), [(1999, [5, 5]), (2000, [5, 80])])
def test_a_flow_that_pauses_for_a_window_begins_again(pause_ms: int, clients: list[int]) -> None:
    """Who sends first afterwards is the client."""
    start = START_NS // 10**9 * 10**9
    ((_, there),), ((_, back),) = _flow(0), _flow(0, back=(0,))
    frames = [(start, there), (start + pause_ms * 10**6, back)]
    found = extract(frames, "--window-ms", "1000", "--early-packets", "0")
    assert [record["features"][1] for record in found] == clients


def test_records_keep_their_schema() -> None:
    """Which has the columns in their order."""
    features = validator("flow-record").schema["properties"]["features"]
    assert [column["title"] for column in features["prefixItems"]] == list(NAMES)
    assert features["minItems"] == features["maxItems"] == len(NAMES) == 46
    made = packet(6, 1, 2, (1, 2), "udp")
    frames = [(START_NS, wrapped(made, how)) for how in WRAPPERS]
    for record in extract(frames, "--early-packets", "1"):
        validator("flow-record").validate(record)


@pytest.mark.exhaustive
@examples(300)
@given(
    st.lists(st.tuples(_packets(), st.lists(st.tuples(st.integers(12, 120), st.integers(0, 255)))))
)
def test_damaged_packets_damage_nothing_else(
    damaged: list[tuple[bytes, list[tuple[int, int]]]],
) -> None:
    """Whatever comes between them, the packets of a flow that is whole are counted."""
    whole = wrapped(packet(4, 99, 98, (7, 9), "udp"), "nsh-md1")
    trace = []
    for frame, changes in damaged:
        data = bytearray(frame)
        for at, value in changes:
            if at < len(data):
                data[at] = value
        trace += [(START_NS, bytes(data)), (START_NS, bytes(data[: len(data) // 2]))]
        trace.append((START_NS, whole))
    if not trace:
        return
    found = extract(trace, "--early-packets", "0")
    for record in found:
        validator("flow-record").validate(record)
    ours = [
        r["features"][5] for r in found if r["features"][:4] == ["10.0.0.99", 7, "10.0.0.98", 9]
    ]
    assert ours == [len(damaged)]


def test_more_flows_than_the_table_has_room_for() -> None:
    """Each packet is in one record of its window, and each flow in at least one."""
    ports = [*range(1, 501)] * 2
    frames = [(START_NS + n, _udp(4, (1, 2), (port, 9))) for n, port in enumerate(ports)]
    found = extract(frames, "--early-packets", "0", "--flows", "16")
    assert sum(record["features"][5] for record in found) == 1000
    assert {record["features"][1] for record in found} == set(range(1, 501))


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "no frames"), (b"\x1f\x8b" + bytes(30), "compressed"), (b"a,b\n" * 9, "standard input")],
)
def test_what_is_no_capture_is_refused(data: bytes, words: str) -> None:
    done = run(data)
    assert (done.returncode, words in done.stderr.decode()) == (1, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--interface, --observe and --pcap"),
        (["--interface", "a", "--pcap", "b"], "--interface, --observe and --pcap"),
        (["--interface", "a"], "--records and --brokers"),
        (["--pcap", "a", "--brokers", "b:1"], "--records and --brokers"),
        (["--pcap", "a", "--slide-ms", "300"], "300"),
        (["--observe", "a", "--records", "-"], "'a'"),
        (["--interface", "a", "--records", "-", "--repeat", "2"], "--repeat needs --pcap"),
        (["--pcap", "a", "--flows", "0"], "from 1"),
    ],
    ids=str,
)
def test_wrong_options_are_explained(options: list[str], words: str) -> None:
    done = subprocess.run([compiled(BINARY), *options], capture_output=True, text=True, timeout=10)
    assert (done.returncode, words in done.stderr) == (2, True)


@pytest.mark.parametrize(("name", "early_flows"), [("mixed", 16), ("early_flows", 2)])
def test_records_of_the_golden_capture_stay_the_same(name: str, early_flows: int) -> None:
    """Byte for byte; and the other implementation reads that file the same way."""
    data = (GOLDEN / "mixed.pcap").read_bytes()
    expected = (GOLDEN / f"{name}.jsonl").read_bytes()
    more = [] if early_flows == 16 else ["--early-flows", str(early_flows)]  # 16: the default
    assert run(data, "--slide-ms", "1000", *more).stdout == expected
    with RawPcapReader(str(GOLDEN / "mixed.pcap")) as reader:
        frames = [(meta.sec * 10**9 + meta.usec, frame) for frame, meta in reader]
    assert as_records(printed(expected)) == flow_reference.records(
        frames, 2000, 1000, 4, early_flows
    )


def test_tshark_counts_the_same_conversations(tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    packets = [packet(4, *ends, ports, "udp", payload=size) for ends, ports, size in _TALKS]
    frames = [(START_NS + n * 1000, wrapped(made, "plain")) for n, made in enumerate(packets)]
    file = tmp_path / "talks.pcap"
    file.write_bytes(capture(frames))
    argv = ["tshark", "-r", str(file), "-q", "-z", "conv,udp"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    rows = [line.split() for line in done.stdout.splitlines() if "<->" in line]
    # Left end, arrow, right end, then packets and bytes of each direction and of both.
    theirs = {frozenset((row[0], row[2])): int(row[-5]) for row in rows}
    ours = {}
    for record in extract(frames, "--window-ms", "60000", "--early-packets", "0"):
        source, port, destination, other = record["features"][:4]
        ends = frozenset((f"{source}:{port}", f"{destination}:{other}"))
        ours[ends] = record["features"][5] + record["features"][7]
    assert ours == theirs
    assert sum(ours.values()) == len(_TALKS)


def test_what_is_left_out_is_told() -> None:
    good = wrapped(packet(4, 1, 2, (80, 1), "udp"), "plain")
    tso = good[:16] + b"\0\0" + good[18:]
    mpls = good[:12] + b"\x88\x47\0\1\1\x40" + good[14:]
    old_tag = good[:12] + b"\x91\x00\0\5" + good[12:]
    sent = [good, old_tag, tso, tso, mpls, good[:20]]
    file = capture([(START_NS + n, frame) for n, frame in enumerate(sent)])
    assert json.loads(run(file).stderr) == {
        "event": "end",
        "frames": 6,
        "left_out": {"headers": 1, "ipv4_length_0": 2, "ethertype_0x8847": 1},
    }
    # The time of a packet is that of those that were extracted.
    assert json.loads(run(file, "--repeat", "3").stdout)["packets"] == 3 * 2
