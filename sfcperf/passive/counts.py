"""Counters as they rise: what was added since the look before, as a rate too, and in total."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sfcperf.results.values import Observation

_RATES: Mapping[str, tuple[str, str, int]] = {
    "cpu_s": ("cpu_cores", "1", 1),
    "rx_bytes": ("rx_bps", "bit/s", 8),
    "tx_bytes": ("tx_bps", "bit/s", 8),
    "rx_packets": ("rx_pps", "1/s", 1),
    "tx_packets": ("tx_pps", "1/s", 1),
}
"""Counter -> metric and unit of its rate, and how many of that unit one of it is."""


class Counts:
    """Those of a monitor, by source and name. Names of metrics begin with `prefix`; a rate is told
    over shortest_s or longer."""

    def __init__(self, shortest_s: float, prefix: str = "") -> None:
        self._shortest_s = shortest_s
        self._prefix = prefix
        self._last: dict[tuple[str, str], tuple[float, float]] = {}
        self._totals: dict[tuple[str, str], float] = {}

    def see(
        self, time_ns: int, source: str, name: str, value: float, now_s: float
    ) -> Iterator[Observation]:
        """A counter's value at `now_s` of the monotonic clock; nothing is told at the first."""
        key = (source, name)
        if key not in self._last:
            self._last[key] = (now_s, value)
            self._totals[key] = 0.0
            return
        then_s, before = self._last[key]
        self._last[key] = (now_s, value)
        # A count that went back began anew, with its instance.
        added = value - before if value >= before else value
        self._totals[key] += added
        yield Observation(time_ns, source, self._prefix + name, unit(name), added)
        elapsed_s = now_s - then_s
        if name in _RATES and elapsed_s >= self._shortest_s:
            metric, rate_unit, factor = _RATES[name]
            rate = added * factor / elapsed_s
            yield Observation(time_ns, source, self._prefix + metric, rate_unit, rate)

    def totals(self, time_ns: int) -> list[Observation]:
        """Counts since the first look: `rx_packets_total` and so on."""
        return [
            Observation(time_ns, source, f"{self._prefix}{name}_total", unit(name), total)
            for (source, name), total in self._totals.items()
        ]


def unit(name: str) -> str:
    """Of what has this name."""
    return "B" if name.endswith("_bytes") else "s" if name.endswith("_s") else "1"
