"""pptmon on the oldest kernel that the README names: Linux 6.1 of Debian 12, in an emulator.

That kernel has no tcx, and a verifier that knows less than today's. Its checks of packets in all
forms are elsewhere (test_pptmon_packets*.py); here are those that a kernel decides upon.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from support.oldest_kernel import pptmon
from support.oldest_kernel.kernel import required
from support.oldest_kernel.machine import Machine
from support.oldest_kernel.network import (
    Capture,
    bridge,
    chain,
    checksum_errors,
    offloads_off,
    send,
)

from sfcperf.dataplane import binaries

pytestmark = [pytest.mark.exhaustive, pytest.mark.server]

ON_BRIDGE = "--vnf-id 1 --ingress i0 --egress o0"
ETHERNET = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
STREAM_MIB = 4


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine(required(), [binaries.find("pptmon")]) as machine:
        bridge(machine)
        chain(machine)
        yield machine


def test_it_is_that_kernel_and_lacks_nothing(machine: Machine) -> None:
    assert machine.check("uname -r").startswith("6.1.")
    status, said, complaint = pptmon.check(machine)
    assert (status, said["lacks"], said["attach"], complaint) == (0, [], "clsact", "")


@pytest.mark.parametrize(
    "form",
    [
        "--mode source --format paper --filter proto=tcp,src=10.0.0.0/24,dst=10.0.0.1,dport=2",
        "--mode source --format rfc --metrics time,delay",
        "--mode source --carrier nsh",
        "--mode transit",
        "--mode sink",
        "--mode source-sink --format rfc",
    ],
)
def test_its_verifier_accepts_every_mode(machine: Machine, form: str) -> None:
    running = pptmon.Pptmon(machine, "vnf", f"{form} {ON_BRIDGE}")
    assert running.wait_ready().attach == "clsact"
    assert all(name in pptmon.left_behind(machine) for name in ("clsact", "enter", "leave"))
    running.stop()
    assert pptmon.left_behind(machine) == ""


def _nsh(inner: bytes) -> Ether:
    """NSH of MD type 2 without metadata (RFC 8300 section 2): TTL 63, SPI 7, SI 255, Ethernet."""
    return ETHERNET.copy() / Raw(bytes.fromhex("0fc20203000007ff") + inner)


def _frames() -> list[bytes]:
    data = bytes(range(101))
    plain = [
        ETHERNET / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1000, dport=2000) / data,
        ETHERNET / IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=1000, dport=2000) / data,
        ETHERNET / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(options=[("NOP", None)] * 4) / data,
        ETHERNET / IPv6(src="fd00::1", dst="fd00::2") / TCP(flags="PA") / data,
    ]
    encapsulated = _nsh(bytes(plain[0]))
    encapsulated[Ether].type = 0x894F
    return [bytes(frame) for frame in [*plain, encapsulated]]


@pytest.mark.parametrize("layout", ["paper", "rfc"])
def test_packets_leave_as_they_came(machine: Machine, layout: str) -> None:
    frames = _frames()
    options = f"--mode source-sink {ON_BRIDGE} --period-ms 0 --format {layout}"
    running = pptmon.Pptmon(machine, "vnf", options)
    running.wait_ready()
    capture = Capture(machine, "receiver", "r0")
    send(machine, "sender", "s0", frames)
    samples = running.samples(len(frames))
    assert capture.stop() == frames
    counters = running.stop()
    assert [sample.carrier for sample in samples] == ["l4"] * 4 + ["nsh"]
    assert (samples[4].spi, samples[4].si) == (7, 255)
    assert [[hop.vnf_id for hop in sample.hops] for sample in samples] == [[1]] * 5
    assert counters["sampled"] == counters["reported"] == len(frames)


@pytest.mark.parametrize("offloads", [True, False], ids=["offloads", "no offloads"])
def test_streams_arrive_through_a_chain(machine: Machine, offloads: bool) -> None:
    if not offloads:
        offloads_off(machine)
    places = {"first": "source --period-ms 5", "second": "transit", "third": "sink"}
    running = [
        pptmon.Pptmon(
            machine, name, f"--mode {mode} --vnf-id {number} --ingress in --egress out"
        )
        for number, (name, mode) in enumerate(places.items(), 1)
    ]  # fmt: skip
    for each in running:
        each.wait_ready()
    _tcp_stream(machine)
    _udp_datagrams(machine)
    source, transit, sink = (each.stop() for each in running)
    samples = running[-1].samples()
    assert sum(checksum_errors(machine, name) for name in (*places, "client", "server")) == 0
    assert {sample.flow.proto for sample in samples if sample.flow} == {"tcp", "udp"}
    # TCP may send a segment into which the header fits with one hop, but not with three.
    whole = [sample for sample in samples if "truncated" not in sample.flags]
    assert {tuple(hop.vnf_id for hop in sample.hops) for sample in whole} == {(1, 2, 3)}, samples
    assert source["sampled"] >= sink["reported"] == len(samples)
    assert transit["added"] >= len(whole) > 10
    assert any("segment" in sample.flags for sample in samples) == offloads


def _tcp_stream(machine: Machine) -> None:
    said = machine.check(
        f"dd if=/dev/urandom of=/tmp/sent bs=1M count={STREAM_MIB} 2>/dev/null\n"
        "ip netns exec server socat -u TCP4-LISTEN:5000 OPEN:/tmp/received,creat,trunc & ear=$!\n"
        "until ip netns exec server netstat -ltn | grep -q 5000; do sleep 0.1; done\n"
        "ip netns exec client socat -u OPEN:/tmp/sent TCP4:10.0.3.2:5000; wait $ear\n"
        "cmp /tmp/sent /tmp/received && echo same"
    )
    assert said == "same\n"


def _udp_datagrams(machine: Machine) -> None:
    """One each 20 ms, so that the source's period is over for each of them."""
    said = machine.check(
        "ip netns exec server socat -u UDP4-RECV:6000 OPEN:/tmp/datagrams,creat,trunc & ear=$!\n"
        "until ip netns exec server netstat -lun | grep -q 6000; do sleep 0.1; done\n"
        "for n in $(seq 10); do echo datagram $n; sleep 0.02; done |"
        " ip netns exec client socat -u STDIN UDP4-SENDTO:10.0.3.2:6000\n"
        "sleep 0.5; kill $ear; cat /tmp/datagrams"
    )
    assert said.splitlines() == [f"datagram {number}" for number in range(1, 11)]


