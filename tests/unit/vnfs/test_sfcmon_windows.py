"""What a process of SFCMon prints becomes windows of flows: registers of the reference model."""

from __future__ import annotations

import json
import signal
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from support.sfcmon.frames import over_ethernet, tcp6, udp4

from sfcperf.dataplane import printed_windows
from sfcperf.dataplane.nsh import Nsh
from sfcperf.dataplane.nsh.frame import parse
from sfcperf.dataplane.printed_windows import PrintedWindows
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.management.deployment import FlowWindow
from sfcperf.vnfs.sfcmon import running
from sfcperf.vnfs.sfcmon.model import Bank
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds

THRESHOLDS = Thresholds(eval=0, share=1 << 30, packets=0)


class Tool:
    """A process that ends its window when it is asked to."""

    def __init__(self, output: Path, *windows: dict[str, Any]) -> None:
        self._output = output
        self._windows = list(windows)

    def send_signal(self, number: int) -> None:
        assert number == signal.SIGUSR2
        if self._windows:
            self.print({**self._windows.pop(0), "asked": True})

    def print(self, window: dict[str, Any], end: str = "\n") -> None:
        with self._output.open("a") as file:
            file.write(json.dumps(window) + end)


def printed(frames: list[bytes], start_ns: int = 0) -> dict[str, Any]:
    """The line that sfc-sfcmon prints for a window of these frames."""
    bank = Bank(Sizes(), THRESHOLDS)
    for frame in frames:
        bank.receive(frame)
    registers = bank.registers()
    return {
        "event": "window",
        "asked": False,
        "start_ns": start_ns,
        "end_ns": start_ns + 9,
        "packets": registers["packets"],
        "unparsed": registers["unparsed"],
        "thresholds": {"share": THRESHOLDS.share, "packets": THRESHOLDS.packets},
        "iblt": registers["iblt"],
    }


def windows(tool: Tool, output: Path) -> list[FlowWindow]:
    read = partial(running.flow_window, sizes=Sizes())
    return PrintedWindows(cast(Process, tool), output, "tool", read).end_window()


def test_flows_are_decoded(tmp_path: Path) -> None:
    output = tmp_path / "windows.jsonl"
    nsh = Nsh(spi=0x800001, si=253, next_protocol=1)
    frames = [over_ethernet(udp4("10.0.0.1", "10.1.0.1", 1000, size=10), nsh)] * 3
    frames += [over_ethernet(tcp6("fd00::1", "fd00::2", 2000), Nsh(7, 255, next_protocol=2))] * 3
    frames.append(bytes(60))
    output.write_text('{"event": "ready"}\n')
    tool = Tool(output, printed(frames, 100))
    tool.print(printed([], 50))
    (earlier, window) = windows(tool, output)
    assert (earlier.start_ns, earlier.packets, earlier.flows) == (50, 0, ())
    assert (window.start_ns, window.end_ns, window.packets) == (100, 109, 6)
    assert window.threshold_packets == 2  # a quarter of 6, rounded up
    assert window.unparsed == {"not_nsh": 1, "nsh": 0, "not_ip": 0, "ip": 0, "truncated": 0}
    assert (window.missing_flows, window.missing_packets, window.residual_cells) == (0, 0, 0)
    found = {flow.source_address: flow for flow in window.flows}
    assert len(window.flows) == len(found) == 2
    four, six = found["10.0.0.1"], found["fd00::1"]
    assert (four.spi, four.si, four.protocol, four.protocol_name) == (0x800001, 253, 17, "udp")
    assert (four.source_port, four.destination_address) == (1000, "10.1.0.1")
    assert (four.packets, four.bytes, four.certainty) == (3, 3 * (20 + 8 + 10), "exact")
    assert (six.spi, six.si, six.protocol_name, six.source_port) == (7, 255, "tcp", 2000)
    assert (six.destination_address, six.packets) == ("fd00::2", 3)


@pytest.mark.parametrize(("untracked", "missing"), [(0, 0), (5, None)])
def test_flows_of_a_table_are_exact(tmp_path: Path, untracked: int, missing: int | None) -> None:
    output = tmp_path / "windows.jsonl"
    key = parse(over_ethernet(udp4("10.0.0.1", "10.1.0.1", 7), Nsh(9, 8, next_protocol=1))).flow
    padded = key.flow_id_2.ljust(44, b"\0").hex()
    table = {**printed([]), "packets": 8, "untracked": untracked, "flows": [[padded, 3, 300]]}
    (window,) = windows(Tool(output, table), output)
    assert (window.missing_flows, window.missing_packets) == (missing, untracked)
    (flow,) = window.flows
    assert (flow.spi, flow.si, flow.source_address, flow.source_port) == (9, 8, "10.0.0.1", 7)
    assert (flow.packets, flow.bytes, flow.certainty) == (3, 300, "exact")


def test_a_tool_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed_windows, "WINDOW_TIMEOUT_S", 0.05)
    tool = Tool(tmp_path / "windows.jsonl")
    tool.print(printed([]), end="")
    with pytest.raises(MeasurementError, match="did not end its window"):
        windows(tool, tmp_path / "windows.jsonl")
