"""sfc-send between two namespaces, with scapy as judge of what arrives."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Ether
from support.network.wires import Lab, Port, ip, space
from support.tiers import examples

from sfcperf.dataplane import binaries
from sfcperf.hosts.base import CompletedCommand

pytestmark = pytest.mark.root
LAST = bytes.fromhex("ffffffffffff02000000000188b5") + b"last"
"""EtherType of local experiments (IEEE 802)."""


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Port]]:
    found = binaries.requirement("sfc-send")
    if not found.met:
        pytest.skip(f"sfc-send: {found.detail}; {found.remedy}")
    with Lab(tmp_path_factory.mktemp("send")) as lab:
        yield lab.join((lab.host("source"), "eth0"), (lab.host("sink"), "eth0"))


def framed(frames: Sequence[bytes]) -> bytes:
    return b"".join(struct.pack(">I", len(frame)) + frame for frame in frames)


def timed(frames: Sequence[bytes], gap_ns: int) -> bytes:
    return b"".join(
        struct.pack(">QI", number * gap_ns, len(frame)) + frame
        for number, frame in enumerate(frames)
    )


def send(port: Port, stdin: bytes, interface: str = "eth0", *options: str) -> CompletedCommand:
    argv = [port.host.program(binaries.find("sfc-send")), "--interface", interface, *options]
    return port.host.run(argv, stdin=stdin, timeout_s=10, check=False)


def arrive(ports: list[Port], frames: list[bytes]) -> CompletedCommand:
    """What the sender says of frames that came as they were given."""
    source, sink = ports
    wire = sink.wire()
    done = send(source, framed([*frames, LAST]))
    assert wire.receive_until(lambda frame: frame == LAST) == frames
    wire.close()
    return done


def test_frames_arrive_as_they_were_given(ports: list[Port]) -> None:
    source, sink = ports
    packet = Ether(src=source.mac, dst=sink.mac) / IP(src="10.0.0.1", dst="10.0.0.2") / ICMP()
    frames = [bytes(packet / f"number {number}".encode()) for number in range(5)]
    done = arrive(ports, frames)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == {"event": "sent", "frames": 6, "bytes": sum(map(len, frames)) + len(LAST)}
    assert done.stderr == b""


@examples(15, HealthCheck.function_scoped_fixture)
@given(payloads=st.lists(st.binary(max_size=1500), max_size=8))
def test_any_frames_arrive(ports: list[Port], payloads: list[bytes]) -> None:
    frames = [bytes.fromhex("02aabbccddee02000000000188b6") + payload for payload in payloads]
    done = arrive(ports, frames)
    assert json.loads(done.stdout)["frames"] == len(frames) + 1


def test_no_frame_is_sent_before_its_time(ports: list[Port], tmp_path: Path) -> None:
    source, sink = ports
    gap_s, count = 0.02, 8
    frames = [bytes.fromhex("02aabbccddee02000000000188b6") + bytes([n]) for n in range(count)]
    given = tmp_path / "frames"
    given.write_bytes(timed([*frames, LAST], round(gap_s * 1e9)))
    wire = sink.wire()
    started = time.monotonic()
    done = send(source, b"", "eth0", "--timed", "--input", str(given))
    assert time.monotonic() - started >= gap_s * count
    assert wire.receive_until(lambda frame: frame == LAST) == frames
    wire.close()
    assert json.loads(done.stdout)["frames"] == count + 1


def test_damaged_timed_input_is_told(ports: list[Port], tmp_path: Path) -> None:
    done = send(ports[0], timed([LAST], 1) + bytes(7), "eth0", "--timed")
    assert (done.returncode, json.loads(done.stdout)["frames"]) == (1, 1)
    assert b"the input ends within the length of frame 2" in done.stderr
    done = send(ports[0], b"", "eth0", "--input", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"cannot be read: No such file" in done.stderr


def test_captures_know_its_protocol(ports: list[Port]) -> None:
    """A filter by protocol on all interfaces sees what it sends, as on the way of real packets."""
    source, _ = ports
    frame = bytes(Ether(src=source.mac, dst="02:00:00:00:00:99", type=0x0800) / IP() / ICMP())
    argv = ["ip", "netns", "exec", space(source.host), "tcpdump", "-i", "any", "-y", "LINUX_SLL2"]
    capture = subprocess.Popen(
        [*argv, "-l", "-n", "-c", "1", "icmp"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert capture.stderr is not None
    while b"listening on" not in capture.stderr.readline():
        assert capture.poll() is None
    send(source, framed([frame]))
    said, _ = capture.communicate(timeout=10)
    assert b"ICMP echo request" in said


@pytest.mark.parametrize(
    ("stdin", "words", "sent"),
    [
        (b"", b"", 0),
        (framed([LAST])[:-1], b"the input ends within frame 1", 0),
        (framed([LAST]) + b"\0\0", b"the input ends within the length of frame 2", 1),
        (struct.pack(">I", 13) + b"x" * 13, b"frame 1 has 13 bytes; allowed: 14 to 65549", 0),
        (struct.pack(">I", 1 << 31), b"frame 1 has 2147483648 bytes", 0),
        (framed([LAST, LAST[:14] + bytes(1501)]), b"cannot send frame 2 (1515 bytes)", 1),
    ],
)
def test_damaged_input_is_told(ports: list[Port], stdin: bytes, words: bytes, sent: int) -> None:
    done = send(ports[0], stdin)
    assert words in done.stderr
    assert done.returncode == (1 if words else 0)
    assert json.loads(done.stdout)["frames"] == sent


def test_wrong_options_are_told(ports: list[Port]) -> None:
    for words, said in (
        ("", "--interface is missing"),
        ("--interface gone", "there is no interface gone here"),
        ("--interface a-name-that-is-too-long", "is not the name of an interface"),
        ("--interface eth0 more", "'more' is not an option"),
    ):
        argv = [str(binaries.find("sfc-send")), *words.split()]
        done = ports[0].host.run(argv, timeout_s=10, check=False)
        assert (done.returncode, done.stdout) == (2, b"")
        assert said in done.stderr.decode()
    ip("-n", space(ports[0].host), "link", "set", "lo", "down")
    done = send(ports[0], framed([LAST]), "lo")
    assert done.returncode == 1
    assert b"(18 bytes) on lo: Network is down" in done.stderr


def test_without_rights_it_says_what_it_needs(ports: list[Port]) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give the rights up")
    argv = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", "--reuid=65534"]
    program = str(binaries.find("sfc-send"))
    done = ports[0].host.run([*argv, program, "-i", "eth0"], timeout_s=10, check=False)
    if b"Permission denied" in done.stderr:
        pytest.skip(f"an ordinary user cannot reach {program}")
    assert done.returncode == 1
    assert b"it needs root, or CAP_NET_RAW" in done.stderr
