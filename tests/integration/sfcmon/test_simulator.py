"""The compiled simulator: bit for bit what the reference model does, on any trace."""

from __future__ import annotations

import csv
import itertools
import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.sfcmon import traces
from support.sfcmon.traces import Row
from support.sfcmon.vectors import TCP4, TCP6, many
from support.tiers import examples, is_gate

from sfcperf.dataplane import binaries
from sfcperf.dataplane.nsh.packet import text
from sfcperf.errors import InputError
from sfcperf.vnfs.sfcmon.model import Bank
from sfcperf.vnfs.sfcmon.report import Window
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds, share_register
from sfcperf.vnfs.sfcmon.simulation import TOOL, Simulation, TraceEnd, simulate

GOLDEN = json.loads((files("sfcperf.vnfs.sfcmon") / "vectors.json").read_text())
FRESH = [case for case in GOLDEN["cases"] if "before" not in case]
SMALL = Sizes(
    cms_rows=2, cms_columns=7, bloom_bits=64, bloom_hashes=2, iblt_cells=20, iblt_hashes=3
)
ONE_CELL = Sizes(
    cms_rows=1, cms_columns=1, bloom_bits=1, bloom_hashes=1, iblt_cells=6, iblt_hashes=6
)
ALL = Simulation(1e9, 0.1, Thresholds(0, 0, 0), registers=True)

pytestmark = pytest.mark.skipif(
    not binaries.requirement(TOOL).met, reason=binaries.requirement(TOOL).detail
)


def run(trace: Path, simulation: Simulation) -> tuple[list[Window], TraceEnd]:
    *windows, end = simulate(trace, simulation)
    assert isinstance(end, TraceEnd)
    return [window for window in windows if isinstance(window, Window)], end


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace"


@pytest.mark.parametrize("case", FRESH, ids=lambda case: str(case["name"]))
def test_golden_vectors(trace: Path, case: dict[str, Any]) -> None:
    trace.write_bytes(traces.pcap((0, bytes.fromhex(frame)) for frame in case["frames"]))
    simulation = replace(ALL, thresholds=Thresholds(**case["thresholds"]), nsh_only=True)
    ((window,), _) = run(trace, simulation)
    assert window.registers == case["after"]


FRAMES = [bytes.fromhex(frame) for case in FRESH for frame in case["frames"]]


def test_frames_with_changed_bytes(trace: Path) -> None:
    """Headers that are nearly right: both parsers judge each of them alike."""
    rng = random.Random(0)
    changed = []
    for _ in range(6000):
        frame = bytearray(rng.choice(FRAMES))
        for _ in range(rng.choice([1, 1, 2, 4])):
            values = [0, 1, 4, 6, 17, 0x45, rng.randrange(256)]
            frame[rng.randrange(len(frame))] = rng.choice(values)
        changed.append(bytes(frame[: rng.choice([len(frame), rng.randrange(len(frame))])]))
    bank = Bank(thresholds=ALL.thresholds)
    for frame in changed:
        bank.receive(frame)
    trace.write_bytes(traces.pcap((0, frame) for frame in changed))
    ((window,), _) = run(trace, replace(ALL, nsh_only=True))
    assert window.registers == bank.registers()
    assert window.listing() == bank.listing()
    assert min(*bank.unparsed, bank.packets) > 50


addresses = st.sampled_from(
    [*(f"10.0.0.{n}" for n in range(6)), "2001:db8::1", "2001:db8::2", "::ffff:10.0.0.1", "::"]
)
same_version = st.tuples(addresses, addresses).filter(
    lambda pair: (":" in pair[0]) == (":" in pair[1])
)
rows_of_traces = st.lists(
    st.builds(
        lambda ts, pair, proto, ports, size: Row(ts, *pair, proto, *ports, size),
        st.integers(0, 5000),
        same_version,
        st.sampled_from([0, 6, 17, 255]),
        st.tuples(st.integers(0, 3), st.sampled_from([0, 65535])),
        st.sampled_from([0, 40, 1500, 2**32 - 1]),
    ),
    min_size=1,
    max_size=150,
)


