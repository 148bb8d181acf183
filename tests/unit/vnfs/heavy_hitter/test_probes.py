"""The probes of heavy_hitter's engines: a trace in, metrics out, as the model has them."""

from __future__ import annotations

import ipaddress
import json
import os
import random
import struct
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from support.probing import made, values
from support.vnfs.heavy_hitter import write_pcap

from sfcperf.active.base import Probe, ProbeResult
from sfcperf.active.heavy_hitter import HeavyHitterAccuracy, HeavyHitterThroughput
from sfcperf.dataplane import binaries
from sfcperf.dataplane.nsh.packet import Flow
from sfcperf.errors import CannotBeMeasured, InputError, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.vnfs.heavy_hitter.model import Action, HeavyHitters, Settings, row_key

NO_CHAIN = cast(Deployment, None)
"""It is not looked at."""
NS_PER_MS = 10**6
MICROSOFT_KEY = bytes.fromhex(
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"
)


def packet(number: int) -> Packet:
    """Of flow `number`."""
    ports = UDP(sport=1000 + number, dport=80)
    if number % 5 == 0:
        return IPv6(src=f"fd00::{number + 1:x}", dst="fd00::1") / ports
    return IP(src=f"10.0.{number >> 8}.{number & 255}", dst="10.1.0.1") / ports / Raw(b"x" * 9)


@cache
def frame_of(number: int) -> bytes:
    """Scapy makes them slowly."""
    return bytes(Ether(dst="02:00:00:00:00:01") / packet(number))


def zipf(flows: int, packets: int) -> list[int]:
    """The number of each packet's flow."""
    weights = [1 / (number + 1) for number in range(flows)]
    return random.Random(7).choices(range(flows), weights, k=packets)


def frames(numbers: Iterable[int]) -> list[bytes]:
    return list(map(frame_of, numbers))


def measure(kind: type[Probe], folder: Path, **given: Any) -> ProbeResult:
    probe = made(kind, **given)
    probe.check(probe.parameters)
    probe.prepare(NO_CHAIN, folder)
    return probe.measure(NO_CHAIN, folder)


def scored(sent: Sequence[bytes], settings: Settings) -> tuple[float, int]:
    """Average relative error and false positives, by the model."""
    model, truth = HeavyHitters(settings), Counter[Flow]()
    for frame in sent:
        model.process(frame)
        flow = _flow_of(frame)
        truth[flow] += 1
    estimates = {flow: model.sketch.estimate(row_key(flow, settings.seed)) for flow in truth}
    error = fmean((estimates[flow] - count) / count for flow, count in truth.items())
    limit = settings.threshold
    false = sum(estimates[flow] > limit >= count for flow, count in truth.items())
    return error, false


@cache
def _flow_of(frame: bytes) -> Flow:
    seen = Ether(frame)
    ip = seen[IPv6] if seen.haslayer(IPv6) else seen[IP]
    source, destination = map(ipaddress.ip_address, (ip.src, ip.dst))
    return Flow(0, 0, source, destination, 17, seen[UDP].sport, seen[UDP].dport)


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("engine", ["swx", "native"])
@pytest.mark.parametrize("conservative", [True, False])
def test_accuracy_is_that_of_the_model(tmp_path: Path, engine: str, conservative: bool) -> None:
    sent = frames(zipf(300, 3000))
    write_pcap(tmp_path / "trace.pcap", sent)
    sizes = {"columns": 64, "threshold": 60, "conservative": conservative}
    found = measure(
        HeavyHitterAccuracy,
        tmp_path,
        trace=str(tmp_path / "trace.pcap"),
        engine=engine,
        hash_functions=3,
        **sizes,
    )
    settings = Settings(rows=3, action=Action.REPORT, **sizes)  # type: ignore[arg-type]
    error, false = scored(sent, settings)
    assert values(found)["average_relative_error"] == pytest.approx(error, rel=1e-6)
    assert values(found)["false_positives"] == false > 0
    assert (found.notes["packets"], found.untrusted) == (3000, ())


