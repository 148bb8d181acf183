"""The engine `ebpf` of SFCMon against the golden vectors and the reference model."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.network.wires import Lab, Port, Wire, eventually, lab, space
from support.sfcmon.ebpf_registers import Registers
from support.sfcmon.frames import over_ethernet, over_vxlan_gpe, tcp4, tcp6, udp4

from sfcperf.sketches.iblt import Cells
from sfcperf.sketches.listing import listing
from sfcperf.vnfs import binaries
from sfcperf.vnfs.nsh import Nsh
from sfcperf.vnfs.sfcmon import model
from sfcperf.vnfs.sfcmon.packet import unpadded
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds
from sfcperf.vnfs.sff.process import SffProcess

VECTORS = json.loads((Path(model.__file__).parent / "vectors.json").read_text())
HOUR_MS = "3600000"
BURST = 2000
__all__ = ["lab"]


PLACES = ("function", "sff", "port")


@dataclass
class Bench:
    wire: Wire
    registers: Registers
    process: subprocess.Popen[str]

    def feed(self, frames: list[bytes]) -> None:
        """Send frames, and wait until all are counted."""
        counted = self.registers.frames()
        self.wire.send(frames)
        assert eventually(lambda: self.registers.frames() >= counted + len(frames))


def _forward(lab: Lab, port: Port) -> None:
    """Let sfc-sff take frames at a port where functions are."""
    tables = (
        f"node {port.mac}\nport 1 interface {port.interface} kind nsh mtu 1400\n"
        f"path 1 255 to nsh port 1 mac {port.mac}\n"
    )
    running = SffProcess.launch("sff", port.host, tables)
    lab.at_end(running.stop)


def _start(lab: Lab, port: Port, place: str, *options: str) -> subprocess.Popen[str]:
    where = {
        "function": ["--interface", port.interface],
        "sff": ["--sff", port.interface],
        "port": [f"{port.interface}:nsh"],
    }
    argv = ["ip", "netns", "exec", space(port.host), str(binaries.find("sfc-sfcmon"))]
    argv += [*where[place], *options]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    lab.at_end(process.wait)
    lab.at_end(process.terminate)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"event": "ready"}
    return process


@pytest.fixture(scope="module", params=PLACES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """A tool with the sizes of the vectors and a window that does not end, at one of its places:
    as a function, in sfc-sff, at a port of another SFF."""
    with Lab(tmp_path_factory.mktemp("sfcmon")) as lab:
        sender, port = lab.join((lab.host("sender"), "end0"), (lab.host("sf"), "sf0"))
        place: str = request.param
        if place == "sff":
            _forward(lab, port)
        process = _start(lab, port, place, "--window-ms", HOUR_MS)
        registers = Registers(process.pid, Sizes())
        lab.at_end(registers.close)
        wire = sender.wire()
        lab.at_end(wire.close)
        yield Bench(wire, registers, process)


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_golden_vectors(bench: Bench, case: dict[str, Any]) -> None:
    thresholds = Thresholds(**case["thresholds"])
    bench.registers.set(thresholds, case.get("before"))
    # The kernel pads no frame, but refuses to send those without a whole Ethernet header.
    frames = [bytes.fromhex(frame) for frame in case["frames"]]
    bench.feed([frame for frame in frames if len(frame) >= 14])
    expected = case["after"]
    short = sum(len(frame) < 14 for frame in frames)
    expected["unparsed"][4] -= short
    assert bench.registers.get() == expected


def _frames(seed: int, count: int) -> list[bytes]:
    """Frames of a few sources and many flows, a tenth of them damaged."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        source, flow = draw.randrange(1, 6), draw.randrange(1, 60)
        packet = draw.choice(
            [
                udp4(f"10.0.0.{source}", "10.1.0.1", 1000 + flow, size=draw.randrange(20)),
                tcp4(f"10.0.0.{source}", "10.1.0.1", 1000 + flow),
                tcp6(f"fd00::{source}", "fd00:1::1", 1000 + flow),
            ]
        )
        protocol = 2 if packet.version == 6 else 1
        nsh = Nsh(spi=draw.randrange(1, 3), si=255, next_protocol=draw.choice([protocol, 3]))
        frame = draw.choice([over_ethernet, over_vxlan_gpe])(packet, nsh)
        if draw.random() < 0.1:
            at = draw.randrange(12, len(frame))
            frame = frame[:at] + bytes([draw.randrange(256)]) + frame[at + 1 :]
        if draw.random() < 0.05:
            frame = frame[: draw.randrange(14, len(frame))]
        made.append(frame)
    return made


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_it_does_what_the_model_does(bench: Bench, seed: int) -> None:
    thresholds = Thresholds(eval=50, share=1 << 27, packets=5)
    frames = _frames(seed, 1000)
    bank = model.Bank(Sizes(), thresholds)
    heavy = sum(bank.receive(frame) for frame in frames)
    bench.registers.set(thresholds, None)
    bench.feed(frames)
    assert 100 < heavy < 900
    assert bench.registers.get() == bank.registers()


@pytest.mark.parametrize("place", PLACES)
def test_windows_lose_nothing_and_count_nothing_twice(lab: Lab, place: str) -> None:
    sender, port = lab.join((lab.host("sender"), "end0"), (lab.host("sf"), "sf0"))
    if place == "sff":
        _forward(lab, port)
    limits = ("--threshold-eval", "0", "--threshold-share", "0")
    process = _start(lab, port, place, "--window-ms", "5", *limits)
    assert process.stdout is not None
    nsh = Nsh(spi=1, si=255, next_protocol=1)
    frames = [over_ethernet(udp4("10.0.0.1", "10.1.0.1", 1000 + n), nsh) for n in range(20)]
    with ThreadPoolExecutor(2) as pool:  # to both CPUs
        for _ in range(2):
            wire = sender.wire()
            lab.at_end(wire.close)
            pool.submit(wire.send, frames * BURST)
    registers = Registers(process.pid, Sizes())
    lab.at_end(registers.close)
    assert eventually(lambda: registers.frames() >= 2 * BURST * len(frames))
    process.terminate()
    windows = [json.loads(line) for line in process.stdout]
    found = [window for window in windows if window["event"] == "window"]
    counts = Counter[bytes]()
    for window in found:
        cells = Cells.empty(Sizes().iblt_cells)
        for place, count, key, *sums in window["iblt"]:
            cells.set(place, (count, int(key, 16), *sums))
        listed = listing(Sizes().iblt, cells, unpadded)
        assert listed.complete
        counts.update({flow.key: flow.packets for flow in listed.flows})
    assert len(found) > 3
    assert sum(window["packets"] for window in found) == 2 * BURST * len(frames)
    assert set(counts.values()) == {2 * BURST}
    assert len(counts) == len(frames)
