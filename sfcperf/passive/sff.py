"""sff: reads what the SFFs counted, and where packets spent their time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf.errors import CannotBeMeasured, InputError
from sfcperf.management.deployment import Deployment, LookupCounts, ReportingSff, SffCounts
from sfcperf.management.observable import AskObservable
from sfcperf.passive.sampling import INTERVAL, SampleTime, SamplingMonitor
from sfcperf.plugins import object_schema
from sfcperf.results.values import Observation
from sfcperf.workflow.model import Scenario

SFF_TIME = "sff_time_us"
AWAY = "away_us"
SINCE_FIRST = "since_first_us"
_NS_PER_US = 1000
ENDPOINTS = ("client", "server")
_NONE_COUNTS = "no SFF of this deployment counts what it does, which the monitor `sff` needs"
_HINT = "the local driver's data planes `ebpf` and `bmv2` do, and the OpenStack driver's overlay"
_PREFIXES = {"forward": "", "reverse": "reverse_"}
"""Direction of a lookup -> first part of the names of its metrics."""


class SffMonitor(SamplingMonitor):
    """Packets, bytes and drops that the SFFs count themselves (data planes `ebpf` and `bmv2`).

    The source `sff@NODE` has the increase of `received`, `forwarded`, `bypassed`, `dropped` and
    `dropped_REASON` since the previous sample; the source `sff@NODE/spiN-siM` has `packets` and
    `bytes` of the lookups with this SPI and SI. At the end come the counts since the start,
    `received_total` and so on, and means over the trial, in us, with the number of packets that
    they are of:

    - `sff_time_us` (`sff_timed_packets`) of each lookup: the time of the SFF's program;
    - `away_us` (`away_packets`) of each function: from when the SFF sent packets to it until they
      were back, so it includes the veth pairs on both sides;
    - `since_first_us` (`since_first_packets`) of each endpoint that packets are delivered to: from
      when the SFF first received them until their last lookup. Only where all of the path is on
      one node.

    Names of the reverse direction begin with `reverse_`. SFFs on `bmv2` measure no times: there are
    counts alone.
    """

    name = "sff"
    title = "What the SFFs counted, dropped and took: per SPI and SI, and per function"
    cost = (
        "the SFF traces one packet in `trace`, for which it looks at every packet some tens of ns "
        "longer; reading the counters wakes one process per node and interval"
    )
    parameters = object_schema(
        {
            "interval_s": INTERVAL,
            "trace": {
                "description": "N: one packet in N is traced through the chain; 0: none.",
                "enum": [0, *(1 << power for power in range(13))],
                "default": 16,
            },
        }
    )

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._sffs: Mapping[str, ReportingSff] = {}
        """The SFFs that count; empty before `begin`, so that `stop` has nothing to undo."""

    @classmethod
    def check_scenario(
        cls, parameters: Mapping[str, Any], scenario: Scenario, observable: AskObservable
    ) -> None:
        """Refuse an infrastructure whose SFFs do not count. Raises InputError."""
        seen = observable()  # None: not known before the scenario is built
        if seen is not None and not seen.counting_sffs:
            raise InputError(_NONE_COUNTS, hint=_HINT)

    def begin(self, deployment: Deployment) -> None:
        """Take the SFFs that count. Raises CannotBeMeasured when the deployment has none."""
        if not deployment.sffs:
            raise CannotBeMeasured(_NONE_COUNTS, hint=_HINT)
        self._sffs = deployment.sffs

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Make the SFFs trace one packet in `trace`, read their counters, and start sampling."""
        # `super().start` calls it again; the SFFs are needed before.
        self.begin(deployment)
        self._trace(int(self.parameters["trace"]))
        self._first = {name: sff.read() for name, sff in self._sffs.items()}
        self._last = dict(self._first)
        super().start(deployment, raw_dir)

    def stop(self) -> Sequence[Observation]:
        """Take the last sample and give all observations; tracing ends, also after an error."""
        try:
            return super().stop()
        finally:
            self._trace(0)

    def sample(self, time_ns: int) -> Iterator[Observation]:
        """Give what each SFF and each lookup counted since the previous sample. The first call
        gives nothing."""
        for name, sff in self._sffs.items():
            look = SampleTime()
            counts = sff.read()
            now_s = look.middle_s()
            self._last[name] = counts
            for metric, value in _frames(counts).items():
                yield from self._counts.see(time_ns, name, metric, value, now_s)
            for lookup in counts.lookups:
                source = f"{name}/spi{lookup.spi}-si{lookup.si}"
                yield from self._counts.see(time_ns, source, "packets", lookup.packets, now_s)
                yield from self._counts.see(time_ns, source, "bytes", lookup.bytes, now_s)

    def totals(self, time_ns: int) -> list[Observation]:
        """Give the counts since the start, and the mean times of each lookup."""
        return [*super().totals(time_ns), *self._means(time_ns)]

    def _means(self, time_ns: int) -> Iterator[Observation]:
        """Give the mean times of all lookups, from the first to the last reading of the trial."""
        for name, counts in self._last.items():
            before = {(b.spi, b.si): b for b in self._first[name].lookups}
            for lookup in counts.lookups:
                added = _since(lookup, before.get((lookup.spi, lookup.si)))
                yield from _of_lookup(time_ns, name, added)

    def _trace(self, one_in: int) -> None:
        """Make all SFFs trace one packet in `one_in`; 0: none."""
        for sff in self._sffs.values():
            sff.trace(one_in)


