"""sfc-sdnmon-agent between an Open vSwitch and a controller: each message, seen by sfc-sdnmon."""

from __future__ import annotations

import dataclasses
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.contrib.openflow3 import OFPETExperimenter, OFPTExperimenter
from support.network.wires import eventually
from support.sdnmon import openflow as of
from support.sdnmon.five_tuple import FIVE, LAYOUT, keys_of, number
from support.sdnmon.frames import udp_flows
from support.sdnmon.openflow import Connection, Refused, Settings, packed_keys
from support.sdnmon.switch import BRIDGE, Bench, bench
from support.sdnmon.tool import HASH_KEY

from sfcperf.dataplane.sdnmon.fields import FIELDS
from sfcperf.dataplane.sdnmon.model import is_sampled

pytestmark = pytest.mark.root


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


def test_settings(off: tuple[Bench, Connection]) -> None:
    """They are those that the tool prints, and those of the status: from the start, and anew."""
    made, controller = off
    all_fields = {f.name: f.mask for f in FIELDS if f.name != "presence"}
    some = {"ipv6_src": (1 << 128) - (1 << 64), "eth_dst": 0xFFFFFFFFFFFF, "vlan_vid": 0x1FFF}
    bloom = Settings(
        some, mode=1, slots=64, interval_ms=64_000, ratio=1 << 30, capacity=1000, limit=900,
        threshold=800,
    )  # fmt: skip
    for settings in (FIVE, bloom, Settings(all_fields, slots=1, interval_ms=10)):
        kind = of.RESET_TABLE if controller.status().on else of.MODE_ON
        assert controller.ask(kind, settings.packed) == b""
        printed = made.tool.status
        assert {f["name"] for f in printed["fields"]} == {*settings.masks, "presence"}
        assert printed["mode"] == ("hash", "bloom")[settings.mode]
        assert printed["ratio"] == settings.ratio / of.RATIO_ONE
        assert printed["slots"] == settings.slots
        assert printed["interval_ms"] == settings.interval_ms / settings.slots
        assert printed["capacity"] == settings.capacity
        limit = settings.limit or settings.capacity
        assert printed["limit"] == limit
        assert printed["notify"] == settings.threshold
        assert {port["name"] for port in printed["ports"]} == set(made.names)
        found = controller.status()
        assert found.settings == dataclasses.replace(settings, secret=None, limit=limit)
        assert found.ports == made.names


def test_changes_of_settings(on: tuple[Bench, Connection]) -> None:
    made, controller = on
    assert controller.ask(of.SET_SAMPLING_RATIO, struct.pack("!Q", 1 << 31)) == b""
    assert controller.ask(of.SET_QUERY_TIME_INTERVAL, number(500)) == b""
    assert controller.ask(of.SET_OVERFLOW_NOTIFICATION_THRESHOLD, number(77)) == b""
    assert controller.ask(of.SET_LIMIT, number(99)) == b""
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
    wanted = {key for key in keys_of(range(100)) if is_sampled(key, HASH_KEY, 0.5)}
    assert set(controller.statistics().entries) == wanted


# --- entries ---


def test_entries(on: tuple[Bench, Connection]) -> None:
    made, controller = on
    added = struct.pack("!III", 10, 0, 0)
    assert controller.ask(of.ADD_ENTRIES, packed_keys(keys_of(range(10)))) == added
    assert len(made.tool.entries) == 10
    again = struct.pack("!III", 5, 10, 0)
    assert controller.ask(of.ADD_ENTRIES, packed_keys(keys_of(range(15)))) == again
    removed = struct.pack("!III", 5, 5, 0)
    assert controller.ask(of.REMOVE_ENTRIES, packed_keys(keys_of(range(10, 20)))) == removed
    made.send(udp_flows(range(20)))
    assert {key for key, _ in made.tool.counts(LAYOUT).items()} == set(keys_of(range(10)))
    assert made.tool.totals["excluded"] == 10
    controller.ask(of.SET_LIMIT, number(12))
    full = struct.pack("!III", 2, 10, 8)
    assert controller.ask(of.ADD_ENTRIES, packed_keys(keys_of(range(20)))) == full
    assert controller.ask(of.ADD_ENTRIES, packed_keys([], size=16)) == bytes(12)


def test_prune(on: tuple[Bench, Connection]) -> None:
    made, controller = on
    made.send(udp_flows(range(50)))
    controller.ask(of.SET_SAMPLING_RATIO, struct.pack("!Q", of.RATIO_ONE // 4))
    gone = sum(not is_sampled(key, HASH_KEY, 0.25) for key in keys_of(range(50)))
    assert controller.ask(of.PRUNE) == number(gone)
    assert len(made.tool.entries) == 50 - gone


# --- reading ---


def test_statistics_are_those_of_the_tool(on: tuple[Bench, Connection]) -> None:
    """Counts since the start, and those of each epoch."""
    made, controller = on
    controller.ask(of.SET_QUERY_TIME_INTERVAL, number(1000))
    controller.ask(of.ADD_ENTRIES, packed_keys(keys_of(range(5))))
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
    """That of the tool, which the agent finds also after the tool has changed something."""
    made, controller = on
    made.send([*udp_flows(range(10)), bytes(60)])
    found = controller.status()
    assert {name: n for name, n in found.totals.items() if n} == made.tool.totals
    assert (found.entries, found.notifications) == (10, 0)
    assert found.epoch >= 1
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
        controller.ask(of.ADD_ENTRIES, packed_keys(keys_of(range(start, start + 4000))))
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


# --- the channel ---


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
            for n in range(1500)
        )
        ofctl(listen, "add-flows", "-", stdin=flows)
        ofctl(listen, "add-group", "group_id=1,type=all,bucket=output:1")
        for what in (["dump-flows", "--no-stats"], ["dump-groups"], ["dump-ports-desc"], ["show"]):
            assert ofctl(listen, *what) == ofctl(direct, *what)
        assert len(ofctl(direct, "dump-flows", "--no-stats").splitlines()) >= 1500


@pytest.mark.exhaustive
def test_the_switchs_echo_passes_while_statistics_are_sent(on: tuple[Bench, Connection]) -> None:
    """The controller reads slowly, and is asked whether it lives."""
    made, controller = on
    controller.ask(of.RESET_TABLE, dataclasses.replace(FIVE, capacity=100_000, slots=64).packed)
    for start in range(0, 20_000, 4000):
        controller.ask(of.ADD_ENTRIES, packed_keys(keys_of(range(start, start + 4000))))
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
