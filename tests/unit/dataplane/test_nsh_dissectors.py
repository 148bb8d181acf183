"""The NSH codec against dissectors that others wrote: scapy's and tshark's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.nsh import NSH, NSHTLV
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from sfcperf.dataplane.nsh import ETHERTYPE, UDP_PORT, ContextHeader, Nsh, VxlanGpe

PATHS = {"spi": st.integers(0, 0xFFFFFF), "si": st.integers(0, 255), "ttl": st.integers(0, 63)}
SAMPLES = [
    Nsh(42),
    Nsh(0xFFFFFF, si=1, ttl=0, oam=True, metadata=bytes(range(16))),
    Nsh(7, si=200, ttl=33, metadata=()),
    Nsh(8, metadata=(ContextHeader(0x1F6, 0x80, b"\xaa\xbb\xcc"), ContextHeader(1, 2))),
]
INNER = bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP() / UDP())


@given(metadata=st.binary(min_size=16, max_size=16), **PATHS)
def test_scapy_reads_md_type_1(spi: int, si: int, ttl: int, metadata: bytes) -> None:
    seen = NSH(Nsh(spi, si=si, ttl=ttl, metadata=metadata).encode() + INNER)
    assert (seen.ver, seen.oam, seen.ttl, seen.length, seen.mdtype) == (0, 0, ttl, 6, 1)
    assert (seen.nextproto, seen.spi, seen.si) == (3, spi, si)
    assert seen.context_header == metadata
    assert seen[Ether].dst == "02:00:00:00:00:02"


@given(data=st.lists(st.binary(max_size=30), max_size=4), **PATHS)
def test_scapy_reads_md_type_2(spi: int, si: int, ttl: int, data: list[bytes]) -> None:
    contexts = tuple(ContextHeader(number, 9, value) for number, value in enumerate(data))
    header = Nsh(spi, si=si, ttl=ttl, metadata=contexts)
    seen = NSH(header.encode() + INNER)
    assert (seen.mdtype, seen.spi, seen.si, seen.ttl) == (2, spi, si, ttl)
    assert seen.length * 4 == len(header.encode())
    read = [(tlv.class_, tlv.type, _value(tlv)) for tlv in seen.vlch or []]
    assert read == [(number, 9, value) for number, value in enumerate(data)]
    assert seen[Ether].dst == "02:00:00:00:00:02"


@given(words=st.lists(st.integers(0, 0xFFFFFFFF), max_size=3), **PATHS)
def test_what_scapy_writes_is_read(spi: int, si: int, ttl: int, words: list[int]) -> None:
    packet = NSH(mdtype=2, spi=spi, si=si, ttl=ttl, vlch=[NSHTLV(class_=5, type=6, metadata=words)])
    header, rest = Nsh.decode(bytes(packet) + b"payload")
    value = b"".join(word.to_bytes(4, "big") for word in words)
    assert header == Nsh(spi, si=si, ttl=ttl, metadata=(ContextHeader(5, 6, value),))
    assert rest == b"payload"


@given(vni=st.integers(0, 0xFFFFFF))
def test_scapy_reads_vxlan_gpe(vni: int) -> None:
    seen = VXLAN(VxlanGpe(vni).encode() + Nsh(42).encode() + INNER)
    assert (seen.vni, seen.NextProtocol, seen[NSH].spi) == (vni, 4, 42)


@pytest.mark.parametrize("tunnel", [False, True], ids=["nsh-eth", "nsh-vxlan-gpe"])
def test_tshark_reads_every_field(tmp_path: Path, tunnel: bool) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    capture = tmp_path / "nsh.pcap"
    wrpcap(str(capture), [_frame(header, tunnel) for header in SAMPLES])
    fields = ["version", "Obit", "ttl", "length", "mdtype", "nextproto", "spi", "si"]
    contexts = ["metadataclass", "metadatatype", "metadatalen"]
    rows = _tshark(capture, *(f"nsh.{field}" for field in [*fields, *contexts]), "ip.proto")
    assert len(rows) == len(SAMPLES)
    for header, row in zip(SAMPLES, rows, strict=True):
        numbers, protocols = row[: len(fields)], row[-1]
        words = len(header.encode()) // 4
        expected = [0, int(header.oam), header.ttl, words, header.md_type, 3, header.spi, header.si]
        assert [_number(text) for text in numbers] == expected
        assert protocols.endswith("17")  # the inner IP packet was found behind the header
    seen = [[_number(text) for text in cell.split(",")] for cell in rows[3][len(fields) : -1]]
    assert seen == [[0x1F6, 1], [0x80, 2], [3, 0]]


def _value(tlv: Packet) -> bytes:
    return b"".join(word.to_bytes(4, "big") for word in tlv.metadata)[: tlv.length]


def _frame(header: Nsh, tunnel: bool) -> Packet:
    packet = header.encode() + INNER
    if not tunnel:
        return Ether(type=ETHERTYPE) / Raw(packet)
    udp = UDP(sport=50000, dport=UDP_PORT)
    return Ether() / IP() / udp / Raw(VxlanGpe(7).encode() + packet)


def _tshark(capture: Path, *fields: str) -> list[list[str]]:
    argv = ["tshark", "-r", str(capture), "-T", "fields"]
    for field in fields:
        argv += ["-e", field]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return [line.split("\t") for line in done.stdout.splitlines()]


def _number(text: str) -> int:
    return {"True": 1, "False": 0}[text] if text in ("True", "False") else int(text, 0)
