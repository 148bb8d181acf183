"""A running pptmon: what it prints, and its end."""

from __future__ import annotations

import signal
from pathlib import Path

from sfcperf.dataplane import binaries
from sfcperf.dataplane.pptmon.events import Counters, Event, ReadyEvent, Sample, parse
from sfcperf.hosts.base import Process
from sfcperf.hosts.namespace import NamespaceHost
from support.network.wires import eventually

BINARY = "pptmon"


class Pptmon:
    """On the two interfaces of a VNF."""

    def __init__(
        self, host: NamespaceHost, folder: Path, mode: str, vnf_id: int, ingress: str, egress: str,
        options: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{host.name}-{ingress}-{egress}-{vnf_id}"
        self._out, self._err = folder / f"{name}.jsonl", folder / f"{name}.err"
        argv = [str(binaries.find(BINARY)), "--mode", mode, "--vnf-id", str(vnf_id)]
        argv += ["--ingress", ingress, "--egress", egress, *options]
        self.process: Process = host.spawn(argv, stdout=self._out, stderr=self._err)

    def wait_ready(self) -> ReadyEvent:
        """Once its programs are attached."""
        eventually(lambda: bool(self.events()) or self.process.poll() is not None)
        for event in self.events():
            if isinstance(event, ReadyEvent):
                return event
        raise AssertionError(f"pptmon is not ready: {self._out.read_text()}{self._err.read_text()}")

    def events(self) -> list[Event]:
        """All whole lines up to now."""
        text = self._out.read_text() if self._out.exists() else ""
        return [parse(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def samples(self, wanted: int | None = None) -> list[Sample]:
        """Reported samples; waits for a number of them, which may be all there is."""
        if wanted is not None:
            eventually(lambda: len(self.samples()) >= wanted)
        return [event for event in self.events() if isinstance(event, Sample)]

    def counters(self) -> Counters:
        """Asked for anew."""
        before = self._counted()
        self.process.send_signal(signal.SIGUSR1)
        assert eventually(lambda: len(self._counted()) > len(before)), "no counters"
        return self._counted()[-1]

    def _counted(self) -> list[Counters]:
        return [event for event in self.events() if isinstance(event, Counters)]

    def stop(self) -> None:
        """SIGTERM; it must end well."""
        if self.process.poll() is None:
            status = self.process.stop(grace_s=10)
            assert status == 0, f"pptmon ended with {status}: {self._err.read_text()}"

    def kill(self) -> None:
        """However it is."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)
