"""A running sfc-sfcmon with a raw Ethernet end at its interface."""

from __future__ import annotations

import json
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sff.process import SffProcess
from support.network.wires import Lab, Port, Wire, eventually, space
from support.sfcmon.ebpf_registers import processed

Place = Literal["function", "sff", "port"]
"""An NSH service function, a running sfc-sff, or a port of another SFF."""
PLACES: tuple[Place, ...] = ("function", "sff", "port")
BATCH = 100
"""Frames that fit into the queue of a veth, from both CPUs."""
HOUR_MS = "3600000"


@dataclass
class Tool:
    """It ends with the lab."""

    sender: Port
    """The other end of its interface."""
    wire: Wire
    process: subprocess.Popen[str]

    def feed(self, frames: list[bytes]) -> None:
        """Send frames, and wait until all are monitored."""
        before = processed(self.process.pid)
        self.wire.send(frames)
        assert eventually(lambda: processed(self.process.pid) >= before + len(frames))

    def window(self) -> dict[str, Any]:
        """End the window."""
        self.process.send_signal(signal.SIGUSR2)
        assert self.process.stdout is not None
        window: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert window["event"] == "window"
        return window

    def ended(self) -> list[dict[str, Any]]:
        """End it; gives its windows."""
        self.process.terminate()
        assert self.process.stdout is not None
        printed = [json.loads(line) for line in self.process.stdout]
        assert self.process.wait() == 0
        return [line for line in printed if line["event"] == "window"]


def start(lab: Lab, *options: str, window_ms: str = HOUR_MS, place: Place = "function") -> Tool:
    """Start it with these options, on a veth of its own."""
    sender, port = lab.join((lab.host("sender"), "end0"), (lab.host("sf"), "sf0"))
    if place == "sff":
        _take_frames(lab, port)
    where = {
        "function": ["--interface", port.interface],
        "sff": ["--sff", port.interface],
        "port": [f"{port.interface}:nsh"],
    }
    argv = ["ip", "netns", "exec", space(port.host), str(binaries.find("sfc-sfcmon"))]
    argv += [*where[place], "--window-ms", window_ms, *options]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    lab.at_end(process.wait)
    lab.at_end(process.terminate)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"event": "ready"}
    wire = sender.wire()
    lab.at_end(wire.close)
    return Tool(sender, wire, process)


def _take_frames(lab: Lab, port: Port) -> None:
    """An sfc-sff that drops all that comes, after its lookup."""
    tables = f"node {port.mac}\nport 1 interface {port.interface} kind nsh mtu 1400\n"
    running = SffProcess.launch("sff", port.host, tables)
    lab.at_end(running.stop)


def from_both_cpus(lab: Lab, tool: Tool, frames: list[bytes]) -> None:
    """Send the frames twice, at the same time, and wait until all are monitored."""
    wires = [tool.sender.wire() for _ in range(2)]
    for wire in wires:
        lab.at_end(wire.close)
    counted = processed(tool.process.pid)
    with ThreadPoolExecutor(len(wires)) as pool:
        for start in range(0, len(frames), BATCH):
            batch = frames[start : start + BATCH]
            for sent in [pool.submit(wire.send, batch) for wire in wires]:
                sent.result()
            counted += len(wires) * len(batch)
            assert eventually(lambda: processed(tool.process.pid) >= counted)  # noqa: B023
