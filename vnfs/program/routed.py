"""A program beside or in the kernel's forwarding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.hosts.base import Host
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.kernel_forwarding import KernelForwarding
from sfcperf.vnfs.program.program import Program


class Routed(KernelForwarding):
    """A host whose kernel forwards between its interfaces, as setup commands and program have it:
    rules, queues of netfilter, routes into TUN devices. Packets are forwarded when the program is
    ready, not before."""

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        super().__init__(host, attachment, knobs)
        self._program = Program(host, attachment, knobs)

    def set_up(self) -> None:
        """Run the setup commands, start the program and wait until it is ready."""
        self._program.prepare()
        self._program.start()

    def counters(self) -> Mapping[str, int]:
        """Return the counters of kernel forwarding, and those that the program's command prints, in
        place of the kernel's where names are equal. Raises MeasurementError."""
        return {**super().counters(), **self._program.counters()}

    def problem(self) -> str | None:
        """Return how the program has ended, or why the kernel does not forward; None while both
        work."""
        return self._program.problem() or super().problem()

    def facts(self) -> Mapping[str, Any]:
        """Return the command as it was run."""
        return self._program.facts()

    def pids(self) -> tuple[int, ...]:
        """Return the ids of the program's processes."""
        return self._program.pids()

    def data_plane_pids(self) -> tuple[int, ...]:
        """Return the same, unless the kernel is the data plane."""
        return self.pids() if self._program.carries_packets else ()

    def take_away(self) -> None:
        """End the program, and run the teardown commands."""
        self._program.stop()
