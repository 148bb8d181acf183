"""Frames at a function's interfaces, counted by the kernel."""

from __future__ import annotations

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import InterfaceCounters, interface_counters


class Frames:
    """Counts frames at all interfaces of a function since it was made."""

    def __init__(self, host: Host, interfaces: tuple[str, ...]) -> None:
        """Raises MeasurementError if there is no such interface."""
        self._host = host
        self._interfaces = interfaces
        self._at_start = self._read()

    def counters(self) -> dict[str, int]:
        """Return `received`, `forwarded` (sent) and `dropped` by the interfaces. Raises
        MeasurementError if one is gone."""
        pairs = zip(self._read(), self._at_start, strict=True)
        since = [now - start for now, start in pairs]
        return {
            "received": sum(each.rx_packets for each in since),
            "forwarded": sum(each.tx_packets for each in since),
            "dropped": sum(each.rx_drops + each.tx_drops for each in since),
        }

    def _read(self) -> list[InterfaceCounters]:
        counted = interface_counters(self._host.read_text("/proc/net/dev"))
        for interface in self._interfaces:
            if interface not in counted:
                raise MeasurementError(f"the interface {interface} is gone")
        return [counted[interface] for interface in self._interfaces]
