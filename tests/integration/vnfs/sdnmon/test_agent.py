"""sfc-sdnmon-agent between an Open vSwitch and a controller: each message, seen by sfc-sdnmon."""

from __future__ import annotations

import dataclasses
import json
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.contrib.openflow3 import OFPETExperimenter, OFPTExperimenter
from support.network.wires import eventually, ip, space
from support.sdnmon import openflow as of
from support.sdnmon.agent import TOOL
from support.sdnmon.ends import ends
from support.sdnmon.frames import udp_flow, udp_flows
from support.sdnmon.openflow import Connection, Refused, Settings, packed_keys
from support.sdnmon.switch import BRIDGE, Bench, bench
from support.sdnmon.tool import FIVE_TUPLE, HASH_KEY, bpf_file_system, layout_of

from sfcperf.vnfs import binaries
from sfcperf.vnfs.sdnmon.fields import FIELDS
from sfcperf.vnfs.sdnmon.model import is_sampled

pytestmark = pytest.mark.root
LAYOUT = layout_of(FIVE_TUPLE)
FIVE = Settings(LAYOUT.masks, secret=HASH_KEY)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bench, Connection]]:
    with bench(tmp_path_factory.mktemp("switch")) as made:
        made.connect()
        yield made, made.accepted()


@pytest.fixture
def off(shared: tuple[Bench, Connection]) -> tuple[Bench, Connection]:
    """A channel of a switch that is not monitored."""
    if shared[1].status().on:
        shared[1].ask(of.MODE_OFF)
    return shared


@pytest.fixture
def on(off: tuple[Bench, Connection]) -> tuple[Bench, Connection]:
    """The same, monitored by 5-tuples."""
    off[1].ask(of.MODE_ON, FIVE.packed)
    return off


@pytest.fixture
def kept_on(shared: tuple[Bench, Connection]) -> tuple[Bench, Connection]:
    """Monitored by 5-tuples without entries, for tests that change nothing: programs are not loaded
    anew."""
    _, controller = shared
    found = controller.status()
    limited = dataclasses.replace(FIVE, secret=None, limit=FIVE.capacity)
    if found.settings != limited or found.entries:
        controller.ask(of.RESET_TABLE if found.on else of.MODE_ON, FIVE.packed)
    return shared


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        yield made


def _keys(numbers: range) -> list[bytes]:
    """Of udp_flow()."""
    return [
        LAYOUT.key(
            {"ipv4_src": 0x0A000000 + n, "ipv4_dst": 0x0A090909, "ip_proto": 17,
             "tp_src": 1000, "tp_dst": 53},
            ("ip", "ipv4", "ports"),
        )
        for n in numbers
    ]  # fmt: skip


def _number(value: int) -> bytes:
    return struct.pack("!I", value)


# --- settings ---


def test_features(off: tuple[Bench, Connection]) -> None:
    made, controller = off
    formats, is_on, slots, entries, fields, zero = struct.unpack(
        "!BBHIII", controller.ask(of.FEATURES)
    )
    assert (formats, is_on, slots, entries, zero) == (1, 0, 64, 1_000_000, 0)
    chosen = {f.name for number, f in enumerate(FIELDS) if fields >> number & 1}
    assert chosen == {f.name for f in FIELDS} - {"presence"}
    controller.ask(of.MODE_ON, FIVE.packed)
    assert controller.ask(of.FEATURES)[1] == 1
    assert made.tool.status["mode"] == "hash"


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize(
    "settings",
    [
        FIVE,
        Settings(
            {"ipv6_src": (1 << 128) - (1 << 64), "eth_dst": 0xFFFFFFFFFFFF, "vlan_vid": 0x1FFF},
            mode=1, slots=64, interval_ms=64_000, ratio=1 << 30, capacity=1000, limit=900,
            threshold=800,
        ),
        Settings({f.name: f.mask for f in FIELDS if f.name != "presence"}, slots=1, interval_ms=10),
    ],
)  # fmt: skip
@pytest.mark.parametrize("request_type", [of.MODE_ON, of.RESET_TABLE])
def test_settings(off: tuple[Bench, Connection], settings: Settings, request_type: int) -> None:
    """They are those that the tool prints, and those of the status."""
    made, controller = off
    if request_type == of.RESET_TABLE:
        controller.ask(of.MODE_ON, Settings({"ip_dscp": 63}).packed)
    assert controller.ask(request_type, settings.packed) == b""
    printed = made.tool.status
    assert {f["name"] for f in printed["fields"]} == {*settings.masks, "presence"}
    assert printed["mode"] == ("hash", "bloom")[settings.mode]
    assert printed["ratio"] == settings.ratio / of.RATIO_ONE
    assert printed["slots"] == settings.slots
    assert printed["interval_ms"] == settings.interval_ms / settings.slots
    assert printed["capacity"] == settings.capacity
    assert printed["limit"] == settings.limit or settings.capacity
    assert printed["notify"] == settings.threshold
    assert {port["name"] for port in printed["ports"]} == set(made.names)
    found = controller.status()
    limit = settings.limit or settings.capacity
    assert found.settings == dataclasses.replace(settings, secret=None, limit=limit)
    assert found.ports == made.names


