"""The programs of SDN-Mon against the reference model and golden vectors. The kernel runs them on
frames by itself; ports are in test_ports.py."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scipy.stats import binom
from support.sdnmon.frames import ETHERNET, forms, random_frames, udp_flow, udp_flows
from support.sdnmon.kernel import Program
from support.sdnmon.tool import (
    FIVE_TUPLE,
    HASH_KEY,
    Tool,
    bpf_file_system,
    key_of,
    layout_of,
    switched,
)

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sdnmon import model
from sfcperf.dataplane.sdnmon.fields import FIELDS, NAMES, Layout
from sfcperf.dataplane.sdnmon.model import Monitor, counts, is_sampled

pytestmark = pytest.mark.root
VECTORS = json.loads((Path(model.__file__).parent / "vectors.json").read_text())
FORMS = forms()
BOTH = ("arrive", "arrive_xdp")
"""Programs: frames come as tc has them, and as XDP."""


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Tool]:
    with switched(tmp_path) as made:
        yield made


def _agree(tool: Tool, monitor: Monitor) -> None:
    """Table and totals are those of the model."""
    assert tool.totals == {name: count for name, count in monitor.totals.items() if count}
    assert tool.counts(monitor.layout) == counts(monitor)
    assert tool.status["entries"] == len(monitor.table)


def _fed(tool: Tool, layout: Layout, frames: list[bytes]) -> Monitor:
    """The model, which has seen what both programs have."""
    monitor = Monitor(layout, HASH_KEY)
    for program in BOTH:
        seen = tool.feed(frames, program)
        assert len(seen) > 0.9 * len(frames)
        for frame in seen:
            monitor.receive(frame)
    return monitor


# --- reading ---


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["fields"])
def test_golden_vectors(tool: Tool, case: dict[str, Any]) -> None:
    tool.on(case["fields"])
    answers = {frame["frame"]: frame.get("key", frame.get("total")) for frame in case["frames"]}
    layout = layout_of(case["fields"])
    wanted = Counter[str]()
    for program in BOTH:
        seen = tool.feed(map(bytes.fromhex, answers), program)
        assert len(seen) >= len(case["frames"]) - 1
        wanted.update(answers[frame.hex()] for frame in seen)
        found = {key.hex(): packets for key, (packets, _) in tool.counts(layout).items()}
        malformed = {k: n for k, n in tool.totals.items() if k not in ("received", "monitored")}
        assert found | malformed == wanted, program


@pytest.mark.parametrize(
    "fields",
    [
        *(pytest.param(name, marks=pytest.mark.exhaustive) for name in NAMES),
        FIVE_TUPLE,
        "eth_src,eth_dst,eth_type,vlan_vid,vlan_pcp",
        "nsh_spi,nsh_si,ipv4_src,ipv6_src,tp_dst",
        ",".join(NAMES),
    ],
)
def test_frames_of_all_forms_are_read_as_the_model_reads_them(tool: Tool, fields: str) -> None:
    tool.on(fields)
    _agree(tool, _fed(tool, layout_of(fields), [*FORMS.values(), *random_frames(1, 2000)]))


@pytest.mark.gate_runs(2)
@pytest.mark.parametrize("seed", range(6))
def test_random_fields_and_masks(tool: Tool, seed: int) -> None:
    draw = random.Random(seed)
    chosen = draw.sample([f for f in FIELDS if f.name in NAMES], draw.randrange(1, 12))
    masks = {f.name: draw.randrange(1, f.mask + 1) for f in chosen if f.bits not in (48, 128, 32)}
    masks |= {f.name: f.mask for f in chosen if f.name not in masks}
    prefixes = {f.name: draw.randrange(1, f.bits + 1) for f in chosen if f.name[:2] == "ip"
                and f.bits in (32, 128)}  # fmt: skip
    for f in chosen:
        if f.name in prefixes:
            masks[f.name] = f.mask >> (f.bits - prefixes[f.name]) << (f.bits - prefixes[f.name])
    words = [
        f"{f.name}/{prefixes[f.name]}" if f.name in prefixes
        else f.name if f.bits == 48 else f"{f.name}/{masks[f.name]}"
        for f in chosen
    ]  # fmt: skip
    tool.on(",".join(words))
    _agree(tool, _fed(tool, Layout(masks), random_frames(seed + 50, 2000)))


def test_a_frame_that_stands_for_several_packets(tool: Tool) -> None:
    """Each of them has the headers. Frames of user space do not say how many they stand for."""
    tool.on(FIVE_TUPLE)
    wanted = {}
    with Program(tool.state / "current" / "arrive") as program:
        for number, gso, data, packets in (
            (1, (44, 69), 3000, 44),
            (2, (0, 69), 3000, 44),
            (3, (2, 100), 150, 2),
        ):
            ends = IP(src=f"10.0.0.{number}", dst="10.0.0.9") / TCP()
            frame = bytes(ETHERNET / ends / (b"x" * data))
            program.run(frame, gso=gso)
            wanted[f"10.0.0.{number}"] = (packets, len(frame) + (packets - 1) * 54)
    found = {e["flow"]["ipv4_src"]: (e["packets"], e["bytes"]) for e in tool.entries}
    assert found == wanted
    assert tool.totals == {"received": 90, "monitored": 90}


# --- sampling ---


@pytest.mark.parametrize(("mode", "ratio"), [("hash", 0.1), ("bloom", 0.5), ("hash", 0.9)])
def test_the_realised_ratio_is_within_its_binomial_interval(
    tool: Tool, mode: str, ratio: float
) -> None:
    flows = 4000
    tool("on", "--fields", FIVE_TUPLE, "--mode", mode, "--ratio", str(ratio))
    tool.feed(udp_flows(range(flows)))
    tool.feed(udp_flows(range(flows)))
    low, high = binom.interval(1 - 1e-7, flows, ratio)
    entries = tool.entries
    assert low <= len(entries) <= high
    # Each flow was either monitored from its first packet on, or not at all.
    assert {entry["packets"] for entry in entries} == {2}
    assert tool.totals == {
        "received": 2 * flows,
        "monitored": 2 * len(entries),
        "unsampled": 2 * (flows - len(entries)),
    }


def test_switches_with_one_key_sample_the_same_flows(tmp_path: Path) -> None:
    with switched(tmp_path) as one, switched(tmp_path) as other, switched(tmp_path) as foreign:
        for tool in (one, other):
            tool.on("ipv4_src", "--ratio", "0.3")
        foreign("on", "--fields", "ipv4_src", "--ratio", "0.3")
        frames = udp_flows(range(2000))
        one.feed(frames)
        other.feed(reversed(frames))
        foreign.feed(frames)
        layout = layout_of("ipv4_src")
        keys = [set(tool.counts(layout)) for tool in (one, other, foreign)]
    assert keys[0] == keys[1] != keys[2]
    assert all(is_sampled(key, HASH_KEY, 0.3) for key in keys[0])


def test_a_ratio_that_changes_samples_more_or_fewer_of_the_same_flows(tool: Tool) -> None:
    frames = udp_flows(range(2000))
    layout = layout_of(FIVE_TUPLE)
    tool.on(FIVE_TUPLE, "--ratio", "0")
    found = {}
    for ratio in (0.0, 0.2, 0.6, 0.4):
        tool("set", "--ratio", str(ratio))
        tool.feed(frames)
        found[ratio] = {key_of(layout, entry["flow"]) for entry in tool.entries if entry["sampled"]}
    assert set() == found[0.0] < found[0.2] < found[0.4] < found[0.6]
    # Those of 0.6 that 0.4 leaves out were not counted again, and go when this is asked for.
    counted = {entry["packets"] for entry in tool.entries if not entry["sampled"]}
    assert counted == {1}
    tool("prune")
    assert set(tool.counts(layout)) == found[0.4]
    assert tool.status["entries"] == len(found[0.4])
    tool("set", "--ratio", "1")
    tool.feed(frames)
    assert len(tool.entries) == len(frames)


# --- entries that the controller adds and removes ---


def _flow(number: int) -> str:
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return f"ipv4_src={address},ipv4_dst=10.9.9.9,ip_proto=17,tp_src=1000,tp_dst=53"


def test_added_flows_are_monitored_whatever_sampling_says(tool: Tool) -> None:
    """In mode `bloom`; random changes are in the other one."""
    tool.on(FIVE_TUPLE, "--ratio", "0", "--mode", "bloom")
    frames = udp_flows(range(100))
    tool.feed(frames)
    assert tool("add", _flow(3), _flow(4))[0]["flows"] == 2
    assert tool("add", _flow(4))[0]["flows"] == 0
    tool.feed(frames)
    found = {entry["flow"]["ipv4_src"]: entry["packets"] for entry in tool.entries}
    assert found == {"10.0.0.3": 1, "10.0.0.4": 1}
    assert all(entry["added"] for entry in tool.entries)


@pytest.mark.parametrize("mode", ["hash", "bloom"])
def test_removed_flows_are_excluded_until_they_are_added(tool: Tool, mode: str) -> None:
    tool.on(FIVE_TUPLE, "--mode", mode)
    frames = udp_flows(range(200))
    tool.feed(frames)
    gone = range(50, 60)
    answer = tool("remove", *(_flow(number) for number in gone), _flow(9999))[0]
    assert answer == {"event": "changed", "flows": 10, "entries": 190}
    tool.feed(frames)
    left = {entry["flow"]["ipv4_src"]: entry["packets"] for entry in tool.entries}
    assert left == {f"10.0.0.{number}": 2 for number in range(200) if number not in gone}
    assert tool.totals["excluded" if mode == "hash" else "unsampled"] == 10
    tool("add", _flow(55))
    tool.feed(frames)
    assert {e["flow"]["ipv4_src"]: e["packets"] for e in tool.entries}["10.0.0.55"] == 1


def test_random_changes_agree_with_the_model(tool: Tool) -> None:
    draw = random.Random(7)
    layout = layout_of(FIVE_TUPLE)
    monitor = Monitor(layout, HASH_KEY, ratio=0.5, limit=60)
    tool.on(FIVE_TUPLE, "--ratio", "0.5", "--limit", "60")
    for _ in range(25):
        numbers = draw.sample(range(150), 40)
        for frame in udp_flows(numbers):
            monitor.receive(frame)
        tool.feed(udp_flows(numbers))
        chosen = draw.sample(range(150), 3)
        changes = {"add": monitor.add, "remove": monitor.remove}
        word = draw.choice(list(changes))
        for number in chosen:
            flow = layout.key(
                {"ipv4_src": 0x0A000000 + number, "ipv4_dst": 0x0A090909, "ip_proto": 17,
                 "tp_src": 1000, "tp_dst": 53}, ("ipv4", "ip", "ports"),
            )  # fmt: skip
            full = word == "add" and flow not in monitor.table and len(monitor.table) >= 60
            changes[word](flow)
            done = tool.run(word, _flow(number))
            assert done.returncode == full, done.stderr
        if draw.random() < 0.3:
            monitor.ratio = draw.choice((0.1, 0.5, 1.0))
            tool("set", "--ratio", str(monitor.ratio))
        if draw.random() < 0.3:
            monitor.prune()
            tool("prune")
        _agree(tool, monitor)


# --- a full table, and notifications ---


def test_a_full_table_counts_what_it_does_not_take(tool: Tool) -> None:
    tool.on(FIVE_TUPLE, "--capacity", "100", "--limit", "80")
    frames = udp_flows(range(150))
    tool.feed(frames)
    assert len(tool.entries) == tool.status["entries"] == 80
    assert tool.totals == {"received": 150, "monitored": 80, "overflowed": 70}
    refused = tool.run("add", _flow(149))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the monitoring table is full: 80 entries" in refused.stderr
    tool("add", _flow(79))  # which is there, and becomes an added one
    assert [e["flow"]["ipv4_src"] for e in tool.entries if e["added"]] == ["10.0.0.79"]
    tool("set", "--limit", "100")
    tool.feed(frames)
    assert tool.status["entries"] == 100


def test_one_notification_per_crossing(tool: Tool) -> None:
    tool.on(FIVE_TUPLE, "--notify", "100")
    tool.feed(udp_flows(range(100)))
    assert tool("events") == []
    tool.feed(udp_flows(range(150)))
    (event,) = tool("events")
    assert (event["entries"], event["notify"]) == (101, 100)
    # Not far enough below, so that coming and going at the limit is one crossing.
    tool("remove", *(_flow(number) for number in range(55)))
    tool.feed(udp_flows(range(200, 215)))
    assert tool.status["entries"] == 110
    assert tool("events") == []
    tool("remove", *(_flow(number) for number in range(200, 215)), *map(_flow, range(55, 60)))
    assert tool.status["entries"] == 90
    tool.feed(udp_flows(range(300, 320)))
    assert [event["entries"] for event in tool("events")] == [101]
    # A threshold that is exceeded already is told at once.
    tool("set", "--notify", "50")
    assert [event["entries"] for event in tool("events")] == [110]
    tool("set", "--notify", "0")
    assert tool("events") == []
    assert tool.status["notifications"] == 3


# --- epochs ---


def test_packets_are_in_the_slots_of_their_epochs(tool: Tool) -> None:
    """Sums are exact; an epoch is between those of before and after the packets."""
    tool.on(FIVE_TUPLE, "--slots", "4", "--query-interval-ms", "400")
    sent: list[tuple[int, int, int]] = []
    for burst in range(1, 9):
        before = tool.status["epoch"]
        tool.feed([udp_flow(1, 100)] * burst)
        sent.append((before, tool.status["epoch"], burst))
        time.sleep(0.06)
        head, entry, _ = tool("entries")
        newest, oldest = head["epoch"], head["oldest_epoch"]
        found = {epoch: packets for epoch, packets, _ in entry["intervals"]}
        assert newest - oldest <= 3
        assert all(oldest <= epoch <= newest for epoch in found)
        assert all(data == 142 * packets for _, packets, data in entry["intervals"])
        surely = sum(count for first, last, count in sent if oldest <= first and last <= newest)
        perhaps = sum(count for first, last, count in sent if last >= oldest)
        assert surely <= sum(found.values()) <= perhaps
        assert entry["packets"] == sum(count for *_, count in sent)


def test_another_interval_begins_new_epochs(tool: Tool) -> None:
    tool.on(FIVE_TUPLE, "--slots", "2", "--query-interval-ms", "60000")
    tool.feed([udp_flow(1)] * 5)
    before = tool.status["epoch"]
    tool("set", "--query-interval-ms", "120000")
    tool.feed([udp_flow(1)] * 3)
    head, entry, _ = tool("entries")
    assert head["interval_ms"] == 60000
    assert head["oldest_epoch"] == head["epoch"] == before + 1
    assert entry["intervals"] == [[before + 1, 3, 3 * len(udp_flow(1))]]
    assert entry["packets"] == 8


# --- the process ---


def test_reset_takes_other_fields_forgets_and_keeps_the_secret(tool: Tool) -> None:
    tool.on(FIVE_TUPLE, "--notify", "1", "--ratio", "0.5")
    tool.feed(udp_flows(range(200)))
    half = ("--ratio", "0.5")
    tool("reset", "--fields", "ipv4_src", "--slots", "2", "--query-interval-ms", "1000", *half)
    assert tool.entries == []
    tool.feed(udp_flows(range(200)))
    assert {entry["packets"] for entry in tool.entries} == {1}
    sampled = set(tool.counts(layout := layout_of("ipv4_src")))
    keys = {layout.key({"ipv4_src": 0x0A000000 + n}, ("ipv4",)) for n in range(200)}
    assert sampled == {key for key in keys if is_sampled(key, HASH_KEY, 0.5)}
    # What was not read yet is still told.
    assert [event["entries"] for event in tool("events")] == [2]


def test_a_large_table_is_read_whole(tool: Tool) -> None:
    flows = 50_000
    tool.on("ipv4_src", "--capacity", "200000", "--benchmark", str(flows))
    with Program(tool.state / "current" / "varied") as program:
        program.run(udp_flow(0), repeat=4 * flows)
    entries = tool.entries
    assert len(entries) == tool.status["entries"] == flows
    assert {entry["packets"] for entry in entries} == {4}
    assert len({entry["flow"]["ipv4_src"] for entry in entries}) == flows


def test_flows_that_are_refused(tool: Tool) -> None:
    tool.on(FIVE_TUPLE)
    for flow, problem in (
        ("ipv6_src=fd00::1", "'ipv6_src' is no field of this table"),
        ("ipv4_src", "ipv4_src: one value, such as ipv4_src=10.0.0.1"),
        ("ipv4_src=10.0.0.1,ipv4_src=10.0.0.2", "one value"),
        ("tp_src=65536", "tp_src: one value"),
        ("tp_src=-1", "tp_src: one value"),
        ("", "'' is no field of this table"),
    ):
        done = tool.run("add", _flow(1), flow)
        assert (done.returncode, problem in done.stderr) == (1, True), done.stderr
    assert tool.entries == []


def test_words_that_are_refused_leave_nothing(tmp_path: Path) -> None:
    off = "monitoring is off"
    with bpf_file_system(tmp_path) as folder:
        for words, status, problem in (
            ("on", 1, "--fields is missing"),
            ("on --fields ipv4", 1, "'ipv4' is no monitoring match field: ipv6_src, "),
            ("on --fields presence", 1, "'presence' is no monitoring match field"),
            ("on --fields ipv4_src,ipv4_src", 1, "the field 'ipv4_src' is named twice"),
            ("on --fields ipv4_src/33", 1, "'33' is no mask of ipv4_src"),
            ("on --fields nsh_spi/0x1ffffff", 1, "is no mask of nsh_spi"),
            ("on --fields tp_src/0", 1, "or has no bit set"),
            ("on --fields eth_src/ff:ff", 1, "'ff:ff' is no mask of eth_src"),
            ("on --fields tp_src --key 12", 1, "--key: 16 hexadecimal digits"),
            ("on --fields tp_src --query-interval-ms 49", 1, "at least 10 for each"),
            ("on --fields tp_src --capacity 5 --limit 6", 1, "at most the capacity"),
            ("on --fields tp_src no-such-port", 1, "no-such-port"),
            ("on --fields tp_src --ratio 1.5", 2, "--ratio: a number from 0 to 1"),
            *(
                (words, 1, off)
                for words in ("status", "entries", "events", "reset --fields tp_src")
            ),
            ("add", 2, "add: of what?"),
            ("off now", 2, "off: 'now' is one word too many"),
            ("start", 2, "'start' is no command"),
            ("", 2, "a command is missing"),
        ):
            done = Tool(folder / "switch").run(*words.split())
            assert (done.returncode, problem in done.stderr) == (status, True), (words, done.stderr)
            assert not (folder / "switch").exists()
        argv = [str(binaries.find("sfc-sdnmon")), "on", "--fields", "tp_src"]
        for place in ("switch", "switch/", f"{folder}/switch/"):
            subprocess.run([*argv, "--state", place], cwd=folder, check=True)
            Tool(folder / "switch")("off")
    done = Tool(tmp_path / "switch").run("on", "--fields", "tp_src")
    assert (done.returncode, "is in no BPF file system" in done.stderr) == (1, True)
    assert not (tmp_path / "switch").exists()


def test_the_reason_is_said_alone(tool: Tool) -> None:
    tool.on(FIVE_TUPLE)
    (tool.state / "ports").mkdir()
    (tool.state / "ports" / "tcx_1").mkdir()  # which is no link
    done = tool.run("reset", "--fields", "tp_src")
    assert (done.returncode, "cannot attach to interface 1: " in done.stderr) == (1, True)
    assert "cannot put new programs in place" not in done.stderr
    (tool.state / "ports" / "tcx_1").rmdir()
    (tool.state / "current" / "events").unlink()
    done = tool.run("events")
    assert (done.returncode, "current/events: No such file" in done.stderr) == (1, True)
    assert "monitoring is off" not in done.stderr


def test_a_change_while_another_process_is_killed(tool: Tool) -> None:
    """Whenever a process is killed, the next one finds the table whole, and its entries counted."""
    draw = random.Random(3)
    tool.on(FIVE_TUPLE)
    flows = [_flow(number) for number in range(400)]
    argv = [str(binaries.find("sfc-sdnmon")), "--state", str(tool.state)]
    for _ in range(15):
        words = draw.choice((["add", *flows], ["remove", *flows], ["reset", "-f", FIVE_TUPLE]))
        with subprocess.Popen([*argv, *words], stdout=subprocess.PIPE) as process:
            time.sleep(draw.random() * 0.02)
            process.kill()
        assert tool.status["entries"] == len(tool.entries)
        assert not (tool.state / "next").exists()
