"""The engine `ebpf` of SFCMon against the golden vectors and the reference model."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.network.wires import Lab, space
from support.sfcmon.ebpf_registers import Registers
from support.sfcmon.ebpf_tool import PLACES, Place, Tool, from_both_cpus, start
from support.sfcmon.frames import over_ethernet, random_frames, udp4

from sfcperf.dataplane import binaries
from sfcperf.dataplane.nsh import Nsh
from sfcperf.dataplane.nsh.packet import unpadded
from sfcperf.sketches.iblt import Cells
from sfcperf.sketches.listing import listing
from sfcperf.vnfs.sfcmon import model
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds

VECTORS = json.loads((Path(model.__file__).parent / "vectors.json").read_text())
BURST = 500
LIMITS = Thresholds(eval=50, share=1 << 27, packets=5)


@dataclass
class Bench:
    tool: Tool
    registers: Registers


@pytest.fixture(scope="module", params=PLACES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """A tool with the sizes of the vectors and a window that does not end, at each place."""
    with Lab(tmp_path_factory.mktemp("sfcmon")) as lab:
        tool = start(lab, place=request.param)
        registers = Registers(tool.process.pid, Sizes())
        lab.at_end(registers.close)
        yield Bench(tool, registers)


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_golden_vectors(bench: Bench, case: dict[str, Any]) -> None:
    thresholds = Thresholds(**case["thresholds"])
    bench.registers.set(thresholds, case.get("before"))
    # The kernel pads no frame, but refuses to send those without a whole Ethernet header.
    frames = [bytes.fromhex(frame) for frame in case["frames"]]
    bench.tool.feed([frame for frame in frames if len(frame) >= 14])
    expected = case["after"]
    short = sum(len(frame) < 14 for frame in frames)
    expected["unparsed"][4] -= short
    assert bench.registers.get() == expected


@cache
def modelled(seed: int) -> tuple[list[bytes], dict[str, Any]]:
    """Frames, and what the registers are behind them."""
    frames = random_frames(seed, 1000)
    bank = model.Bank(Sizes(), LIMITS)
    assert 100 < sum(bank.receive(frame) for frame in frames) < 900
    return frames, bank.registers()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_it_does_what_the_model_does(bench: Bench, seed: int) -> None:
    frames, registers = modelled(seed)
    bench.registers.set(LIMITS, None)
    bench.tool.feed(frames)
    assert bench.registers.get() == registers


@pytest.mark.parametrize("place", PLACES)
def test_windows_lose_nothing_and_count_nothing_twice(lab: Lab, place: Place) -> None:
    limits = ("--threshold-eval", "0", "--threshold-share", "0")
    tool = start(lab, *limits, window_ms="5", place=place)
    nsh = Nsh(spi=1, si=255, next_protocol=1)
    frames = [over_ethernet(udp4("10.0.0.1", "10.1.0.1", 1000 + n), nsh) for n in range(20)]
    from_both_cpus(lab, tool, frames * BURST)
    found = tool.ended()
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


def test_words_that_are_refused() -> None:
    needed = "one of --interface, --sff and ports is needed"
    for words, problem in (
        ("", needed),
        ("--sff lo lo:nsh", needed),
        ("--sff lo --monitor table", "--monitor table is that of a function"),
        ("lo", "'lo': a port is NAME:nsh"),
        ("lo:plain", "'lo:plain': a port is NAME:nsh"),
        ("lo:nsh,path=1/255", "'path' is no part of a port of the kind nsh"),
        ("lo:underlay", "address=A, of the node, is missing"),
        ("lo:underlay,address=fd00::1", "address=fd00::1: an IPv4 address"),
        ("lo:rule", "path=SPI/SI is missing"),
        ("lo:rule,path=1", "path=1: an SPI and an SI, 1/255"),
        ("lo:rule,path=16777216/1", "path=16777216/1: an SPI and an SI"),
        ("lo:rule,path=1/0", "path=1/0: an SPI and an SI"),
        ("lo:rule,path=1/1,protocol=17", "protocol=17: icmp, tcp or udp"),
        ("lo:rule,path=1/1,source=10.0.0.1/8", "source=10.0.0.1/8: no bits behind the prefix"),
        ("lo:rule,path=1/1,destination=10.0.0.0/33", "an IPv4 address or network"),
        ("lo:rule,path=1/1,source-port=0", "source-port=0: a port, 1 to 65535"),
    ):
        argv = [binaries.find("sfc-sfcmon"), *words.split()]
        done = subprocess.run(argv, capture_output=True, text=True)
        assert (done.returncode, problem in done.stderr) == (2, True), (words, done.stderr)


def test_places_that_are_not_there(lab: Lab) -> None:
    host = lab.host("place")
    lab.join((host, "here"), (host, "there"))
    for words, problem in (
        (["--sff", "here"], "no sfc-sff serves the interface here"),
        (["nothing0:nsh"], "nothing0"),
        (["here:nsh", "here:rule,path=1/1"], "it is given twice"),
    ):
        argv = ["ip", "netns", "exec", space(host), str(binaries.find("sfc-sfcmon")), *words]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
        assert (done.returncode, problem in done.stderr) == (1, True), done.stderr
        filters = host.run(["tc", "filter", "show", "dev", "here", "ingress"], timeout_s=10).text
        assert "direct-action" not in filters