def _frames(counts: SffCounts) -> dict[str, int]:
    """Return the counters of frames of an SFF by the names of their metrics."""
    return {
        "received": counts.received,
        "forwarded": counts.forwarded,
        "bypassed": counts.bypassed,
        "dropped": sum(counts.drops.values()),
        **{f"dropped_{reason}": count for reason, count in counts.drops.items()},
    }


def _since(now: LookupCounts, before: LookupCounts | None) -> LookupCounts:
    """Return a lookup's times, and the numbers of packets that they are of, as they grew since the
    reading `before`; all other fields are those of `now`. `before` is None if the lookup did not
    exist then: all of it is new."""
    if before is None:
        return now
    return replace(
        now,
        timed=now.timed - before.timed,
        time_ns=now.time_ns - before.time_ns,
        traced=now.traced - before.traced,
        away_ns=now.away_ns - before.away_ns,
        since_first_ns=now.since_first_ns - before.since_first_ns,
    )


def _of_lookup(time_ns: int, sff: str, added: LookupCounts) -> Iterator[Observation]:
    """Give the mean times that the counts of a lookup tell: of the SFF itself, of the function that
    the packets come from, and of the whole path if the packets go to an endpoint. `added` is what
    was counted during the trial."""
    prefix = _PREFIXES[added.direction]
    source = f"{sff}/spi{added.spi}-si{added.si}"
    own = (f"{prefix}{SFF_TIME}", added.time_ns, f"{prefix}sff_timed_packets", added.timed)
    yield from _mean(time_ns, source, *own)
    # Packets that come from an endpoint have not been away in a function.
    if added.came_from not in ENDPOINTS:
        metrics = (f"{prefix}{AWAY}", added.away_ns, f"{prefix}away_packets", added.traced)
        yield from _mean(time_ns, added.came_from, *metrics)
    if added.towards in ENDPOINTS:
        metrics = (
            f"{prefix}{SINCE_FIRST}",
            added.since_first_ns,
            f"{prefix}since_first_packets",
            added.traced,
        )
        yield from _mean(time_ns, added.towards, *metrics)


def _mean(
    time_ns: int, source: str, metric: str, total_ns: int, count_name: str, count: int
) -> Iterator[Observation]:
    """Give a mean time and the number of packets that it is of; nothing without packets."""
    if count:
        yield Observation(time_ns, source, metric, "us", total_ns / count / _NS_PER_US)
        yield Observation(time_ns, source, count_name, "1", count)