@pytest.mark.exhaustive
def test_captures_of_raw_ip_without_payload(tmp_path: Path) -> None:
    """As CAIDA's are."""
    numbers = zipf(300, 2000)
    write_pcap(tmp_path / "ethernet.pcap", frames(numbers))
    cut = [frame_of(number)[14:][: 28 if number % 5 else 48] for number in numbers]
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 64, 101)
    body = b"".join(struct.pack("<IIII", 0, 0, len(each), 900) + each for each in cut)
    (tmp_path / "raw.pcap").write_bytes(head + body)
    asked = {"engine": "native", "columns": 64, "hash_functions": 2}
    results = [
        measure(HeavyHitterAccuracy, tmp_path, trace=str(tmp_path / f"{name}.pcap"), **asked)
        for name in ("ethernet", "raw")
    ]
    assert values(results[0]) == values(results[1])
    assert results[0].notes["packets"] == results[1].notes["packets"] == 2000


@pytest.mark.parametrize("kind", [HeavyHitterAccuracy, HeavyHitterThroughput])
def test_a_trace_that_is_cut_off_is_refused(tmp_path: Path, kind: type[Probe]) -> None:
    write_pcap(tmp_path / "t.pcap", frames(zipf(5, 20)))
    whole = (tmp_path / "t.pcap").read_bytes()
    (tmp_path / "t.pcap").write_bytes(whole[:-5])
    with pytest.raises(MeasurementError, match="a packet that the end cuts off"):
        measure(kind, tmp_path, trace=str(tmp_path / "t.pcap"), engine="native")


def test_what_is_left_out_is_noted_and_doubted(tmp_path: Path) -> None:
    """Of tags, the engines know two, and not that of 0x9100."""
    sent = frames(zipf(5, 20))
    tagged = [frame[:12] + b"\x91\x00\0\5" + frame[12:] for frame in sent[:7]]
    write_pcap(tmp_path / "t.pcap", [*sent, *tagged, *(frame[:20] for frame in sent[:3])])
    result = measure(HeavyHitterAccuracy, tmp_path, trace=str(tmp_path / "t.pcap"), engine="native")
    assert result.notes["packets_left_out"] == {"ethertype_0x9100": 7, "headers": 3}
    assert result.notes["packets"] == 20
    assert any("10 of 30 frames" in doubt for doubt in result.untrusted)
    first = {"trace": str(tmp_path / "t.pcap"), "engine": "native", "packets": 15}
    assert measure(HeavyHitterAccuracy, tmp_path, **first).notes["packets"] == 15
    write_pcap(tmp_path / "t.pcap", [bytes(60)])
    with pytest.raises(MeasurementError, match="no packet of the trace belongs to a flow"):
        measure(HeavyHitterAccuracy, tmp_path, trace=str(tmp_path / "t.pcap"))


@pytest.mark.parametrize("carrier", [Ether(type=0x894F), Ether() / IP() / UDP(dport=4790)])
def test_damaged_nsh_is_called_so_on_every_carrier(tmp_path: Path, carrier: Packet) -> None:
    gpe = bytes.fromhex("0c00000400000000") if carrier.haslayer(UDP) else b""
    version_1 = bytes.fromhex("4fc6010100002aff") + bytes(16)
    sent = [*frames(zipf(5, 20)), bytes(carrier / Raw(gpe + version_1 + bytes(packet(1))))]
    write_pcap(tmp_path / "t.pcap", sent)
    result = measure(HeavyHitterAccuracy, tmp_path, trace=str(tmp_path / "t.pcap"), engine="native")
    assert result.notes["packets_left_out"] == {"nsh": 1}


