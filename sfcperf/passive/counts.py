"""Turns readings of counters into telemetry: what was added since the reading before, its rate, and
the total."""

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
"""Counter -> metric of its rate, unit of the rate, and factor from the counter to that unit (8 bits
for a byte)."""


class Counts:
    """Keeps the counters of one monitor, by source and name. Names of metrics begin with `prefix`.
    Rates over less than `shortest_s` are left out, because they would be too rough."""

    def __init__(self, shortest_s: float, prefix: str = "") -> None:
        self._shortest_s = shortest_s
        self._prefix = prefix
        self._last: dict[tuple[str, str], tuple[float, float]] = {}
        """Source and name of a counter -> when it was read last (seconds), and its value then."""
        self._totals: dict[tuple[str, str], float] = {}
        """Source and name -> what was added since the first reading."""

    def see(
        self, time_ns: int, source: str, name: str, value: float, now_s: float
    ) -> Iterator[Observation]:
        """Take a counter's value, read at `now_s` of the monotonic clock, and give what was added
        since the reading before, and its rate. The first reading of a counter gives nothing, since
        there is nothing to compare it with."""
        key = (source, name)
        if key not in self._last:
            self._last[key] = (now_s, value)
            self._totals[key] = 0.0
            return
        then_s, before = self._last[key]
        self._last[key] = (now_s, value)
        # A counter that went back began again from 0, since its instance was started again.
        added = value - before if value >= before else value
        self._totals[key] += added
        yield Observation(time_ns, source, self._prefix + name, unit(name), added)
        elapsed_s = now_s - then_s
        if name in _RATES and elapsed_s >= self._shortest_s:
            metric, rate_unit, factor = _RATES[name]
            rate = added * factor / elapsed_s
            yield Observation(time_ns, source, self._prefix + metric, rate_unit, rate)

    def totals(self, time_ns: int) -> list[Observation]:
        """Return what was added to each counter since its first reading: `rx_packets_total` and so
        on."""
        return [
            Observation(time_ns, source, f"{self._prefix}{name}_total", unit(name), total)
            for (source, name), total in self._totals.items()
        ]


def unit(name: str) -> str:
    """Return the unit of a counter or amount by the ending of its name: `_bytes`, `_s`, or else
    1."""
    return "B" if name.endswith("_bytes") else "s" if name.endswith("_s") else "1"