def test_killed_it_leaves_nothing(machine: Machine) -> None:
    running = pptmon.Pptmon(machine, "vnf", f"--mode source-sink {ON_BRIDGE}")
    running.wait_ready()
    assert "leave" in pptmon.left_behind(machine)
    running.kill()
    machine.run("while bpftool prog show | grep -q sched_cls; do sleep 0.2; done", 60)
    assert pptmon.left_behind(machine) == ""


def test_clsact_of_others_stays(machine: Machine) -> None:
    machine.check("tc -n vnf qdisc add dev i0 clsact")
    running = pptmon.Pptmon(machine, "vnf", f"--mode source {ON_BRIDGE}")
    running.wait_ready()
    running.stop()
    left = pptmon.left_behind(machine)
    machine.check("tc -n vnf qdisc del dev i0 clsact")
    assert left == "qdisc clsact ffff: dev i0 parent ffff:fff1"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "rmmod cls_bpf sch_ingress; echo /bin/false >/proc/sys/kernel/modprobe",
            "echo /sbin/modprobe >/proc/sys/kernel/modprobe",
            ("clsact", "sch_ingress", "cls_bpf"),
        ),
        ("umount -l /sys", "mount -t sysfs sys /sys; mount -t bpf bpf /sys/fs/bpf", ("btf",)),
    ],
    ids=["modules", "kernel types"],
)
def test_it_says_what_the_kernel_lacks(
    machine: Machine, before: str, after: str, words: tuple[str, ...]
) -> None:
    try:
        status, said, complaint = pptmon.check(machine, before)
    finally:
        machine.check(after)
    assert status == 3
    assert len(said["lacks"]) == 1
    assert all(word in said["lacks"][0] for word in words)
    assert said["lacks"][0] in complaint


@pytest.mark.parametrize(
    ("before", "option", "reason"),
    [
        ("", "--attach tcx", "tcx, which came with Linux 6.6"),
        ("rmmod cls_bpf sch_ingress; echo /bin/false >/proc/sys/kernel/modprobe", "", "clsact"),
    ],
    ids=["tcx", "modules"],
)
def test_it_does_not_start_there(machine: Machine, before: str, option: str, reason: str) -> None:
    answer = machine.run(
        f"{before}\nip netns exec vnf pptmon --mode sink {ON_BRIDGE} {option}; status=$?\n"
        "echo /sbin/modprobe >/proc/sys/kernel/modprobe; exit $status"
    )
    assert answer.status == 3
    assert reason in answer.said
    assert pptmon.left_behind(machine) == ""


def test_a_locked_down_kernel_is_refused() -> None:
    parameters = "lockdown=confidentiality"
    with Machine(required(), [binaries.find("pptmon")], parameters=parameters) as machine:
        status, said, _ = pptmon.check(machine, "mount -t securityfs security /sys/kernel/security")
    assert status == 3
    assert "locked down" in said["lacks"][0]
