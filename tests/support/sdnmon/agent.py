"""sfc-sdnmon-agent, the process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfcperf.dataplane import binaries
from sfcperf.hosts.base import Process
from sfcperf.hosts.namespace import NamespaceHost
from support.network.wires import eventually

TOOL = "sfc-sdnmon-agent"
_TIMEOUT_S = 20


class Agent:
    """The process, which can be started again."""

    def __init__(
        self, host: NamespaceHost, folder: Path, state: Path, command: Sequence[str] = ()
    ) -> None:
        """`command`: another program than that of the tree."""
        self._host, self._folder, self._state = host, folder, state
        self._command = command or [str(binaries.find(TOOL))]
        self._process: Process | None = None
        self.address = f"unix:{folder}/agent.sock"
        """For the switch."""
        self.controller = folder / "controller.sock"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def memory_kb(self) -> int:
        """Resident."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    @property
    def complaints(self) -> str:
        return (self._folder / "agent.err").read_text()

    def start(self, *options: str, relays: Sequence[str] = ()) -> None:
        """Returns when it listens. Without `relays`, between the two sockets above."""
        out = self._folder / "agent.out"
        out.unlink(missing_ok=True)
        relays = relays or [f"{self.address}=unix:{self.controller}"]
        argv = [*self._command, "--state", str(self._state), *options]
        argv += [f"--relay={relay}" for relay in relays]
        self._process = self._host.spawn(argv, stdout=out, stderr=self._folder / "agent.err")
        assert eventually(lambda: out.exists() and "ready" in out.read_text()), self.complaints

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def signal(self, number: int) -> int:
        """Send a signal, and wait for the end: the exit status."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(_TIMEOUT_S)

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop(grace_s=5.0)