def model_windows(
    rows: list[Row], simulation: Simulation
) -> Iterator[tuple[int, Bank, list[Row], set[str]]]:
    """Number, registers, packets and reported sources of each window, by the reference model."""
    width = round(simulation.window_s * 1e9)
    rows = sorted(rows, key=lambda row: row.ts_ns)
    for index, group in itertools.groupby(rows, lambda row: (row.ts_ns - rows[0].ts_ns) // width):
        bank, packets = Bank(simulation.sizes, simulation.thresholds), list(group)
        reported = {row.src_ip for row in packets if bank.process(row.packet())}
        yield index, bank, packets, reported


@pytest.mark.parametrize(
    "sizes", [Sizes(), SMALL, ONE_CELL], ids=["reference", "small", "one cell"]
)
@examples(200, HealthCheck.function_scoped_fixture, gate=25)
@given(
    rows=rows_of_traces,
    limits=st.builds(
        Thresholds,
        eval=st.integers(0, 20),
        share=st.sampled_from([0, share_register(0.1), share_register(0.3)]),
        packets=st.integers(0, 5),
    ),
    width_ns=st.sampled_from([1, 700, 10000]),
)
def test_it_does_what_the_model_does(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: Sizes,
    rows: list[Row],
    limits: Thresholds,
    width_ns: int,
) -> None:
    rows = sorted(rows, key=lambda row: row.ts_ns)
    path = tmp_path_factory.getbasetemp() / "model.csv"
    simulation = Simulation(width_ns / 1e9, 0.1, limits, sizes, registers=True)
    windows, end = run(traces.write_csv(path, rows), simulation)
    expected = list(model_windows(rows, simulation))
    assert end.frames == len(rows)
    assert [window.index for window in windows] == [index for index, *_ in expected]
    for window, (_, bank, packets, reported) in zip(windows, expected, strict=True):
        assert window.registers == bank.registers()
        assert {source.address for source in window.heavy_hitters} == {
            text(row.packet().flow.src) for row in packets if row.src_ip in reported
        }
        assert window.score == traces.brute_force(packets, reported, 0.1)
        assert window.bytes == sum(row.size_bytes for row in packets)
        assert window.listing() == bank.listing()


@cache
def all_frames() -> list[tuple[int, bytes]]:
    return [(1000 * number, frame) for number, frame in enumerate(many())]


def frames(count: int = 300) -> list[tuple[int, bytes]]:
    return all_frames()[:count]


def test_formats_of_captures(trace: Path) -> None:
    bank = Bank()
    for _, frame in frames():
        bank.receive(frame)
    for write, order in itertools.product((traces.pcap, traces.pcapng), "<>"):
        trace.write_bytes(write(frames(), order=order))
        ((window,), end) = run(trace, replace(ALL, thresholds=Thresholds()))
        assert window.registers == bank.registers(), (write, order)
        assert not end.truncated


def test_a_capture_that_tshark_tools_have_converted(trace: Path, tmp_path: Path) -> None:
    if shutil.which("editcap") is None:
        pytest.skip("editcap: not found on this machine; install the package tshark")
    trace.write_bytes(traces.pcap(frames()))
    results = []
    for kind in ("nsecpcap", "pcapng"):
        other = tmp_path / kind
        subprocess.run(["editcap", "-F", kind, trace, other], check=True)
        results.append(run(other, replace(ALL, window_s=1e-4))[0])
    assert results == [run(trace, replace(ALL, window_s=1e-4))[0]] * 2
    assert len(results[0]) == 3


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    rng = random.Random(2)
    rows = [
        Row(n, f"10.0.{rng.randrange(9)}.1", "10.9.9.9", rng.randrange(256), n % 65536, 1, n)
        if n % 3
        else Row(n, f"2001:db8::{rng.randrange(9)}", "2001:db8::ffff", 17, 1, 2, n)
        for n in range(100_000)
    ]
    one = run(traces.write_csv(tmp_path / "t.csv", rows), replace(ALL, window_s=3e-5))
    other = run(traces.write_parquet(tmp_path / "t.parquet", rows), replace(ALL, window_s=3e-5))
    assert one[0] == other[0]
    assert len(one[0]) == 4


def test_packets_without_nsh_are_classified(trace: Path) -> None:
    """Raw IP, Ethernet with a VLAN tag, cooked captures: all are the same flow on the path."""
    at = 14 + 24 + 14
    packet = TCP4[at:]
    registers = []
    for link, head in (
        (101, b""),
        (1, bytes(12) + b"\x08\x00"),
        (1, bytes(12) + b"\x81\x00\x00\x05\x08\x00"),
        (113, bytes(14) + b"\x08\x00"),
        (276, b"\x08\x00" + bytes(18)),
    ):
        trace.write_bytes(traces.pcap([(0, head + packet)], link=link))
        ((window,), _) = run(trace, replace(ALL, spi=42, si=255))
        registers.append(window.registers)
    bank = Bank(thresholds=ALL.thresholds)
    bank.receive(TCP4)
    assert registers == [bank.registers()] * 5


@pytest.mark.parametrize("write", [traces.pcap, traces.pcapng])
def test_a_truncated_capture_says_so(trace: Path, write: Any) -> None:
    whole = write(frames(20))
    lengths = []
    for end in range(len(whole) - 200, len(whole), 9 if is_gate() else 1):
        trace.write_bytes(whole[:end])
        windows, ended = run(trace, ALL)
        lengths.append(ended.frames)
        assert ended.truncated != (len(write(frames(ended.frames))) == end)
        assert sum(sum(w.registers["unparsed"]) + w.packets for w in windows) == ended.frames
    assert max(lengths) == 19


@examples(300, HealthCheck.function_scoped_fixture, gate=40)
@given(
    noise=st.binary(max_size=200),
    at=st.integers(0, 600),
    write=st.sampled_from([traces.pcap, traces.pcapng]),
    keep=st.booleans(),
)
def test_damaged_captures_neither_crash_it_nor_hang(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int, write: Any, keep: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    whole = write(frames(6))
    path.write_bytes(whole[:at] + noise + (whole[at + len(noise) :] if keep else b""))
    try:
        windows, end = run(path, ALL)
    except InputError as error:
        assert "damaged" in error.message
        return
    assert sum(sum(w.registers["unparsed"]) + w.packets for w in windows) == end.frames


def test_late_packets_count_in_the_open_window_and_time_may_jump(tmp_path: Path) -> None:
    def windows(*times: int, window_s: float) -> tuple[list[Window], TraceEnd]:
        rows = [Row(ts, "10.0.0.1", "10.0.0.2") for ts in times]
        return run(traces.write_csv(tmp_path / "t", rows), replace(ALL, window_s=window_s))

    found, end = windows(1000, 1500, 2100, 1900, 900, 2200, window_s=1e-6)
    assert [(w.index, w.begin_ns, w.packets) for w in found] == [(0, 1000, 2), (1, 2000, 4)]
    assert end.late == 2
    found, _ = windows(0, 2**64 - 1, window_s=1e-9)
    assert [window.index for window in found] == [0, 2**64 - 1]


def test_many_sources_in_one_window(tmp_path: Path) -> None:
    """The exact table grows, and shrinks for the small windows that follow."""
    rows = [Row(0, f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}", "10.0.0.2") for n in range(30_000)]
    rows += [Row(ts, "10.0.0.1", "10.0.0.2") for ts in range(1000, 9000, 1000)]
    windows, _ = run(traces.write_csv(tmp_path / "t", rows), replace(ALL, window_s=1e-6))
    assert [window.sources for window in windows] == [30_000] + [1] * 8
    assert len(windows[0].heavy_hitters) == 30_000


@pytest.mark.exhaustive
def test_a_counter_stays_at_its_maximum(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with path.open("w") as file:
        file.write(",".join(traces.COLUMNS) + "\n")
        for _ in range(2**24 // 2**14 + 1):
            file.write("0,10.0.0.1,10.0.0.2,6,1,2,40\n" * 2**14)
    ((window,), end) = run(path, ALL)
    assert {value for *_, value in window.registers["cms"]} == {2**24 - 1}
    assert window.heavy_hitters[0].packets == end.frames > 2**24
    ((flow,), listing) = (window.listing().flows, window.listing())
    assert listing.complete
    assert flow.packets == end.frames


def test_adaptive_thresholds_reach_their_target(tmp_path: Path) -> None:
    """Where a static one reports most sources of a window, since each has a packet in its first
    few."""
    rng = random.Random(3)
    weights = [1 / rank for rank in range(1, 2001)]
    rows = [
        Row(n * 100, f"10.0.{s >> 8}.{s & 255}", "10.9.9.9")
        for n, s in enumerate(rng.choices(range(2000), weights, k=200_000))
    ]
    path = traces.write_csv(tmp_path / "t", rows)
    static = Simulation(0.002, 0.01, Thresholds(100, share_register(0.01)))
    by_itself, _ = run(path, static)
    adapted, _ = run(path, replace(static, target_flows=13))
    for window in adapted[4:]:
        assert 9 <= len(window.heavy_hitters) <= 17
    static_precision, precision = (
        sum(window.score.precision for window in windows[4:]) / len(windows[4:])
        for windows in (by_itself, adapted)
    )
    assert static_precision < 0.6
    assert precision > 0.8


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a trace"),
        (b"abc", "not a trace"),
        (b"\x1f\x8b\x08\x00aaaaaaaa", "compressed"),
        (bytes(100), "not a trace; allowed: pcap, pcapng, or CSV"),
        (traces.pcap([(0, bytes(9))], link=147), "at byte 24, a frame of link type 147"),
        (b"ts_ns,src_ip\n", "line 1 names no column dst_ip"),
        (b"%b\n1,2\n", "line 2 has 2 fields instead of 7"),
        (b"%b\n1,10.0.0.1,10.0.0.2,6,1,2,-5\n", "size_bytes is '-5'; allowed: 0 to 4294967295"),
        (b"%b\n1,10.0.0.256,10.0.0.2,6,1,2,5\n", "src_ip is '10.0.0.256'"),
        (b"%b\n1,10.0.0.1,::1,6,1,2,5\n", "dst_ip is '::1'; allowed: an IPv4 address"),
        (b"%b\n1,10.0.0.1,10.0.0.2,256,1,2,5\n", "proto is '256'; allowed: 0 to 255"),
        (b"%b\n99999999999999999999,10.0.0.1,10.0.0.2,6,1,2,5\n", "ts_ns is"),
        (b"%b\n" + b"x" * 20_000, "line 2 is longer than 16384 characters"),
        (b"%b,proto\n", "line 1 names the column proto twice"),
        (b'%b\n"1"2,10.0.0.1,10.0.0.2,6,1,2,5\n', "line 2 has characters behind a quoted field"),
        (b'%b\n1,"10.0.0.1,10.0.0.2,6,1,2,5\n', "line 2 has a quotation mark that is not closed"),
        (traces.pcap([])[:20], "at byte 0, a header that is cut off"),
        (b"\xd4\xc3\xb2\xa1\x02\0\x03\0" + bytes(16), "version 2.3 of pcap; allowed: 2.4"),
    ],
)
def test_what_is_no_trace(trace: Path, content: bytes, message: str) -> None:
    trace.write_bytes(content.replace(b"%b", ",".join(traces.COLUMNS).encode()))
    with pytest.raises(InputError) as caught:
        run(trace, ALL)
    assert message in caught.value.message


def test_csv_of_spreadsheets(trace: Path) -> None:
    """Any columns before those that count, a byte order mark, all quoted (RFC 4180): a quoted field
    may have commas, quotation marks and ends of lines."""
    rows = [Row(n, f"10.0.0.{n % 9}", "10.9.9.9") for n in range(100)]
    before = {f"f{n}": 'a "quoted",\r\nfield' for n in range(77)}
    with trace.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, [*before, *traces.COLUMNS], quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(before | vars(row) for row in rows)
    plain = run(traces.write_csv(trace.with_suffix(".csv"), rows), ALL)
    assert run(trace, ALL)[0] == plain[0]
    damaged = trace.read_bytes().replace(b'"99","10.0', b'"nan","10.0')
    trace.write_bytes(damaged)
    with pytest.raises(InputError, match=f"line {2 + 99 * 78}: ts_ns is 'nan'"):
        run(trace, ALL)


def test_a_csv_file_of_another_program(trace: Path) -> None:
    """Columns in another order and others among them, lines that end with CR LF, empty ports."""
    trace.write_bytes(
        b"size_bytes,note,proto,dst_port,src_port,dst_ip,src_ip,ts_ns\r\n"
        b"60,a b,1,,,2001:db8::2,2001:db8::1,5\r\n\r\n"
        b"60,,1,0,0,2001:db8::2,2001:db8::1,6"
    )
    ((window,), end) = run(trace, ALL)
    assert end.frames == window.packets == 2
    (flow,) = window.listing().flows
    assert (flow.packets, flow.bytes) == (2, 120)


def test_a_parquet_file_that_lacks_something(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    path = traces.write_parquet(tmp_path / "t.parquet", [Row(1, "10.0.0.1", "10.0.0.2")])
    table = pyarrow.parquet.read_table(path)
    for changed, message in (
        (table.drop_columns("proto"), "there is no column proto"),
        (table.set_column(1, "src_ip", pa.array([None], pa.string())), "rows without a value"),
        (table.set_column(1, "src_ip", pa.array(["10.0.0"])), "does not appear to be"),
        (table.set_column(1, "src_ip", pa.array([0x0A000001])), "src_ip has the type int64"),
        (table.set_column(2, "dst_ip", pa.array([bytes(4)])), "dst_ip has the type binary"),
        (table.set_column(2, "dst_ip", pa.array(["::1"])), "differ in their IP version"),
        (table.set_column(6, "size_bytes", pa.array([2**40])), "column size_bytes"),
    ):
        pyarrow.parquet.write_table(changed, path)
        with pytest.raises(InputError) as caught:
            run(path, ALL)
        assert message in caught.value.message
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="not readable as Parquet"):
        run(path, ALL)


def test_both_ip_versions_in_a_capture(trace: Path) -> None:
    trace.write_bytes(traces.pcap([(0, TCP4), (1, TCP6), (2, TCP6)]))
    ((window,), _) = run(trace, ALL)
    assert [(s.address, s.spi, s.si, s.packets) for s in window.heavy_hitters] == [
        ("2001:db8::1", 42, 255, 2),
        ("10.0.0.1", 42, 255, 1),
    ]
