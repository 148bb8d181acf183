"""Captures are read as scapy and Wireshark's tools read them, or refused with the place."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from support.sfcmon import traces

from sfcperf.dataplane import binaries
from sfcperf.errors import InputError, MeasurementError
from sfcperf.packets.pcap_file import frames, recorded
from sfcperf.vnfs.sfcmon.settings import Thresholds
from sfcperf.vnfs.sfcmon.simulation import TOOL, Simulation, TraceEnd, simulate

BEGIN_NS = 1_790_000_000 * 10**9
SOUND = [
    (BEGIN_NS + n, bytes(Ether() / IP(src=f"10.0.0.{n}") / UDP() / bytes(n))) for n in range(1, 9)
]
FCS = 0x24000001
"""Ethernet, with 2 words of a frame check sequence."""
wireshark = pytest.mark.skipif(
    shutil.which("capinfos") is None,
    reason="capinfos: not found on this machine; install the package tshark",
)


def file(folder: Path, content: bytes) -> Path:
    path = folder / "capture"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcap_files(tmp_path: Path, order: str) -> None:
    packets = [Ether() / IP() / UDP() / bytes([n]) for n in range(5)]
    for n, packet in enumerate(packets):
        packet.time = 1_790_000_000 + n / 8
    path = tmp_path / "a.pcap"
    for nano in (True, False):
        wrpcap(str(path), packets, nano=nano, endianness=order)
        found = list(frames(path))
        assert [frame for _, frame in found] == [bytes(packet) for packet in packets]
        assert [t for t, _ in found] == [BEGIN_NS + n * 125_000_000 for n in range(5)]
        assert list(recorded(path)) == found


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    "options", [{}, {"old": True}, {"unused": 220}, {"unused": 101, "old": True}], ids=str
)
def test_pcapng_files(tmp_path: Path, order: str, options: dict[str, Any]) -> None:
    content = traces.pcapng(SOUND, order=order, **options)
    assert list(frames(file(tmp_path, content))) == SOUND
    assert list(frames(file(tmp_path, content + traces.pcapng(SOUND)))) == SOUND * 2


@wireshark
@pytest.mark.parametrize("kind", ["pcap", "nsecpcap", "pcapng"])
def test_what_wireshark_converts(tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other"
    source = file(tmp_path, traces.pcap(SOUND))
    subprocess.run(["editcap", "-F", kind, source, other], check=True)
    found = list(frames(other))
    assert [frame for _, frame in found] == [frame for _, frame in SOUND]
    step = 1000 if kind == "pcap" else 1
    assert [at for at, _ in found] == [at // step * step for at, _ in SOUND]


def test_a_frame_check_sequence_is_no_part_of_a_frame(tmp_path: Path) -> None:
    checked = [(at, frame + b"FCS!") for at, frame in SOUND]
    assert list(frames(file(tmp_path, traces.pcap(checked, link=FCS)))) == SOUND


@pytest.mark.parametrize("write", [traces.pcap, traces.pcapng])
def test_a_last_frame_that_is_not_whole(tmp_path: Path, write: Any) -> None:
    content = write(SOUND)
    last = len(write(SOUND[:-1]))
    for end in range(last + 1, len(content)):
        path = file(tmp_path, content[:end])
        assert list(recorded(path)) == SOUND[:-1]
        with pytest.raises(InputError, match="ends within a packet") as caught:
            list(frames(path))
        assert caught.value.where == f"{path}, byte {last}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a capture"),
        (b"PK\3\4" * 10, "not a capture"),
        (struct.pack("<I", 0xA1B2C3D4), "not a capture"),
        (traces.pcap([], link=113), "frames of link type 113"),
        (traces.pcap([]).replace(b"\x02\x00\x04\x00", b"\x02\x00\x03\x00"), "version 2.3"),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = file(tmp_path, content)
    for read, kind in ((frames, InputError), (recorded, MeasurementError)):
        with pytest.raises(kind, match=message):
            read(path)
        with pytest.raises(kind, match="cannot be read"):
            read(tmp_path / "none.pcap")


def _split(capture: bytes) -> tuple[bytes, bytes]:
    """Before the first packet, and from it on."""
    at = len(traces.pcapng([]))
    return capture[:at], capture[at:]


@pytest.mark.parametrize(
    ("before", "then", "message"),
    [
        (traces.pcap(SOUND), struct.pack("<IIII", 1, 2, 1 << 31, 1 << 31), "a frame of 2147483648"),
        (*_split(traces.pcapng(SOUND, link=113)), "frames of link type 113"),
        (traces.pcapng(SOUND), struct.pack("<III", 5, 12, 16), "two lengths differ"),
        (traces.pcapng(SOUND), struct.pack("<III", 5, 11, 11), "a block of 11 bytes"),
    ],
)
def test_damage_has_a_place(tmp_path: Path, before: bytes, then: bytes, message: str) -> None:
    path = file(tmp_path, before + then)
    with pytest.raises(InputError, match=message) as caught:
        list(frames(path))
    assert caught.value.where == f"{path}, byte {len(before)}"


def _counted(paths: list[Path]) -> dict[str, int]:
    """Frames of each file that Wireshark reads to its end."""
    argv = ["capinfos", "-M", "-c", *map(str, paths)]
    said = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    bad = {path.name for path in paths if f'{path}"' in said.stderr or f"{path} " in said.stderr}
    counts: dict[str, int] = {}
    for part in said.stdout.split("File name:")[1:]:
        name, *lines = part.splitlines()
        number = next((line for line in lines if line.startswith("Number of packets")), None)
        if number is not None and Path(name.strip()).name not in bad:
            counts[Path(name.strip()).name] = int(number.split(":")[1])
    return counts


def _simulated(path: Path) -> int | None:
    """Frames; None if the simulator refuses, or says that the last one is not whole."""
    try:
        *_, end = simulate(path, Simulation(1e9, 0.1, Thresholds(0, 0, 0)))
    except InputError:
        return None
    assert isinstance(end, TraceEnd)
    return None if end.truncated else end.frames


def _read(path: Path) -> int | None:
    try:
        return sum(1 for _ in frames(path))
    except InputError:
        return None


@wireshark
@pytest.mark.skipif(not binaries.requirement(TOOL).met, reason=binaries.requirement(TOOL).detail)
@pytest.mark.parametrize("change", ["end", "byte"])
@pytest.mark.parametrize("count", [40, pytest.param(2000, marks=pytest.mark.exhaustive)])
def test_no_damage_makes_a_smaller_trace(tmp_path: Path, change: str, count: int) -> None:
    """Both readers have as many frames as Wireshark, or refuse. Of what Wireshark refuses for other
    reasons, such as the length of a comment, they may have all frames."""
    random = Random(change)
    sound = [traces.pcap(SOUND), traces.pcapng(SOUND), traces.pcapng(SOUND, old=True)]
    paths = [tmp_path / f"{number}.cap" for number in range(count)]
    for path in paths:
        content = bytearray(random.choice(sound))
        at = random.randrange(4, len(content))
        if change == "end":
            del content[at:]
        else:
            content[at] = random.randrange(256)
        path.write_bytes(content)
    wanted = _counted(paths)
    assert wanted
    for path in paths:
        allowed = (None, wanted.get(path.name, len(SOUND)))
        assert _read(path) in allowed, path
        assert _simulated(path) in allowed, path
