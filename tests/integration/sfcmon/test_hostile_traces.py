"""Hostile traces on every engine: none crashes, each holds what the reference model holds, and no
flow is listed as exact that is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.network.wires import Lab, eventually, lab
from support.sfcmon import hostile
from support.sfcmon.ebpf_registers import Registers
from support.sfcmon.ebpf_tool import Tool, start
from support.sfcmon.hostile import SIZES, Trace, misreported, model, trace
from support.sfcmon.traces import pcap

from sfcperf.dataplane.nsh.frame import Reason
from sfcperf.dataplane.nsh.packet import KEY_BYTES
from sfcperf.sketches.listing import Certainty, Listing
from sfcperf.vnfs.sfcmon.simulation import Simulation, TraceEnd, simulate

__all__ = ["lab"]
LOADED = "counters near their maximum"
AT_ONCE = 200
"""Frames for which bmv2's queues have room."""
TRACES = pytest.mark.parametrize("name", hostile.NAMES)


def test_the_traces_do_what_their_names_say() -> None:
    """Otherwise that nothing is misreported says little."""

    def listed(name: str) -> Listing:
        return model(name).listing()

    assert listed("pairs with the same cells").missing_flows >= 20
    few = listed("all flows in a few cells")
    assert few.missing_flows > len(few.flows)
    full = listed("more flows than there is room for")
    assert full.missing_flows > 1000
    stored = listed("stored by others")
    assert stored.residual_cells or stored.missing_flows
    assert any(flow.certainty is not Certainty.EXACT for flow in stored.flows)
    mouse = listed("a source that seems heavy").flows
    assert any(flow.packets == 20 for flow in mouse)
    near = listed("counters near their maximum").flows
    assert (7, Certainty.UNVERIFIED) in [(flow.packets, flow.certainty) for flow in near]
    assert misreported(trace(LOADED), model(LOADED).listing()) == []
    assert model("cut at each byte").unparsed[Reason.TRUNCATED] > 100


@pytest.mark.parametrize("name", [name for name in hostile.NAMES if name != LOADED])
def test_simulator(tmp_path: Path, name: str) -> None:
    """It begins with empty registers."""
    made, file = trace(name), tmp_path / "trace"
    file.write_bytes(pcap((0, frame) for frame in made.frames))
    asked = Simulation(1e9, 0.1, made.thresholds, registers=True, nsh_only=True)
    *windows, end = simulate(file, asked)
    assert isinstance(end, TraceEnd)
    (window,) = windows
    assert not isinstance(window, TraceEnd)
    assert window.registers == model(name).registers()
    assert misreported(made, window.listing()) == []


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    with Lab(tmp_path_factory.mktemp("hostile")) as lab:
        yield start(lab)


@pytest.mark.root
@TRACES
def test_ebpf(tool: Tool, name: str) -> None:
    made, registers = trace(name), Registers(tool.process.pid, SIZES)
    try:
        registers.set(made.thresholds, made.before)
        tool.feed(made.frames)
        assert registers.get() == model(name).registers()
    finally:
        registers.close()


@pytest.mark.root
@pytest.mark.gate_runs(3)
@TRACES
def test_table_of_ebpf(lab: Lab, name: str) -> None:
    """With room for all flows but one."""
    true = Trace(trace(name).frames).packets()
    room = max(1, len(true) - 1)
    tool = start(lab, "--monitor", "table", "--table-flows", str(room))
    tool.feed(trace(name).frames)
    (window,) = tool.ended()
    found = {bytes.fromhex(key): packets for key, packets, _ in window["flows"]}
    padded = {key.ljust(KEY_BYTES, b"\0"): packets for key, packets in true.items()}
    assert all(padded[key] == packets for key, packets in found.items())
    assert len(found) == min(room, len(true))
    assert window["untracked"] == sum(true.values()) - sum(found.values())


@pytest.fixture(scope="module")
def switch() -> Iterator[Any]:
    from support.vnfs.bmv2_bench import Bmv2Bench

    with Bmv2Bench() as bench:
        yield bench


@pytest.mark.root
@pytest.mark.bmv2
@TRACES
def test_bmv2(switch: Any, name: str) -> None:
    from support.vnfs.sff_bench import PORT_NSH

    from sfcperf.vnfs.sfcmon.bmv2 import banks

    made, bank = trace(name), banks.Bank(switch.registers, 1)
    limits = made.thresholds
    switch.control.modify([banks.window(0, eval_packets=0, share=0, least_packets=0)])
    bank.clear()
    if made.before:
        bank.load(made.before)
    asked = {"eval_packets": limits.eval, "share": limits.share, "least_packets": limits.packets}
    switch.control.modify([banks.window(1, **asked)])
    for at in range(0, len(made.frames), AT_ONCE):
        frames = made.frames[at : at + AT_ONCE]
        before = switch.registers.read("Switch.monitor.finished", 1)
        switch.wires[PORT_NSH].send(frames)
        assert eventually(
            lambda: switch.registers.read("Switch.monitor.finished", 1) >= before + len(frames)  # noqa: B023
        )
    assert bank.contents() == model(name).registers()
