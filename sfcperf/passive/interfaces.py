"""interfaces: reads what the interface of each hop counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import InterfaceCounters, interface_counters
from sfcperf.management.deployment import Deployment, Hop
from sfcperf.passive.sampling import SampleTime, SamplingMonitor
from sfcperf.results.values import Observation


class InterfaceMonitor(SamplingMonitor):
    """Counters of /proc/net/dev at each hop.

    Each sample has the increase since the previous one (`rx_packets`, `rx_bytes`, `rx_errors`,
    `rx_drops`, and the same with `tx_`) and the rates `rx_pps`, `tx_pps` (1/s), `rx_bps` and
    `tx_bps` (bit/s). At the end come the counts since the start, `rx_packets_total` and so on.
    Directions are those of the SFF: rx is what comes out of the SF or endpoint, tx what goes into
    it, even if the monitor reads the SF's own interface (`Hop.inside`), as in a VM.
    """

    name = "interfaces"
    title = "Packets, bytes, errors and drops at each hop"
    cost = (
        "reads /proc/net/dev once per host and interval: on this machine without starting a "
        "process; in a VM with an SSH round trip, which takes some ms of the VM's CPU time"
    )

    def begin(self, deployment: Deployment) -> None:
        """Take the hops of the deployment."""
        self._hops: tuple[Hop, ...] = deployment.hops

    def sample(self, time_ns: int) -> Iterator[Observation]:
        """Give what was added to the counters of each hop since the previous sample, and rates. The
        first call gives nothing."""
        for hop, (now_s, counters) in self._read().items():
            for name, value in asdict(counters).items():
                yield from self._counts.see(time_ns, hop, name, value, now_s)

    def _read(self) -> dict[str, tuple[float, InterfaceCounters]]:
        """Read the counters of each hop, and when they were read (monotonic clock, seconds). Each
        host is read once, however many of the hops are on it. Raises MeasurementError for a host
        without the hop's interface."""
        readings: dict[Host, tuple[float, dict[str, InterfaceCounters]]] = {}
        counters = {}
        for hop in self._hops:
            if hop.host not in readings:
                look = SampleTime()
                there = interface_counters(hop.host.read_text("/proc/net/dev"))
                readings[hop.host] = (look.middle_s(), there)
            moment, there = readings[hop.host]
            if hop.interface not in there:
                raise MeasurementError(
                    f"hop {hop.name}: {hop.host.name} has no interface {hop.interface}"
                )
            own = there[hop.interface]
            counters[hop.name] = (moment, own.from_the_other_end() if hop.inside else own)
        return counters
