"""interfaces: what each hop's interface counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import InterfaceCounters, interface_counters
from sfcperf.management.deployment import Deployment, Hop
from sfcperf.passive.sampling import Look, SamplingMonitor
from sfcperf.results.values import Observation

_BITS_PER_BYTE = 8


class InterfaceMonitor(SamplingMonitor):
    """Counters of /proc/net/dev at each hop.

    At each sample, what was added since the one before: `rx_packets`, `rx_bytes`, `rx_errors`,
    `rx_drops` and the same with `tx_`, and as rates `rx_pps`, `tx_pps` (1/s), `rx_bps`, `tx_bps`
    (bit/s). At the end the same counts since the start, named `rx_packets_total` and so on. A hop
    is seen from the SFF: rx is what comes out of the SF or endpoint, tx what goes into it; also
    where the interface that is read is the SF's own (`Hop.inside`), as in a VM.
    """

    name = "interfaces"
    title = "Packets, bytes, errors and drops at each hop"
    cost = (
        "reads /proc/net/dev once per host and interval, in this machine without starting a "
        "process; in a VM a round trip of SSH, some ms of its CPU time"
    )

    def begin(self, deployment: Deployment) -> None:
        """See SamplingMonitor.begin."""
        self._hops: tuple[Hop, ...] = deployment.hops
        self._first: dict[str, InterfaceCounters] = {}
        self._last: dict[str, tuple[float, InterfaceCounters]] = {}

    def sample(self, time_ns: int) -> Iterator[Observation]:
        """Deltas and rates of each hop; none at the first call."""
        for hop, (now, current) in self._read().items():
            if hop in self._last:
                then, before = self._last[hop]
                delta = current - before
                yield from _deltas(time_ns, hop, delta)
                if now - then >= self.shortest_s:
                    yield from _rates(time_ns, hop, delta, now - then)
            else:
                self._first[hop] = current
            self._last[hop] = (now, current)

    def totals(self, time_ns: int) -> Iterable[Observation]:
        """Counts since the start."""
        return [
            Observation(time_ns, hop, f"{name}_total", _unit(name), value)
            for hop, (_, last) in self._last.items()
            for name, value in asdict(last - self._first[hop]).items()
        ]

    def _read(self) -> dict[str, tuple[float, InterfaceCounters]]:
        """By hop, when and what. Each host is read once, however many of the hops are on it."""
        seen: dict[Host, tuple[float, dict[str, InterfaceCounters]]] = {}
        counters = {}
        for hop in self._hops:
            if hop.host not in seen:
                look = Look()
                there = interface_counters(hop.host.read_text("/proc/net/dev"))
                seen[hop.host] = (look.middle_s(), there)
            moment, there = seen[hop.host]
            if hop.interface not in there:
                raise MeasurementError(
                    f"hop {hop.name}: {hop.host.name} has no interface {hop.interface}"
                )
            own = there[hop.interface]
            counters[hop.name] = (moment, own.from_the_other_end() if hop.inside else own)
        return counters


def _deltas(time_ns: int, hop: str, delta: InterfaceCounters) -> Iterator[Observation]:
    for name, value in asdict(delta).items():
        yield Observation(time_ns, hop, name, _unit(name), value)


def _rates(
    time_ns: int, hop: str, delta: InterfaceCounters, seconds: float
) -> Iterator[Observation]:
    for way, packets, count in (
        ("rx", delta.rx_packets, delta.rx_bytes),
        ("tx", delta.tx_packets, delta.tx_bytes),
    ):
        yield Observation(time_ns, hop, f"{way}_pps", "1/s", packets / seconds)
        rate_bps = count * _BITS_PER_BYTE / seconds
        yield Observation(time_ns, hop, f"{way}_bps", "bit/s", rate_bps)


def _unit(name: str) -> str:
    return "B" if name.endswith("bytes") else "1"
