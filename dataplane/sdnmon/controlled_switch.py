"""SDN-Mon by a switch's OpenFlow channel: an agent before the switch, and a controller."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sdnmon import channel_link
from sfcperf.dataplane.sdnmon.bpf_file_system import BpfFileSystem
from sfcperf.errors import MeasurementError
from sfcperf.hosts.procfs import interface_counters
from sfcperf.management.deployment import Switch

AGENT = "sfc-sdnmon-agent"
_MODULE = "sfcperf.dataplane.sdnmon.controller.questions"
_READY_S = 20.0
_POLL_S = 0.01
_GRACE_S = 5.0
ANSWER_S = 120.0
"""How long an answer may take: to add a million entries takes some ten seconds on a busy
machine."""


class ControlledSwitch:
    """A switch that an SDN-Mon agent connects to a further controller, until `close`. Monitoring
    ends with this process, also if it is killed; the limit of the link then ends with the host's
    namespace."""

    def __init__(self, switch: Switch, outputs: Path, link_rate_bps: int | None = None) -> None:
        """Start the controller and the agent. `outputs`: a folder for what the agent prints;
        `link_rate_bps`: rate of the link between the two, None for that of the loopback interface.
        Raises MeasurementError."""
        self._switch = switch
        with ExitStack() as stack:
            pins = stack.enter_context(BpfFileSystem())
            argv = [sys.executable, "-m", _MODULE]
            self._controller = stack.enter_context(closing(switch.host.converse(argv)))
            if link_rate_bps is not None:
                stack.enter_context(channel_link.limited(switch.host, link_rate_bps))
            listens = self.ask("listen")["address"]
            self._start_agent(stack, outputs, f"{pins.folder}/switch", listens)
            self._open = stack.pop_all()

    def _start_agent(self, stack: ExitStack, outputs: Path, state: str, controller: str) -> None:
        """Start the agent, which `stack` stops, and wait until it is ready. `state`: folder for its
        maps; `controller`: address where the controller listens. Raises MeasurementError."""
        host = self._switch.host
        out, err = outputs / "agent.out", outputs / "agent.err"
        out.unlink(missing_ok=True)
        argv = [host.program(binaries.find(AGENT)), "--state", state]
        argv += [f"--relay=to:{self._switch.openflow}=tcp:{controller}"]
        argv += [f"--port={port}" for port in self._switch.interfaces]
        process = host.spawn(argv, stdout=out, stderr=err)
        stack.callback(process.stop, grace_s=_GRACE_S)
        ready = process.becomes(
            lambda: out.exists() and "ready" in out.read_text(),
            timeout_s=_READY_S, period_s=_POLL_S,
        )  # fmt: skip
        if not ready:
            complaint = err.read_text(errors="replace").strip() or "it said nothing"
            raise MeasurementError(f"the agent of SDN-Mon does not start: {complaint}")

    def ask(self, question: str, **arguments: Any) -> dict[str, Any]:
        """Call a method of the controller's Questions by a line of JSON, and return the answer.
        Raises MeasurementError with the controller's error."""
        line = json.dumps({"do": question, **arguments}) + "\n"
        answer: dict[str, Any] = json.loads(self._controller.ask(line.encode(), ANSWER_S))
        if "error" in answer:
            raise MeasurementError(f"SDN-Mon, {question}: {answer['error']}")
        return answer

    def channel_bytes(self) -> int:
        """Bytes that the loopback interface of the switch's host has carried: agent and controller
        talk by it, and nobody else does."""
        return interface_counters(self._switch.host.read_text("/proc/net/dev"))["lo"].tx_bytes

    def close(self) -> None:
        """Stop the agent, then the controller, and undo what else was done."""
        self._open.close()
