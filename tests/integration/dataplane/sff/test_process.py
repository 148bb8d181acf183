"""sfc-sff as a process: what captures see, how it ends, and what it leaves."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import RawPcapReader
from support.network.wires import eventually, ip, space
from support.pptmon.hooks import clsact, tcx
from support.tiers import is_gate
from support.vnfs.sff_bench import (
    CLIENT,
    KINDS,
    PORT_CLIENT,
    PORT_NSH,
    PORT_PLAIN,
    PORT_SERVER,
    SERVER,
    TO,
    SffBench,
    on_ethernet,
)

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sff.process import BINARY, SffProcess

pytestmark = pytest.mark.root

LINES = [
    f"path 1 255 {TO['nsh']}",
    f"path 1 254 {TO['plain']}",
    f"path 1 253 {TO['link']}",
    f"rule {PORT_CLIENT} path 1 255 protocol udp",
]
INNER = Ether(src=CLIENT, dst=SERVER) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP() / Raw(b"data")

_END = bytes(Ether(dst="02:00:00:00:00:99", src=CLIENT, type=0x88B5) / Raw(b"end of the capture"))
"""Sent into each port after everything else."""


class Captures:
    """tcpdump at each port of the node."""

    def __init__(self, bench: SffBench, folder: Path) -> None:
        self._wires = bench.wires
        self._files = {port: folder / f"p{port}.pcap" for port in KINDS}
        self._processes = []
        for port, file in self._files.items():
            said = file.with_suffix(".err")
            argv = ["tcpdump", "--immediate-mode", "-U", "-s", "0", "-Z", "root"]
            argv += ["-i", f"p{port}", "-w", str(file)]
            self._processes.append(bench.node.spawn(argv, stderr=said))
            bench.lab.at_end(self._processes[-1].stop)
            assert eventually(lambda said=said: said.exists() and "listening" in said.read_text())  # type: ignore[misc]

    def frames(self) -> dict[int, list[bytes]]:
        """What was seen at each port, in both directions, without the bench's own frames."""
        # tcpdump drops what it has not read when it is stopped.
        for port, file in self._files.items():
            self._wires[port].send([_END])
            assert eventually(lambda file=file: _END in file.read_bytes())  # type: ignore[misc]
        for process in self._processes:
            process.stop()
        return {port: _without_marks(file) for port, file in self._files.items()}


def _without_marks(file: Path) -> list[bytes]:
    with RawPcapReader(str(file)) as reader:
        return [frame for frame, _ in reader if b"data" in frame]


def test_captures_see_what_came_in_and_what_went_out(tmp_path: Path) -> None:
    """At the tap; both are what the other ends have sent and received."""
    with SffBench(tmp_path, LINES, mode="tap") as bench:
        captures = Captures(bench, tmp_path)
        header = NSH(spi=1, si=254, ttl=9, nextproto=3, context_header=bytes(16))
        sent = {
            PORT_CLIENT: [INNER, Ether(src=CLIENT, dst=SERVER) / IPv6() / Raw(b"data")],
            PORT_NSH: [on_ethernet(header / INNER)],
            PORT_SERVER: [Ether(src=SERVER, dst=CLIENT) / IP() / Raw(b"data")],
        }
        ends: dict[int, list[bytes]] = {port: [] for port in KINDS}
        for port, frames in sent.items():
            for leaves, answers in bench.exchange(port, frames).items():
                ends[leaves] += answers
            ends[port] += map(bytes, frames)
        seen = captures.frames()
        assert {port: sorted(frames) for port, frames in seen.items()} == {
            port: sorted(frames) for port, frames in ends.items()
        }
        ports = (PORT_CLIENT, PORT_SERVER, PORT_NSH, PORT_PLAIN)
        assert [len(seen[port]) for port in ports] == [3, 2, 2, 1]
        # What looks like a frame that has been at the tap is not sent on.
        forged = INNER.copy()
        for ifindex in range(1, 64):
            forged.dst = "06:53:" + (ifindex << 20).to_bytes(4, "big").hex(":")
            assert not any(bench.exchange(PORT_SERVER, [forged]).values())


# --- the end ---


def _attached(bench: SffBench) -> list[str]:
    """Programs at the ports, as the kernel names them."""
    found = []
    for port in bench.attached:
        [shown] = json.loads(ip("-n", space(port.host), "-j", "link", "show", port.interface))
        if "xdp" in shown:
            generic = shown["xdp"]["mode"] == 2  # XDP_ATTACHED_SKB
            found.append(f"{port.interface} {'xdpgeneric' if generic else 'xdp'}")
        names = clsact(port, "ingress")
        with suppress(OSError):  # Linux before 6.6 has no tcx
            names += tcx(port, "ingress")
        found += [f"{port.interface} {name}" for name in names]
    return found


def _all(bench: SffBench) -> list[str]:
    return [f"{port.interface} {name}" for port in bench.attached for name in ("xdp", "output")]


