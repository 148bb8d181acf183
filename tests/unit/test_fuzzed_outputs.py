"""Mutated captures, lines of pptmon and outputs of tools: only errors that are expected, in bounded
time and memory."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.fuzzing import fuzz

from sfcperf.active.ab import output as ab_output
from sfcperf.active.ditg import output as ditg_output
from sfcperf.active.dns import output as dnsperf_output
from sfcperf.active.httperf import output as httperf_output
from sfcperf.active.iperf3 import output as iperf3_output
from sfcperf.active.ping import output as ping_output
from sfcperf.active.pktgen import output as pktgen_output
from sfcperf.dataplane.pptmon import events
from sfcperf.errors import MeasurementError
from sfcperf.packets import tcpdump_output
from sfcperf.packets.identity import identity
from sfcperf.packets.marked import mark_of
from sfcperf.packets.pcap_file import recorded
from sfcperf.vnfs.dpi import ndpi_output

GOLDEN = Path(__file__).parent / "active" / "golden"
WORDS = [
    b"0", b"-1", b"1e999", b"NaN", b"Infinity", b"9" * 400, b"[", b"{", b"null", b'"', b"\n", b" ",
    b"time=", b"icmp_seq=", b"ms", b",", b":", b"%", b"\x1b[2J", b"\xff", b"\x00", b'"event": ',
]  # fmt: skip
SAMPLE = {
    "event": "sample", "ts_ns": 1, "metric": "time", "own_time_ns": 2, "flags": ["truncated"],
    "flow": {"proto": "tcp", "src": "10.0.0.1", "sport": 1, "dst": "10.0.0.2", "dport": 2},
    "hops": [{"vnf_id": 1, "time_us": 12}], "sample": 17, "carrier": "l4", "format": "rfc",
}  # fmt: skip
LINES = [
    SAMPLE,
    {"event": "counters", "packets": 5},
    {"event": "failed", "error": "no such interface"},
]
NDPI = """  IP packets:   12            of 15 packets total
    DNS    packets: 4             bytes: 300           flows: 2
"""
TCPDUMP = """tcpdump: listening on eth0, link-type EN10MB (Ethernet), snapshot length 96 bytes
10 packets captured
12 packets received by filter
0 packets dropped by kernel
"""


def outputs(tool: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob(f"{tool}-*"))]


def of_text(parse: Callable[[str], Any]) -> Callable[[bytes], Any]:
    return lambda content: parse(content.decode(errors="replace"))


PARSERS: dict[str, tuple[Callable[[bytes], Any], list[bytes], type[Exception]]] = {
    "pktgen": (of_text(pktgen_output.parse_calibration), outputs("pktgen"), MeasurementError),
    "ping": (of_text(ping_output.parse), outputs("ping"), MeasurementError),
    "ab": (of_text(ab_output.parse), outputs("ab"), MeasurementError),
    "ab-percentiles": (
        of_text(ab_output.parse_percentiles),
        outputs("ab-percentiles"),
        MeasurementError,
    ),
    "ditg": (
        of_text(lambda text: ditg_output.parse(text, "the log")),
        outputs("ditg"),
        MeasurementError,
    ),
    "dnsperf": (of_text(dnsperf_output.parse), outputs("dnsperf"), MeasurementError),
    "httperf": (of_text(httperf_output.parse), outputs("httperf"), MeasurementError),
    "iperf3": (of_text(iperf3_output.parse), outputs("iperf3"), MeasurementError),
    "tcpdump": (of_text(tcpdump_output.parse), [TCPDUMP.encode()], MeasurementError),
    "ndpi": (of_text(ndpi_output.counters), [NDPI.encode()], MeasurementError),
    "pptmon": (of_text(events.parse), [json.dumps(n).encode() for n in LINES], events.EventError),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("tool", PARSERS)
def test_mutated_outputs(tool: str) -> None:
    parse, sound, error = PARSERS[tool]
    fuzz(parse, sound, WORDS, error, count=1_000)


def capture(*packets: bytes) -> bytes:
    """A pcap file (pcap-savefile(5)) with time stamps in nanoseconds."""
    records = [struct.pack("<IIII", 1, 2, len(p), len(p)) + p for p in packets]
    return struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1) + b"".join(records)


MAC = bytes(12)
IPV4 = bytes.fromhex("45000030000100004006") + bytes(2) + b"\x0a\x00\x00\x01\x0a\x00\x00\x02"
IPV6 = b"\x60\0\0\0\0\x08\x11\x40" + bytes(32)
FRAMES = [
    MAC + b"\x08\x00" + IPV4 + bytes(28),
    MAC + b"\x86\xdd" + IPV6 + bytes(8),
    MAC + b"\x81\x00\0\x01\x08\x00" + IPV4.replace(b"\x40\x06", b"\x40\x01") + bytes(28),
]
WORDS_OF_PACKETS = [
    b"\x08\x00", b"\x86\xdd", b"\x81\x00", b"\x88\xa8", b"\x00", b"\xff\xff\xff\xff", b"\x4f",
    b"\x00\x00\x00\x01", b"\x3c", b"\x2c", b"\x2b", b"\x89\x4f",
]  # fmt: skip


@pytest.mark.exhaustive
def test_mutated_captures(tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"

    def read(content: bytes) -> None:
        path.write_bytes(content)
        for _, frame in recorded(path):
            identity(frame)
            mark_of(frame)

    sound = [capture(*FRAMES), capture(), *map(capture, FRAMES)]
    fuzz(read, sound, WORDS_OF_PACKETS, MeasurementError, count=4_000)
