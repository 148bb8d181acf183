"""The forwarder as a VNF type: decrements the SI and returns the packet (paper, section IV)."""

from __future__ import annotations

import itertools
import json
import shlex
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.plugins import Requirement
from sfcperf.vnfs import binaries
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction

BINARY = "sfc-forwarder"
START_TIMEOUT_S = 10.0
_starts = itertools.count()
COUNTERS_TIMEOUT_S = 2.0
_POLL_S = 0.002
_COUNTERS_POLL_S = 0.0002


class Forwarder(NetworkFunction):
    """Decrements the service index of each NSH packet and returns it to its SFF."""

    name: ClassVar[str] = "forwarder"
    title: ClassVar[str] = "NSH forwarder: decrements the service index and returns the packet"
    nsh_aware: ClassVar[bool] = True
    interfaces: ClassVar[int] = 1
    # Frames are taken before tc: by XDP, or by a packet socket that gets its copy first.
    kernel_path: ClassVar[bool] = False
    folder: ClassVar[Path] = Path(__file__).resolve().parent
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "engine": {
                "description": "`xdp` works in the driver's receive path: fastest, but in softirq, "
                "where the VNF's vCPUs do not bound it. `userspace` runs one thread pinned to each "
                "of the VNF's vCPUs.",
                "enum": ["xdp", "userspace"],
                "default": "xdp",
            },
        },
    }

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """The compiled tool."""
        return [binaries.requirement(BINARY)]

    @classmethod
    def peer_needs_xdp(cls, knobs: Mapping[str, Any]) -> bool:
        """With engine `xdp`: frames return by XDP_TX."""
        return str(knobs["engine"]) == "xdp"

    @classmethod
    def start(
        cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]
    ) -> RunningForwarder:
        """Start sfc-forwarder on the ingress interface and wait until it forwards."""
        engine = str(knobs["engine"])
        # A new file each time: an old one would say that the function is ready.
        stats = host.workdir / f"{attachment.name}-{next(_starts)}.stats"
        argv = [str(binaries.find(BINARY)), "--engine", engine]
        argv += ["--interface", attachment.interfaces[0], "--stats", str(stats)]
        if engine == "userspace" and attachment.vcpus:
            argv += ["--cpus", ",".join(map(str, attachment.vcpus))]
        running = RunningForwarder(attachment.name, host, stats, host.spawn(argv))
        try:
            running.wait_ready()
        except BaseException:
            running.stop()
            raise
        return running


def attach_pass(host: Host, interfaces: list[str]) -> None:
    """Give the SFF's ends of veths an XDP program that passes everything, in native mode.

    One process for all of them; it stays until the interfaces go. Raises DeploymentError.
    """
    if not interfaces:
        return
    argv = [str(binaries.find(BINARY)), "--attach-pass", *interfaces]
    try:
        host.run(argv, timeout_s=START_TIMEOUT_S)
    except MeasurementError as error:
        raise DeploymentError(
            f"the SFF's ports cannot carry an XDP program: {error.message}",
            where=host.name,
            hint='set the forwarder\'s knob "engine" to "userspace"',
        ) from error


class RunningForwarder(RunningFunction):
    """An sfc-forwarder process and its stats file."""

    def __init__(self, name: str, host: Host, stats: Path, process: Process) -> None:
        self._name = name
        self._host = host
        self._stats = stats
        self._process = process

    def wait_ready(self) -> None:
        """Return when packets are forwarded. Raises DeploymentError when they never will be."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while self._event() is None:
            if self._process.poll() is not None and self._event() is None:
                break
            if time.monotonic() > deadline:
                raise DeploymentError(
                    f"{self._name}: {BINARY} is not ready after {START_TIMEOUT_S:g} s"
                )
            time.sleep(_POLL_S)
        if (problem := self.problem()) is not None:
            raise DeploymentError(
                f"{self._name}: {problem}",
                where=self._host.name,
                hint=f"run it there by hand to see more: {shlex.join(self._process.argv)}",
            )

    def counters(self) -> Mapping[str, int]:
        """Packets since the start, now.

        `received`, `forwarded` and `dropped` count NSH packets sent to this function; `passed`
        are frames left to the kernel; `dropped_REASON` per reason; `forwarded_spiN_siM` per path,
        with the SI as the packet arrived; `forwarded_workerN` per thread of engine `userspace`.
        Raises MeasurementError.
        """
        event = self._fresh()
        counters = {name: event[name] for name in ("received", "forwarded", "dropped", "passed")}
        counters |= {f"dropped_{reason}": count for reason, count in event["drops"].items()}
        for path in event["paths"]:
            counters[f"forwarded_spi{path['spi']}_si{path['si']}"] = path["packets"]
        for number, forwarded in enumerate(event["workers"]):
            counters[f"forwarded_worker{number}"] = forwarded
        return counters

    def problem(self) -> str | None:
        """None while the process runs."""
        event = self._event()
        if event is not None and event["event"] == "failed":
            return str(event["error"])
        status = self._process.poll()
        return None if status is None else f"{BINARY} has ended with status {status}"

    def stop(self) -> None:
        """SIGTERM; an XDP program goes with the process."""
        self._process.stop()

    def _fresh(self) -> dict[str, Any]:
        """Counters written after this was asked, or the last ones of a process that has ended."""
        before = self._counted()
        self._process.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + COUNTERS_TIMEOUT_S
        while True:
            ended = self._process.poll() is not None
            event = self._counted()
            if event is not None and (ended or before is None or event != before):
                return event
            if ended or time.monotonic() > deadline:
                raise MeasurementError(
                    "the forwarder's counters cannot be read", where=str(self._stats)
                )
            time.sleep(_COUNTERS_POLL_S)

    def _counted(self) -> dict[str, Any] | None:
        event = self._event()
        return event if event is not None and event["event"] == "counters" else None

    def _event(self) -> dict[str, Any] | None:
        """What the stats file says; None before there is one, or in the midst of a write."""
        try:
            event = json.loads(self._host.read_text(str(self._stats)))
        except (MeasurementError, json.JSONDecodeError):
            return None
        if not isinstance(event, dict) or event.get("event") not in ("counters", "failed"):
            return None
        return event if event.get("sequence") == event.get("sequence_end") else None