def test_nothing_stays_attached(tmp_path: Path) -> None:
    """Counters stay."""
    with SffBench(tmp_path, LINES) as bench:
        assert _attached(bench) == _all(bench)
        second_is_refused(bench, tmp_path)
        one_packet_in_64_is_timed(bench)
        last = bench.counters()
        bench.sff.stop()
        assert _attached(bench) == []
        assert bench.sff.fresh()["received"] == last["received"]
        assert "ended with status 0" in str(bench.sff.problem())
        out = tmp_path / "out"
        process = _start(bench, tmp_path / "sff.tables", stdout=out)
        assert eventually(lambda: _events(out) == ["ready"])
        process.send_signal(signal.SIGUSR1)
        assert eventually(lambda: _events(out) == ["ready", "counters"])
        assert process.stop() == 0
        assert _events(out) == ["ready", "counters", "counters"]


def test_generic_xdp_where_the_driver_refuses_native_xdp(tmp_path: Path) -> None:
    """And only where the tables allow it. The tap's veth takes native XDP."""
    with SffBench(tmp_path, LINES, mode="generic") as bench:
        modes = {f"p{port}": "generic" for port in KINDS}
        assert bench.counters()["xdp"] == {"tap-far": "native", **modes}
        assert _attached(bench) == [
            each.replace(" xdp", " xdpgeneric") if each.startswith("p") else each
            for each in _all(bench)
        ]
        second = _start(bench, tmp_path / "sff.tables", stdout=tmp_path / "second")
        assert eventually(lambda: second.poll() == 1)
        assert "another XDP program is attached" in (tmp_path / "second").read_text()
        strict = tmp_path / "strict.tables"
        strict.write_text((tmp_path / "sff.tables").read_text().replace(" generic yes", ""))
        bench.sff.stop()
        assert _attached(bench) == []
        refused = _start(bench, strict, stdout=tmp_path / "strict")
        assert eventually(lambda: refused.poll() == 1)
        assert "too large for native XDP" in (tmp_path / "strict").read_text()
    with SffBench(tmp_path, LINES) as bench:
        allowed = bench.tables.replace(" xdp yes", " xdp yes generic yes")
        bench.sff.stop()
        again = SffProcess.launch("again", bench.node, allowed)
        bench.lab.at_end(again.stop)
        assert set(again.fresh()["xdp"].values()) == {"native"}


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """So many ms after its start, or, from 20 on, after it was told to read again."""
    with SffBench(tmp_path, LINES) as bench:
        bench.sff.stop()
        tables = tmp_path / "sff.tables"
        for moment in (0, 20) if is_gate() else range(0, 40, 2):
            out = tmp_path / f"out-{moment}"
            process = _start(bench, tables, stdout=out)
            if moment >= 20:
                assert eventually(lambda out=out: _events(out) == ["ready"])
                process.send_signal(signal.SIGHUP)
            time.sleep(moment % 20 / 1000)
            os.kill(process.pid, signal.SIGKILL)
            assert eventually(lambda process=process: process.poll() is not None)
            assert eventually(lambda: not any("xdp" in each for each in _attached(bench)))
            # A filter that stays is one for each port at most, and drops what comes.
            left = _attached(bench)
            assert len(left) == len(set(left))
            assert set(left) <= set(_all(bench))
            bench.wires[PORT_CLIENT].send([bytes(INNER)] * 10)
            assert not any(wire.drain() for wire in bench.wires.values())
            again = SffProcess.launch("again", bench.node, tables.read_text())
            bench.lab.at_end(again.stop)
            assert _attached(bench) == _all(bench)
            assert bench.one(PORT_CLIENT, INNER)[0] == PORT_NSH
            again.stop()


def _start(bench: SffBench, tables: Path, *options: str, **streams: Path) -> Any:
    argv = [str(binaries.find(BINARY)), "--tables", str(tables), *options]
    process = bench.node.spawn(argv, **streams)
    bench.lab.at_end(process.stop)
    return process


def second_is_refused(bench: SffBench, folder: Path) -> None:
    out = folder / "second"
    second = _start(bench, folder / "sff.tables", stdout=out)
    assert eventually(lambda: second.poll() == 1)
    assert "another XDP program is attached: sff (id " in json.loads(out.read_text())["error"]
    assert _attached(bench) == _all(bench)
    assert bench.one(PORT_CLIENT, INNER)[0] == PORT_NSH


def _events(out: Path) -> Sequence[str]:
    text = out.read_text() if out.exists() else ""
    return [json.loads(line)["event"] for line in text.splitlines()]


def one_packet_in_64_is_timed(bench: SffBench) -> None:
    before = _hop(bench)
    count = 1280
    bench.exchange(PORT_CLIENT, [INNER] * count)
    after = _hop(bench)
    assert after["packets"] - before["packets"] == count
    assert after["bytes"] - before["bytes"] == count * len(INNER)
    # Marks of the bench are among those that are counted off.
    timed = after["timed"] - before["timed"]
    assert 0 < timed <= count / 32
    assert 0 < after["time_ns"] - before["time_ns"] < timed * 1e9


def _hop(bench: SffBench) -> dict[str, int]:
    [hop] = [hop for hop in bench.counters()["hops"] if (hop["spi"], hop["si"]) == (1, 255)]
    return hop  # type: ignore[no-any-return]