def test_changes_of_settings(on: tuple[Bench, Connection]) -> None:
    made, controller = on
    assert controller.ask(of.SET_SAMPLING_RATIO, struct.pack("!Q", 1 << 31)) == b""
    assert controller.ask(of.SET_QUERY_TIME_INTERVAL, _number(500)) == b""
    assert controller.ask(of.SET_OVERFLOW_NOTIFICATION_THRESHOLD, _number(77)) == b""
    assert controller.ask(of.SET_LIMIT, _number(99)) == b""
    printed = made.tool.status
    names = ("ratio", "interval_ms", "notify", "limit")
    assert [printed[name] for name in names] == [0.5, 100, 77, 99]


def test_a_secret_is_drawn_once(off: tuple[Bench, Connection]) -> None:
    """A reset without a secret keeps it, so that the sample stays."""
    made, controller = off
    half = dataclasses.replace(FIVE, secret=None, ratio=of.RATIO_ONE // 2)
    samples = []
    for request_type in (of.MODE_ON, of.RESET_TABLE):
        controller.ask(request_type, half.packed)
        made.send(udp_flows(range(100)))
        samples.append(set(controller.statistics().entries))
    assert samples[0] == samples[1]
    assert 20 < len(samples[0]) < 80
    controller.ask(of.RESET_TABLE, dataclasses.replace(half, secret=HASH_KEY).packed)
    made.send(udp_flows(range(100)))
    wanted = {key for key in _keys(range(100)) if is_sampled(key, HASH_KEY, 0.5)}
    assert set(controller.statistics().entries) == wanted


# --- entries ---


def test_entries(on: tuple[Bench, Connection]) -> None:
    made, controller = on
    added = struct.pack("!III", 10, 0, 0)
    assert controller.ask(of.ADD_ENTRIES, packed_keys(_keys(range(10)))) == added
    assert len(made.tool.entries) == 10
    again = struct.pack("!III", 5, 10, 0)
    assert controller.ask(of.ADD_ENTRIES, packed_keys(_keys(range(15)))) == again
    removed = struct.pack("!III", 5, 5, 0)
    assert controller.ask(of.REMOVE_ENTRIES, packed_keys(_keys(range(10, 20)))) == removed
    made.send(udp_flows(range(20)))
    assert {key for key, _ in made.tool.counts(LAYOUT).items()} == set(_keys(range(10)))
    assert made.tool.totals["excluded"] == 10
    controller.ask(of.SET_LIMIT, _number(12))
    full = struct.pack("!III", 2, 10, 8)
    assert controller.ask(of.ADD_ENTRIES, packed_keys(_keys(range(20)))) == full
    assert controller.ask(of.ADD_ENTRIES, packed_keys([], size=16)) == bytes(12)


def test_as_many_entries_as_a_message_has_room_for(on: tuple[Bench, Connection]) -> None:
    _, controller = on
    keys = _keys(range(4000))
    assert controller.ask(of.ADD_ENTRIES, packed_keys(keys)) == struct.pack("!III", 4000, 0, 0)
    assert set(controller.statistics().entries) == set(keys)


def test_prune(on: tuple[Bench, Connection]) -> None:
    made, controller = on
    made.send(udp_flows(range(50)))
    controller.ask(of.SET_SAMPLING_RATIO, struct.pack("!Q", of.RATIO_ONE // 4))
    gone = sum(not is_sampled(key, HASH_KEY, 0.25) for key in _keys(range(50)))
    assert controller.ask(of.PRUNE) == _number(gone)
    assert len(made.tool.entries) == 50 - gone


# --- reading ---


def test_statistics_are_those_of_the_tool(on: tuple[Bench, Connection]) -> None:
    """Counts since the start, and those of each epoch."""
    made, controller = on
    controller.ask(of.SET_QUERY_TIME_INTERVAL, _number(1000))
    controller.ask(of.ADD_ENTRIES, packed_keys(_keys(range(5))))
    for _ in range(12):
        made.send(udp_flows(range(30)))
        time.sleep(0.1)
    while True:
        found = controller.statistics(slots=True)
        first, *lines, _ = made.tool("entries")
        if first["epoch"] == found.epoch:
            break
    assert len(found.entries) == len(lines) == 30
    by_source = {struct.unpack("!I", key[:4])[0] & 0xFF: e for key, e in found.entries.items()}
    for line in lines:
        entry = by_source[int(line["flow"]["ipv4_src"].rsplit(".", 1)[1])]
        assert (entry.packets, entry.octets) == (line["packets"], line["bytes"])
        assert entry.added == line["added"]
        wanted = {epoch: (packets, octets) for epoch, packets, octets in line["intervals"]}
        epochs = range(found.epoch - 4, found.epoch + 1)
        assert [wanted.get(epoch, (0, 0)) for epoch in epochs] == [*entry.slots]
        assert sum(packets for packets, _ in entry.slots) > 0
    plain = controller.statistics()
    assert {key: e.packets for key, e in plain.entries.items()} == {
        key: e.packets for key, e in found.entries.items()
    }
    assert all(entry.slots == () for entry in plain.entries.values())


def test_status(on: tuple[Bench, Connection]) -> None:
    made, controller = on
    made.send([*udp_flows(range(10)), bytes(60)])
    found = controller.status()
    assert {name: n for name, n in found.totals.items() if n} == made.tool.totals
    assert (found.entries, found.notifications) == (10, 0)
    assert found.epoch >= 1


def test_the_tool_and_the_agent_side_by_side(on: tuple[Bench, Connection]) -> None:
    """The agent finds what the tool has changed."""
    made, controller = on
    made.tool("reset", "--fields", "ipv4_dst", "--capacity", "10", "--notify", "3")
    found = controller.status()
    assert found.settings is not None
    assert (found.settings.masks, found.settings.capacity) == ({"ipv4_dst": 0xFFFFFFFF}, 10)
    assert found.ports == made.names
    made.tool("off")
    assert not controller.status().on
    made.tool("on", "--fields", "ipv4_src")
    assert eventually(lambda: controller.status().ports == made.names)
    assert controller.status().on


def test_a_reset_while_a_reply_is_sent(on: tuple[Bench, Connection]) -> None:
    """The reply is whole, and of the table of before."""
    _, controller = on
    controller.ask(of.RESET_TABLE, dataclasses.replace(FIVE, capacity=40_000).packed)
    for start in range(0, 40_000, 4000):
        controller.ask(of.ADD_ENTRIES, packed_keys(_keys(range(start, start + 4000))))
    asked = controller.send_request(of.STATISTICS, bytes((1, 0, 0, 0)))
    reset = controller.send_request(of.RESET_TABLE, FIVE.packed)
    busy = controller.send_request(of.STATISTICS, bytes(4))
    status = controller.send_request(of.STATUS)
    messages = iter(lambda: controller.reply(asked, of.STATISTICS), None)
    assert len(of.parsed_statistics(messages).entries) == 40_000
    assert controller.reply(reset, of.RESET_TABLE) == b""
    assert of.parsed_status(controller.reply(status, of.STATUS)).entries == 0
    with pytest.raises(Refused) as refused:
        controller.reply(busy, of.STATISTICS)
    assert refused.value.code == of.BUSY


def test_scapy_reads_the_messages(on: tuple[Bench, Connection]) -> None:
    """An independent parser of OpenFlow 1.3 headers."""
    made, _ = on
    made.vsctl("set", "bridge", BRIDGE, "protocols=OpenFlow13")
    controller = made.accepted(of.VERSION_1_3)
    xid = controller.send_request(of.PRUNE)
    reply = controller.receive(lambda message: message.xid == xid)
    read = OFPTExperimenter(reply.packed)
    assert (read.experimenter, read.exp_type, read.len) == (of.EXPERIMENTER, 0x800A, 20)
    xid = controller.send_request(99)
    reply = controller.receive(lambda message: message.xid == xid)
    error = OFPETExperimenter(reply.packed)
    assert (error.exp_type, error.experimenter) == (of.BAD_MESSAGE, of.EXPERIMENTER)
    made.vsctl("set", "bridge", BRIDGE, "protocols=OpenFlow15")
    shared_again = made.accepted()
    assert shared_again.status().on
    on[1].__dict__.update(shared_again.__dict__)


# --- errors ---

_KEY = _keys(range(1))[0]
_BAD_KEYS = [
    bytes(12) + b"\x00\x08" + bytes(2),  # a header that no field belongs to
    _KEY[:15] + b"\x01",  # behind the last field
    bytes(8) + _KEY[8:12] + b"\x00\x06" + _KEY[14:],  # ports without their header
]
_SETTINGS = FIVE.packed


def _with(at: int, form: str, value: int) -> bytes:
    changed = bytearray(_SETTINGS)
    struct.pack_into(form, changed, at, value)
    return bytes(changed)


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("request_type", [of.MODE_ON, of.RESET_TABLE])
@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (_SETTINGS[:39], of.BAD_MESSAGE, "39 bytes of content instead of at least 40"),
        (_SETTINGS[:-1], of.BAD_MESSAGE, "ends within field 5 of 5"),
        (_SETTINGS + b"\0", of.BAD_MESSAGE, "1 bytes behind the fields"),
        (_with(0, "!B", 2), of.BAD_VALUE, "mode: from 0 to 1, not 2"),
        (_with(1, "!B", 3), of.BAD_MESSAGE, "reserved bits"),
        (_with(38, "!H", 1), of.BAD_MESSAGE, "reserved bits"),
        (_with(2, "!H", 0), of.BAD_VALUE, "counter buffer size: from 1 to 64"),
        (_with(2, "!H", 65), of.BAD_VALUE, "counter buffer size: from 1 to 64"),
        (_with(4, "!I", 49), of.BAD_VALUE, "query time interval, ms: from 50 to 86400000"),
        (_with(4, "!I", 86_400_001), of.BAD_VALUE, "query time interval"),
        (_with(8, "!Q", (1 << 32) + 1), of.BAD_VALUE, "sampling ratio"),
        (_with(24, "!I", 0), of.BAD_VALUE, "capacity: from 1 to 1000000"),
        (_with(24, "!I", 1_000_001), of.BAD_VALUE, "capacity"),
        (_with(28, "!I", 4097), of.BAD_VALUE, "limit (0: the capacity): from 1 to 4096"),
        (_with(32, "!I", 1_000_001), of.BAD_VALUE, "threshold (0: never): from 0 to 1000000"),
        (_with(36, "!H", 0), of.BAD_VALUE, "there are no fields"),
        (_with(36, "!H", 6), of.BAD_MESSAGE, "ends within field 6 of 6"),
        (_with(40, "!B", 21), of.BAD_VALUE, "21 is the number of no monitoring match field"),
        (_with(40, "!B", 13), of.BAD_VALUE, "13 is the number of no monitoring match field"),
        (_with(41, "!B", 3), of.BAD_VALUE, "ipv4_src: a mask of 4 bytes, not of 3"),
        (_with(46, "!B", 3), of.BAD_VALUE, "ipv4_src is there twice"),
        (_with(42, "!I", 0), of.BAD_VALUE, "ipv4_src: a mask with bits of the field"),
    ],
)
def test_bad_settings(
    kept_on: tuple[Bench, Connection], request_type: int, content: bytes, code: int, says: str
) -> None:
    made, controller = kept_on
    before = made.tool.status
    with pytest.raises(Refused) as refused:
        controller.ask(request_type, content)
    assert refused.value.code == code
    assert says in refused.value.text
    assert made.tool.status["fields"] == before["fields"]


@pytest.mark.parametrize(
    ("request_type", "content", "code", "says"),
    [
        (13, b"", of.BAD_MESSAGE, "exp_type 13 is no request; requests have 0 to 12"),
        (0x800B, b"", of.BAD_MESSAGE, "is no request"),
        (of.OVERFLOW_NOTIFICATION, bytes(16), of.BAD_MESSAGE, "is no request"),
        *((kind, b"\0", of.BAD_MESSAGE, "1 bytes of content instead of 0")
          for kind in (of.FEATURES, of.MODE_OFF, of.PRUNE, of.STATUS)),
        (of.SET_SAMPLING_RATIO, bytes(4), of.BAD_MESSAGE, "4 bytes of content instead of 8"),
        (of.SET_LIMIT, bytes(8), of.BAD_MESSAGE, "8 bytes of content instead of 4"),
        (of.SET_SAMPLING_RATIO, b"\xff" * 8, of.BAD_VALUE, "from 0 to 4294967296"),
        (of.SET_LIMIT, bytes(4), of.BAD_VALUE, "limit: from 1 to 4096, not 0"),
        (of.SET_LIMIT, _number(4097), of.BAD_VALUE, "limit: from 1 to 4096, not 4097"),
        (of.SET_QUERY_TIME_INTERVAL, _number(49), of.BAD_VALUE, "from 50 to"),
        (of.SET_OVERFLOW_NOTIFICATION_THRESHOLD, b"\xff" * 4, of.BAD_VALUE, "threshold"),
        (of.MODE_ON, _SETTINGS, of.ON, "monitoring is on: RESET_TABLE"),
        (of.STATISTICS, b"\2\0\0\0", of.BAD_MESSAGE, "reserved bits"),
        (of.STATISTICS, b"\1\0\0\1", of.BAD_MESSAGE, "reserved bits"),
        (of.ADD_ENTRIES, bytes(3), of.BAD_MESSAGE, "at least 4"),
        (of.ADD_ENTRIES, packed_keys([bytes(20)]), of.BAD_VALUE, "have 16 bytes, not 20"),
        (of.ADD_ENTRIES, packed_keys([bytes(16)])[:-1], of.BAD_MESSAGE, "15 bytes of keys"),
        (of.ADD_ENTRIES, packed_keys([bytes(16)]) + b"\0", of.BAD_MESSAGE, "17 bytes of keys"),
        *((kind, packed_keys([_KEY, key]), of.BAD_VALUE, "no packet has key 1")
          for kind in (of.ADD_ENTRIES, of.REMOVE_ENTRIES) for key in _BAD_KEYS),
    ],
)  # fmt: skip
def test_bad_requests(
    kept_on: tuple[Bench, Connection], request_type: int, content: bytes, code: int, says: str
) -> None:
    """Nothing is changed."""
    made, controller = kept_on
    with pytest.raises(Refused) as refused:
        controller.ask(request_type, content)
    assert refused.value.code == code
    assert says in refused.value.text
    assert made.tool.entries == []


@pytest.mark.parametrize(
    ("request_type", "content"),
    [
        (of.MODE_OFF, b""),
        (of.RESET_TABLE, _SETTINGS),
        (of.ADD_ENTRIES, packed_keys([_KEY])),
        (of.REMOVE_ENTRIES, packed_keys([_KEY])),
        (of.SET_SAMPLING_RATIO, bytes(8)),
        (of.SET_QUERY_TIME_INTERVAL, _number(1000)),
        (of.SET_OVERFLOW_NOTIFICATION_THRESHOLD, bytes(4)),
        (of.SET_LIMIT, _number(1)),
        (of.PRUNE, b""),
        (of.STATISTICS, bytes(4)),
    ],
)
def test_requests_to_a_switch_that_is_not_monitored(
    off: tuple[Bench, Connection], request_type: int, content: bytes
) -> None:
    made, controller = off
    with pytest.raises(Refused) as refused:
        controller.ask(request_type, content)
    assert refused.value.code == of.OFF
    assert not made.tool.state.exists()


# --- the channel ---


def test_flows_that_the_controller_sets(off: tuple[Bench, Connection]) -> None:
    """ovs-ofctl sees them without the agent."""
    made, controller = off
    any_port = 0xFFFFFFFF
    add = struct.pack("!QQBBHHHIIIHH", 5, 0, 0, 0, 0, 0, 7, any_port, any_port, any_port, 0, 0)
    controller.send(14, add + struct.pack("!HH4x", 1, 4))
    controller.barrier()
    dumped = made.ofctl("dump-flows")
    assert "cookie=0x5" in dumped
    assert "priority=7 actions=drop" in dumped


def test_ovs_ofctl_by_the_agent(tmp_path: Path) -> None:
    """The agent between ovs-ofctl and the switch, the wrong way round: all that ovs-ofctl sets and
    reads is as without the agent."""
    listen = f"unix:{tmp_path}/ofctl.sock"
    options = ["--port", "p0", "--relay", f"{listen}=unix:{tmp_path}/{BRIDGE}.mgmt"]
    with bench(tmp_path, options=options):
        direct = f"unix:{tmp_path}/{BRIDGE}.mgmt"

        def ofctl(target: str, *words: str, stdin: str | None = None) -> str:
            argv = ["ovs-ofctl", "-O", "OpenFlow15", words[0], target, *words[1:]]
            done = subprocess.run(argv, check=True, capture_output=True, text=True, input=stdin)
            return "\n".join(line for line in done.stdout.splitlines() if "xid=" not in line)

        flows = "\n".join(
            f"table={n % 250},priority={n},udp,nw_src=10.{n >> 8}.{n & 255}.1,actions=output:1"
            for n in range(5000)
        )
        ofctl(listen, "add-flows", "-", stdin=flows)
        ofctl(listen, "add-group", "group_id=1,type=all,bucket=output:1")
        for what in (["dump-flows", "--no-stats"], ["dump-groups"], ["dump-ports-desc"], ["show"]):
            assert ofctl(listen, *what) == ofctl(direct, *what)
        assert len(ofctl(direct, "dump-flows", "--no-stats").splitlines()) >= 5000


def test_the_switchs_echo_passes_while_statistics_are_sent(on: tuple[Bench, Connection]) -> None:
    """The controller reads slowly, and is asked whether it lives."""
    made, controller = on
    controller.ask(of.RESET_TABLE, dataclasses.replace(FIVE, capacity=100_000, slots=64).packed)
    for start in range(0, 20_000, 4000):
        controller.ask(of.ADD_ENTRIES, packed_keys(_keys(range(start, start + 4000))))
    made.vsctl("set", "controller", BRIDGE, "inactivity_probe=1000")
    asked = controller.send_request(of.STATISTICS, bytes((1, 0, 0, 0)))
    before = len(controller.others)

    def slowly() -> Iterator[bytes]:
        while True:
            yield controller.reply(asked, of.STATISTICS)
            time.sleep(0.01)

    assert len(of.parsed_statistics(slowly()).entries) == 20_000
    made.vsctl("set", "controller", BRIDGE, "inactivity_probe=5000")
    controller.barrier()
    assert len(controller.others) == before


# --- notifications ---


def test_one_notification_per_crossing(on: tuple[Bench, Connection]) -> None:
    made, controller = on
    controller.ask(of.FEATURES)
    controller.ask(of.SET_OVERFLOW_NOTIFICATION_THRESHOLD, _number(20))
    for _ in range(3):
        before = time.time_ns()
        made.send(udp_flows(range(100)))
        time_ns, entries, threshold = controller.notification()
        assert (entries, threshold) == (21, 20)
        assert before - 10**8 <= time_ns <= time.time_ns()
        controller.ask(of.RESET_TABLE, dataclasses.replace(FIVE, threshold=20).packed)
    controller.barrier()
    assert [m for m in controller.others if m.exp_type == of.OVERFLOW_NOTIFICATION] == []


def test_notifications_wait_for_a_controller_that_wants_them(fresh: Bench) -> None:
    """They go to all that have asked for features, and to no other."""
    fresh.connect()
    first = fresh.accepted()
    first.ask(of.MODE_ON, dataclasses.replace(FIVE, threshold=5).packed)
    fresh.send(udp_flows(range(50)))
    first.barrier()
    first.status()
    assert first.others == []
    first.close()
    second = fresh.accepted()
    assert second.status().notifications == 1
    second.ask(of.FEATURES)
    assert second.notification()[1:] == (6, 5)
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
        for kept, crossings in (
            (10, 0),
            (11, 1),
            (10, 1),
            (20, 1),
            (9, 1),
            (11, 2),
            (0, 2),
            (30, 3),
        ):
            there = len(silent.statistics().entries)
            kind = of.ADD_ENTRIES if kept > there else of.REMOVE_ENTRIES
            keys = _keys(range(min(kept, there), max(kept, there)))
            silent.ask(kind, packed_keys(keys))
            assert eventually(
                lambda n=crossings: [len(_notifications(c)) for c in wanting] == [n] * 3
            )
        assert _notifications(silent) == []
        for one in _notifications(wanting[0]):
            assert struct.unpack("!II", one[8:]) == (11, 10)


# --- ports ---


def test_ports_that_come_and_go(fresh: Bench) -> None:
    """The switch's messages about them reach the controller as well."""
    fresh.connect()
    controller = fresh.accepted()
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


def test_a_port_without_an_interface_is_said_once(fresh: Bench) -> None:
    patch = ["--", "set", "interface", "patch0", "type=patch", "options:peer=nowhere"]
    fresh.vsctl("add-port", BRIDGE, "patch0", *patch)
    fresh.connect()
    controller = fresh.accepted()
    for _ in range(2):
        controller.ask(of.MODE_ON, FIVE.packed)
        assert controller.status().ports == fresh.names
        controller.ask(of.MODE_OFF)
    wanted = "the port patch0 is not monitored: no interface has this name"
    assert fresh.agent.complaints.count(wanted) == 1


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
        with pytest.raises(Refused) as refused:
            controller.ask(of.MODE_ON, FIVE.packed)
        assert refused.value.code == of.FAILED
        assert "p1" in refused.value.text
        assert not made.tool.state.exists()


# --- its end ---


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.exhaustive)]
)
def test_started_again_it_goes_on(fresh: Bench, number: int) -> None:
    """Packets are counted meanwhile, ports that came and went are found, the switch forwards."""
    fresh.connect()
    controller = fresh.accepted()
    settings = dataclasses.replace(FIVE, threshold=10, interval_ms=60_000, ratio=of.RATIO_ONE - 1)
    controller.ask(of.MODE_ON, settings.packed)
    controller.ask(of.ADD_ENTRIES, packed_keys(_keys(range(200, 203))))
    fresh.send(udp_flows(range(5)))
    fresh.agent.signal(number)
    fresh.send(udp_flows(range(100)))
    fresh.vsctl("del-port", fresh.names[1])
    fresh.agent.start()
    controller = fresh.accepted()
    found = controller.status()
    assert found.settings is not None
    assert found.settings == dataclasses.replace(settings, secret=None, limit=4096)
    assert found.entries == 103
    assert found.totals["received"] == 105
    assert eventually(lambda: controller.status().ports == fresh.names[:1])
    fresh.vsctl("add-port", BRIDGE, fresh.names[1])
    assert eventually(lambda: controller.status().ports == fresh.names)
    controller.ask(of.FEATURES)
    assert controller.notification()[1:] == (11, 10)
    controller.barrier()
    assert [m for m in controller.others if m.exp_type is not None] == []