@pytest.mark.parametrize("engine", ["swx", "native"])
def test_throughput(tmp_path: Path, engine: str) -> None:
    asked = {"trace_s": 0.1, "duration_s": 0.1, "frame_bytes": 128, "engine": engine}
    found = measure(HeavyHitterThroughput, tmp_path, **asked)
    seen = values(found)
    assert seen["throughput_pps"] == pytest.approx(1e9 / seen["packet_ns"])
    assert seen["throughput_bps"] == pytest.approx(seen["throughput_pps"] * 128 * 8)
    assert found.notes["largest_share_of_a_thread"] == 1
    assert found.notes["synthetic_trace"]["seed"] == 1


def test_bits_are_those_of_the_frames_of_the_trace(tmp_path: Path) -> None:
    """`frame_bytes` pads shorter frames, and longer ones count as they are."""
    lengths = [60, 900] * 10
    sent = [bytes(Ether() / IP() / UDP()).ljust(length, b"x") for length in lengths]
    write_pcap(tmp_path / "t.pcap", sent)
    asked = {"trace": str(tmp_path / "t.pcap"), "duration_s": 0.1, "frame_bytes": 128}
    seen = values(measure(HeavyHitterThroughput, tmp_path, engine="native", **asked))
    # With the frame check sequence; a burst may end anywhere in the trace.
    bits = 8 * (128 + 904) / 2
    assert seen["throughput_bps"] == pytest.approx(seen["throughput_pps"] * bits, rel=0.01)


def test_more_cores_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(CannotBeMeasured, match="64 cores are more than the"):
        measure(HeavyHitterThroughput, tmp_path, cores=64, trace_s=0.01)


@pytest.mark.parametrize(
    ("given", "where"), [({"trace": "caida.pcap"}, "trace"), ({"columns": 1000}, "columns")]
)
def test_refused(given: dict[str, Any], where: str) -> None:
    probe = made(HeavyHitterAccuracy, **given)
    with pytest.raises(InputError) as caught:
        probe.check(probe.parameters)
    assert caught.value.where == where


# --- which thread a flow belongs to ---


def toeplitz(data: bytes) -> int:
    """Receive side scaling, as Microsoft specifies it."""
    key, bits = int.from_bytes(MICROSOFT_KEY, "big"), 8 * len(MICROSOFT_KEY)
    hashed = 0
    for place in range(8 * len(data)):
        if data[place // 8] >> (7 - place % 8) & 1:
            hashed ^= key >> (bits - 32 - place) & 0xFFFFFFFF
    return hashed


def tuple_of(frame: bytes) -> bytes:
    flow = _flow_of(frame)
    return flow.src.packed + flow.dst.packed + struct.pack(">HH", flow.src_port, flow.dst_port)


def test_the_judge_has_microsofts_values() -> None:
    """Verifying the RSS Hash Calculation (Windows Driver Kit)."""
    address = ipaddress.ip_address
    four = address("66.9.149.187").packed + address("161.142.100.80").packed
    assert toeplitz(four + struct.pack(">HH", 2794, 1766)) == 0x51CCC178
    six = address("3ffe:2501:200:1fff::7").packed + address("3ffe:2501:200:3::1").packed
    assert toeplitz(six + struct.pack(">HH", 2794, 1766)) == 0x40207D3D


def test_flows_go_to_threads_by_the_hash_of_receive_side_scaling(tmp_path: Path) -> None:
    sent = frames(range(200))
    write_pcap(tmp_path / "trace.pcap", sent)
    cpu = str(min(os.sched_getaffinity(0)))
    argv = [str(binaries.find("sfc-heavy-hitter")), "--engine", "native", "--repeat-ms", "1"]
    argv += ["--trace", str(tmp_path / "trace.pcap"), "--cpus", ",".join([cpu] * 4)]
    done = subprocess.run(argv, capture_output=True, check=True, timeout=60)
    threads = json.loads(done.stdout)["threads"]
    wanted = Counter(toeplitz(tuple_of(frame)) % 4 for frame in sent)
    assert [each["of_trace"] for each in threads] == [wanted[number] for number in range(4)]
