"""Parsers of the C tools under libFuzzer, with AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw
from scapy.utils import PcapNgWriter, PcapWriter
from support.attacks.frames import UNPARSED
from support.sanitized import built, make_tools
from support.sdnmon.mutations import SETTINGS
from support.vnfs.sff_bench import TO

pytestmark = pytest.mark.exhaustive

FUZZED = Path(__file__).resolve().parents[3] / "build" / "fuzz"
RUNS = 300_000
FEWER = {"sfcmon-trace": 10_000}
"""Each opens a file, with a buffer of 1 MiB."""
LONGEST = 2000
"""Bytes of an input."""
MAC, OTHER = "02:00:00:00:00:01", "02:00:00:00:00:02"


def frames(_: Path) -> list[bytes]:
    """Of what the parsers know, and of what they do not."""
    four = IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2) / Raw(b"data")
    six = IPv6(src="2001:db8::1", dst="2001:db8::2")
    inner = Ether(src=MAC, dst=OTHER) / four
    nsh = [
        NSH(spi=1, si=9, context_header=bytes(16)) / inner,
        NSH(spi=1, si=9, mdtype=2, vlch=[], nextproto=1) / four,
        NSH(spi=1, si=9, nextproto=2, context_header=bytes(16)) / six / TCP(),
    ]
    tunnel = IP() / UDP(dport=4790)
    plain = [
        four,
        six / TCP(),
        six / IPv6ExtHdrHopByHop() / IPv6ExtHdrFragment(offset=1) / UDP(),
        Dot1Q(vlan=1) / Dot1Q(vlan=2) / four,
        # The outer headers alone, as far as the ports.
        Raw(bytes(tunnel)[:24]),
        *(tunnel / VXLAN(flags=0x0C, NextProtocol=4) / Raw(bytes(packet)) for packet in nsh),
    ]
    made = [Ether(src=MAC, dst=OTHER) / packet for packet in plain]
    made[4].type = 0x0800
    made += [Ether(src=MAC, dst=OTHER, type=0x894F) / packet for packet in nsh]
    return [*map(bytes, made), *(bytes(make(MAC, OTHER, four)) for make in UNPARSED.values())]


def after(*heads: bytes) -> Callable[[Path], list[bytes]]:
    """Frames behind a byte that chooses how they are parsed."""
    return lambda folder: [head + frame for head in heads for frame in frames(folder)]


def traces(folder: Path) -> list[bytes]:
    """Captures of both formats, lines and records."""
    made = []
    for name, kind in (("pcap", PcapWriter), ("pcapng", PcapNgWriter)):
        with kind(str(folder / name)) as writer:
            writer.write([Ether(frame) for frame in frames(folder)[:6]])
        made.append((folder / name).read_bytes())
    lines = b"ts_ns,src_ip,dst_ip,proto,src_port,dst_port,size_bytes\n1,192.0.2.1,::1,17,1,2,60\n"
    return [*made, lines, b"SFCMONR1" + bytes(56)]


def texts(*lines: str) -> Callable[[Path], list[bytes]]:
    return lambda _: [line.encode() for line in lines]


def requests(_: Path) -> list[bytes]:
    keys = [bytes(40), bytes(80)]
    kinds = range(13)
    experimenter = (0x004E534D).to_bytes(4, "big")
    contents = [b"", bytes(4), bytes(8), SETTINGS, *keys]
    return [
        bytes([4, 4, 0, 16 + len(content)])
        + bytes(4)
        + experimenter
        + kind.to_bytes(4, "big")
        + content
        for kind in kinds
        for content in contents
    ]


SEEDS: dict[str, Callable[[Path], Sequence[bytes]]] = {
    "firewall-rules": texts(
        "flow 1000 17 192.0.2.1 1 192.0.2.2 2", "source - 2001:db8::1", "lease 0"
    ),
    # Each kind of VLAN tag, once; two tags; any number.
    "packet-headers": after(b"\x11", b"\x12", b"\x14", b"\x23", b"\x87"),
    "pptmon-filter": texts("proto=tcp,src=10.0.0.0/24,dport=80", "dst=2001:db8::/32,sport=1"),
    "sdnmon-requests": requests,
    "sfcmon-places": texts(
        "eth0:nsh", "eth0:underlay,address=192.0.2.1", "eth0:rule,path=1/2,protocol=tcp,source=::/0"
    ),
    "sfcmon-trace": traces,
    "sff-tables": texts(
        f"node {MAC} address 192.0.2.1\ntrace 16\nport 1 interface e kind endpoint mtu 1500\n"
        "rule 1 path 1 255 protocol tcp source 10.0.0.0/8 destination-port 80-443\n",
        *(f"path 1 255 from 1 {action}\n" for action in TO.values()),
        f"tap a b on no\nstation {MAC} port 1\nroute 192.0.2.2 port 6\n",
    ),
}


@cache
def _built() -> Path:
    """Compiled if a source has changed since."""
    source = "int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n > 9; }"
    argv = ["clang", "-fsanitize=fuzzer", "-x", "c", "-", "-o", "/dev/null"]
    if subprocess.run(argv, input=source, capture_output=True, text=True).returncode:
        pytest.skip("clang has no libFuzzer: apt-get install libclang-rt-14-dev, or its version")
    make_tools("FUZZ=1", "fuzzers")
    return FUZZED / "bin"


@pytest.mark.parametrize("name", SEEDS)
def test_it_touches_nothing_that_it_may_not(name: str, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS[name](tmp_path)):
        (corpus / str(number)).write_bytes(seed)
    options = {"runs": FEWER.get(name, RUNS), "seed": 1, "max_len": LONGEST, "timeout": 60}
    # Parsers complain of most of it, which nobody reads.
    options |= {"close_fd_mask": 2, "artifact_prefix": f"{tmp_path}/"}
    argv = [
        _built() / f"fuzz-{name}",
        corpus,
        *(f"-{key}={value}" for key, value in options.items()),
    ]
    # Tools keep what they read of their command lines.
    clean = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        argv, capture_output=True, text=True, errors="replace", timeout=1800, env=clean
    )
    assert done.returncode == 0, done.stderr[-8000:]


def test_every_tool_is_compiled_with_sanitizers(tmp_path: Path) -> None:
    """Also the one with DPDK. A finding would end it."""
    folder = built()
    for tool in sorted(folder.iterdir()):
        done = subprocess.run([tool, "--help"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), tool.name