def test_off_at_end(tmp_path: Path) -> None:
    with bench(tmp_path, options=["--off-at-end"]) as made:
        made.connect()
        controller = made.accepted()
        controller.ask(of.MODE_ON, FIVE.packed)
        assert made.agent.signal(signal.SIGTERM) == 0
        assert not made.tool.state.exists()
        assert not Path(made.agent.address.removeprefix("unix:")).exists()


def test_the_switch_forwards_without_the_agent(fresh: Bench) -> None:
    fresh.connect()
    fresh.accepted().ask(of.MODE_ON, FIVE.packed)
    flow = "in_port=1,actions=output:2"
    fresh.ofctl("add-flow", flow)
    fresh.agent.signal(signal.SIGKILL)
    receiver = fresh.senders[1].wire()
    fresh.send([udp_flow(1)])
    assert receiver.drain() == [udp_flow(1)]
    receiver.close()
    assert json.dumps(fresh.tool.totals) == '{"received": 1, "monitored": 1}'


# --- the command line ---


def _refused(*words: str) -> tuple[int, str]:
    done = subprocess.run([binaries.find(TOOL), *words], capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr.splitlines()[0]


_ADDRESSES = (
    *(
        "",
        "tcp:1.2.3.4",
        "tcp:1.2.3.4:0",
        "tcp:1.2.3.4:65536",
        "tcp::1",
        "tcp:[::1:1",
        "tcp:host:1",
    ),
    *("unix:", "unix:" + "b" * 200, "ssl:1.2.3.4:1"),
)


@pytest.mark.parametrize("relay", ["", "unix:/a", *(f"unix:/a={one}" for one in _ADDRESSES),
                                   *(f"{one}=unix:/a" for one in _ADDRESSES)])  # fmt: skip
def test_relays_that_are_none(relay: str) -> None:
    status, says = _refused("--state", "/nowhere/switch", "--relay", relay)
    assert status == 2
    assert (
        "--relay: LISTEN=CONTROLLER or to:SWITCH=CONTROLLER, each tcp:IP:PORT or unix:PATH" in says
    )


def test_what_it_cannot_begin_with(tmp_path: Path) -> None:
    relay = f"--relay=unix:{tmp_path}/agent=unix:{tmp_path}/controller"
    assert _refused(relay) == (2, f"{TOOL}: --state is missing")
    assert _refused("--state", "/a") == (2, f"{TOOL}: --relay is missing")
    status, says = _refused("--state", f"{tmp_path}/switch", relay)
    assert (status, "is in no BPF file system" in says) == (1, True)
    with bpf_file_system(tmp_path) as pins, socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp:127.0.0.1:{taken.getsockname()[1]}"
        status, says = _refused("--state", f"{pins}/switch", f"--relay={address}=unix:/nowhere")
        assert (status, says) == (1, f"{TOOL}: cannot listen at {address}: Address already in use")


def test_a_switch_that_listens(fresh: Bench) -> None:
    """It is connected to, also after it was away; its flows stay."""
    listens = f"unix:{fresh.folder}/{BRIDGE}.mgmt"
    fresh.agent.stop()
    fresh.agent.start(relays=[f"to:{listens}=unix:{fresh.agent.controller}"])
    flows = fresh.ofctl("dump-flows", "--no-stats")
    controller = fresh.accepted()
    controller.ask(of.MODE_ON, FIVE.packed)
    assert fresh.tool.status["ports"] != []
    assert fresh.ofctl("dump-flows", "--no-stats") == flows
    controller.close()
    assert fresh.accepted().status().on, "a new channel, within half a second"
    assert fresh.agent.complaints == ""


def test_a_switch_that_does_not_listen(fresh: Bench) -> None:
    fresh.agent.stop()
    place = f"unix:{fresh.folder}/nobody"
    fresh.agent.start(relays=[f"to:{place}=unix:{fresh.agent.controller}"])
    time.sleep(1.2)  # two attempts
    said = f"cannot connect to the switch {place}: No such file or directory; trying again"
    assert fresh.agent.complaints.count(said) == 1
