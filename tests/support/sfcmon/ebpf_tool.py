"""A running sfc-sfcmon with a raw Ethernet end at its interface."""

from __future__ import annotations

import json
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sfcperf.vnfs import binaries
from support.network.wires import Lab, Port, Wire, eventually, space
from support.sfcmon.ebpf_registers import processed

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


def start(lab: Lab, *options: str, window_ms: str = HOUR_MS) -> Tool:
    """Start it with these options, on a veth of its own."""
    sender, port = lab.join((lab.host("sff"), "sff0"), (lab.host("sf"), "sf0"))
    argv = ["ip", "netns", "exec", space(port.host), str(binaries.find("sfc-sfcmon"))]
    argv += ["--interface", port.interface, "--window-ms", window_ms, *options]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    lab.at_end(process.wait)
    lab.at_end(process.terminate)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"event": "ready"}
    wire = sender.wire()
    lab.at_end(wire.close)
    return Tool(sender, wire, process)


def from_both_cpus(lab: Lab, tool: Tool, frames: list[bytes]) -> None:
    """Send the frames twice, at the same time, and wait until all are monitored."""
    before = processed(tool.process.pid)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            wire = tool.sender.wire()
            lab.at_end(wire.close)
            pool.submit(wire.send, frames)
    assert eventually(lambda: processed(tool.process.pid) >= before + 2 * len(frames))
