"""A program that gets frames as they are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import InterfaceCounters, interface_counters
from sfcperf.vnfs.base import Attachment, RunningFunction
from sfcperf.vnfs.kernel_forwarding import COMMAND_TIMEOUT_S, all_or_nothing, deploying
from sfcperf.vnfs.kernel_settings import KernelSettings
from sfcperf.vnfs.program.program import Program

_NO_IPV6 = "net/ipv6/conf/{}/disable_ipv6"


class Unrouted(RunningFunction):
    """A host that forwards nothing by itself: the program takes frames from one interface and
    sends them by the other, or returns them where there is one; or the kernel does so, as the setup
    commands have it, for example by a bridge."""

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        """Make the function, and change nothing yet. Raises MeasurementError."""
        self._host = host
        self._interfaces = attachment.interfaces
        self._settings = KernelSettings(host)
        self._program = Program(host, attachment, knobs)
        self._at_start = self._counted()
        self._stopped = False

    @classmethod
    def launch(
        cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]
    ) -> RunningFunction:
        """Bring the interfaces up, run the setup commands, start the program. Raises
        DeploymentError, which names the instance; nothing stays then."""
        with deploying(attachment.name, host):
            running = cls(host, attachment, knobs)
            with all_or_nothing(running):
                running._bring_up()
                running._program.prepare()
                running._program.start()
        return running

    def _bring_up(self) -> None:
        """Bring the interfaces up, for frames to any address, and without IPv6, also on a bridge
        that will be made: the host itself sends nothing. Raises MeasurementError."""
        names = ("default", *self._interfaces)
        forwarding = {f"net/ipv4/conf/{name}/forwarding": "0" for name in self._interfaces}
        self._settings.set({_NO_IPV6.format(name): "1" for name in names} | forwarding)
        self._links("promisc on up")

    def counters(self) -> Mapping[str, int]:
        """Return frames since the start at all interfaces: `received`, `forwarded` (sent) and
        `dropped` by the interfaces; and what the program's command prints, in place of these where
        names are equal. Raises MeasurementError."""
        now = self._counted()
        since = [now[name] - self._at_start[name] for name in self._interfaces]
        return {
            "received": sum(each.rx_packets for each in since),
            "forwarded": sum(each.tx_packets for each in since),
            "dropped": sum(each.rx_drops + each.tx_drops for each in since),
            **self._program.counters(),
        }

    def problem(self) -> str | None:
        """Return how the program has ended, or which interface is gone; None while it works."""
        try:
            self._counted()
        except MeasurementError as error:
            return error.message
        return self._program.problem()

    def facts(self) -> Mapping[str, Any]:
        """Return the command as it was run."""
        return self._program.facts()

    @property
    def hides_packets(self) -> bool:
        """Whether the program carries frames: it gets them from packet sockets, or by XDP."""
        return self._program.carries_packets

    def pids(self) -> tuple[int, ...]:
        """Return the ids of the program's processes."""
        return self._program.pids()

    def data_plane_pids(self) -> tuple[int, ...]:
        """Return the same, unless the kernel is the data plane."""
        return self.pids() if self._program.carries_packets else ()

    def stop(self) -> None:
        """End the program, run the teardown commands, and give the interfaces back."""
        if self._stopped:
            return
        self._stopped = True
        self._program.stop()
        with suppress(MeasurementError):
            self._links("promisc off")
        with suppress(MeasurementError):
            self._settings.restore({})

    def _links(self, state: str) -> None:
        lines = "".join(f"link set dev {interface} {state}\n" for interface in self._interfaces)
        argv = ["ip", "-batch", "-"]
        self._host.run(argv, stdin=lines.encode(), timeout_s=COMMAND_TIMEOUT_S)

    def _counted(self) -> dict[str, InterfaceCounters]:
        """Read the counters of all interfaces. Raises MeasurementError if one of its own is
        gone."""
        counted = interface_counters(self._host.read_text("/proc/net/dev"))
        for interface in self._interfaces:
            if interface not in counted:
                raise MeasurementError(f"the interface {interface} is gone")
        return counted
