"""The engine `ebpf` of SFCMon against the golden vectors and the reference model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.network.wires import Lab, lab
from support.sfcmon.ebpf_registers import Registers
from support.sfcmon.ebpf_tool import PLACES, Place, Tool, from_both_cpus, start
from support.sfcmon.frames import over_ethernet, random_frames, udp4

from sfcperf.sketches.iblt import Cells
from sfcperf.sketches.listing import listing
from sfcperf.vnfs.nsh import Nsh
from sfcperf.vnfs.sfcmon import model
from sfcperf.vnfs.sfcmon.packet import unpadded
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds

VECTORS = json.loads((Path(model.__file__).parent / "vectors.json").read_text())
BURST = 500
__all__ = ["lab"]


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


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_it_does_what_the_model_does(bench: Bench, seed: int) -> None:
    thresholds = Thresholds(eval=50, share=1 << 27, packets=5)
    frames = random_frames(seed, 1000)
    bank = model.Bank(Sizes(), thresholds)
    heavy = sum(bank.receive(frame) for frame in frames)
    bench.registers.set(thresholds, None)
    bench.tool.feed(frames)
    assert 100 < heavy < 900
    assert bench.registers.get() == bank.registers()


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
