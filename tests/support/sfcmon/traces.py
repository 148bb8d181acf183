"""Trace files for the simulator, and what is true of them by brute force."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from struct import pack

import pyarrow as pa
import pyarrow.parquet

from sfcperf.dataplane.nsh.packet import Flow, Packet
from sfcperf.vnfs.sfcmon.report import Score

COLUMNS = ("ts_ns", "src_ip", "dst_ip", "proto", "src_port", "dst_port", "size_bytes")
ETHERNET = 1


@dataclass(frozen=True)
class Row:
    """A packet of a CSV or Parquet file."""

    ts_ns: int
    src_ip: str
    dst_ip: str
    proto: int = 6
    src_port: int = 1000
    dst_port: int = 80
    size_bytes: int = 100

    def packet(self, spi: int = 1, si: int = 255) -> Packet:
        """On the path of packets that have no NSH."""
        src, dst = ip_address(self.src_ip), ip_address(self.dst_ip)
        flow = Flow(spi, si, src, dst, self.proto, self.src_port, self.dst_port)
        return Packet(flow, self.size_bytes)


def write_csv(path: Path, rows: Iterable[Row]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([getattr(row, name) for name in COLUMNS] for row in rows)
    return path


def write_parquet(path: Path, rows: Sequence[Row]) -> Path:
    table = pa.table({name: [getattr(row, name) for row in rows] for name in COLUMNS})
    pyarrow.parquet.write_table(table, path)
    return path


def pcap(frames: Iterable[tuple[int, bytes]], link: int = ETHERNET, order: str = "<") -> bytes:
    """A file with time stamps in nanoseconds."""
    head = pack(f"{order}IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link)
    records = [
        pack(f"{order}IIII", *divmod(ts_ns, 10**9), len(data), len(data)) + data
        for ts_ns, data in frames
    ]
    return head + b"".join(records)


def pcapng(
    frames: Iterable[tuple[int, bytes]],
    link: int = ETHERNET,
    order: str = "<",
    *,
    old: bool = False,
    unused: int | None = None,
) -> bytes:
    """A section with one interface, whose time stamps are nanoseconds. `old`: in obsolete packet
    blocks. `unused`: the link type of an interface before it, which has no packets."""
    section = _block(order, 0x0A0D0D0A, pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    resolution = pack(f"{order}HHB3x", 9, 1, 9) + pack(f"{order}HH", 0, 0)
    links = [link] if unused is None else [unused, link]
    interfaces = [_block(order, 1, pack(f"{order}HHI", each, 0, 0) + resolution) for each in links]
    head = pack(f"{order}HH", len(links) - 1, 0) if old else pack(f"{order}I", len(links) - 1)
    packets = [
        _block(
            order,
            2 if old else 6,
            head
            + pack(f"{order}IIII", ts >> 32, ts & 0xFFFFFFFF, len(data), len(data))
            + data
            + bytes(-len(data) % 4),
        )
        for ts, data in frames
    ]
    return section + b"".join(interfaces + packets)


def _block(order: str, kind: int, body: bytes) -> bytes:
    length = pack(f"{order}I", len(body) + 12)
    return pack(f"{order}I", kind) + length + body + length


def brute_force(rows: Sequence[Row], reported: Iterable[str], threshold: float) -> Score:
    """Of one window, with dictionaries."""
    counts = Counter(row.src_ip for row in rows)
    heavy = {src for src, count in counts.items() if count >= threshold * len(rows)}
    found = set(reported)
    return Score(
        true_positives=len(heavy & found),
        false_positives=len(found - heavy),
        false_negatives=len(heavy - found),
        true_negatives=len(set(counts) - heavy - found),
    )
