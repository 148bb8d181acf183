"""SDN-Mon by a switch's OpenFlow channel: an agent before the switch, and a controller."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sdnmon import channel_link
from sfcperf.dataplane.sdnmon.bpf_file_system import BpfFileSystem
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Conversation, Process
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
    ends with this process, also if it is killed."""

    def __init__(self, switch: Switch, outputs: Path, link_rate_bps: int | None = None) -> None:
        """Start the controller and the agent. `outputs`: a folder for what the agent prints;
        `link_rate_bps`: rate of the link between the two, None for that of the loopback interface.
        Raises MeasurementError."""
        self._switch = switch
        self._link = ExitStack()
        self._process: Process | None = None
        self._controller: Conversation | None = None
        self._pins = BpfFileSystem()
        try:
            self._controller = switch.host.converse([sys.executable, "-m", _MODULE])
            if link_rate_bps is not None:
                self._link.enter_context(channel_link.limited(switch.host, link_rate_bps))
            self._start_agent(outputs, self.ask("listen")["address"])
        except BaseException:
            self.close()
            raise

    def _start_agent(self, outputs: Path, controller: str) -> None:
        """Start the agent, and wait until it is ready. `controller` is the address where the
        controller listens. Raises MeasurementError."""
        host = self._switch.host
        out, err = outputs / "agent.out", outputs / "agent.err"
        out.unlink(missing_ok=True)
        argv = [host.program(binaries.find(AGENT)), "--state", f"{self._pins.folder}/switch"]
        argv += [f"--relay=to:{self._switch.openflow}=tcp:{controller}"]
        argv += [f"--port={port}" for port in self._switch.interfaces]
        self._process = host.spawn(argv, stdout=out, stderr=err)
        ready = self._process.becomes(
            lambda: out.exists() and "ready" in out.read_text(),
            timeout_s=_READY_S, period_s=_POLL_S,
        )  # fmt: skip
        if not ready:
            complaint = err.read_text(errors="replace").strip() or "it said nothing"
            raise MeasurementError(f"the agent of SDN-Mon does not start: {complaint}")

    def ask(self, question: str, **arguments: Any) -> dict[str, Any]:
        """Call a method of the controller's Questions by a line of JSON, and return the answer.
        Raises MeasurementError with the controller's error."""
        assert self._controller is not None
        line = json.dumps({"do": question, **arguments}) + "\n"
        answer: dict[str, Any] = json.loads(self._controller.ask(line.encode(), ANSWER_S))
        if "error" in answer:
            raise MeasurementError(f"SDN-Mon, {question}: {answer['error']}")
        return answer

    def close(self) -> None:
        """Stop the agent, then the controller, and undo what else was done; call it once."""
        if self._process is not None:
            self._process.stop(grace_s=_GRACE_S)
        if self._controller is not None:
            self._controller.close()
        self._link.close()
        self._pins.close()
