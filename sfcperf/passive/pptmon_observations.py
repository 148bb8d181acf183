"""Turns pptmon's samples and counters into telemetry of each VNF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sfcperf.dataplane.pptmon.events import Counters, Sample
from sfcperf.passive.pptmon_instance import InstanceResult
from sfcperf.passive.pptmon_placement import Direction
from sfcperf.results.values import Observation

CHAIN = "chain"
"""Source of what is observed of the whole path."""
PROCESSING_TIME = "processing_time_us"
CHAIN_PROCESSING_TIME = "chain_processing_time_us"
END_TO_END = "end_to_end_us"
VISIBLE = "pptmon_visible"
"""Metric of each VNF of the chain: 1 if pptmon can see its packets, 0 if they pass no tc hook."""

_PER_HOP = {
    "time": (PROCESSING_TIME, "us"),
    "delay": ("arrival_delay_us", "us"),
}
"""Name of a metric in pptmon -> name and unit of the metric in telemetry."""
_SATURATED_US = 0xFFFFFF
"""Largest time that fits into the 24 bits of a sample. It means this long, or longer."""
_OWN_SATURATED_NS = 0xFFFFFFFF
"""Largest time of the sink's own, in 32 bits. It means this long, or longer."""
_NS_PER_US = 1000
_FEWEST_LOST = 5
"""Least number of samples that count as lost. Fewer may still have been on their way at the end."""
_ALWAYS_TOLD = frozenset({"sampled", "reported"})
"""Counters that telemetry has even if they are 0."""


@dataclass(frozen=True)
class Path:
    """The VNFs that one direction's samples cross, by VNF id, first one first."""

    direction: Direction
    names: Mapping[int, str]

    def metric(self, name: str) -> str:
        """Return the name of a metric of single samples on this path: on the reverse path, it
        begins with `reverse_`."""
        return name if self.direction == "forward" else f"reverse_{name}"

    def count(self, name: str) -> str:
        """Return the name of a count over all samples of this path, `pptmon_NAME` or
        `pptmon_reverse_NAME`."""
        return f"pptmon_{name}" if self.direction == "forward" else f"pptmon_reverse_{name}"


def paths(ended: Sequence[InstanceResult]) -> dict[Direction, Path]:
    """Return the path of each direction that was watched."""
    found: dict[Direction, Path] = {}
    for direction in ("forward", "reverse"):
        functions = [e.placement.function for e in ended if e.placement.direction == direction]
        functions.sort(key=lambda function: function.position, reverse=direction == "reverse")
        if functions:
            found[direction] = Path(direction, {f.position: f.name for f in functions})
    return found


def observations(ended: Sequence[InstanceResult], time_ns: int) -> list[Observation]:
    """Return the observations of all samples, how many samples there were and how many fell short,
    and the counters of each instance, in order of time. A sample has its own time, by our clock;
    all numbers have `time_ns`, when the instances had ended."""
    path_of = paths(ended)
    rows: list[Observation] = []
    for instance in ended:
        path = path_of[instance.placement.direction]
        samples = [event for event in instance.events if isinstance(event, Sample)]
        for sample in samples:
            rows += _of_sample(sample, path, sample.ts_ns - instance.clock_offset_ns)
        if instance.placement.reports:  # only the last instance on a path reports samples
            rows += _sample_counts(samples, path, time_ns)
        rows += _counter_values(instance, path, time_ns)
    return sorted(rows, key=lambda row: row.time_ns)


def lost_on_the_way(ended: Sequence[InstanceResult]) -> dict[Direction, int]:
    """Return the directions in which packets were sampled but no sample came through, each with the
    number of sampled packets."""
    sampled: Counter[Direction] = Counter()
    reported: Counter[Direction] = Counter()
    for instance in ended:
        counters = _counters(instance)
        sampled[instance.placement.direction] += counters.get("sampled", 0)
        reported[instance.placement.direction] += counters.get("reported", 0)
    return {d: n for d, n in sampled.items() if n >= _FEWEST_LOST and not reported[d]}


def is_complete(sample: Sample, path: Path) -> bool:
    """Whether the sample has each VNF of the path, once and in order."""
    return tuple(hop.vnf_id for hop in sample.hops) == tuple(path.names)


def _of_sample(sample: Sample, path: Path, time_ns: int) -> Iterator[Observation]:
    """Give the observations of one sample: of each VNF, and of the chain if the sample tells."""
    metric, unit = _PER_HOP[sample.metric]
    values = _values(sample)
    for vnf_id, value in values.items():
        if vnf_id in path.names:
            name = path.metric(metric)
            yield Observation(time_ns, path.names[vnf_id], name, unit, value)
    # A sum of some of the VNFs, or of bounds, would pass for that of the chain.
    if sample.metric == "time" and is_complete(sample, path) and len(values) == len(path.names):
        name = path.metric(CHAIN_PROCESSING_TIME)
        yield Observation(time_ns, CHAIN, name, "us", sum(values.values()))
    if sample.end_to_end_us is not None:
        name = path.metric(END_TO_END)
        yield Observation(time_ns, CHAIN, name, "us", sample.end_to_end_us)


def _values(sample: Sample) -> dict[int, float]:
    """Return the value of each VNF in a sample, by VNF id, us. Times at their maximum are left out,
    because they are only lower bounds. The sink's own time is used in nanoseconds, which are finer
    than the microseconds in the packet."""
    values = {hop.vnf_id: float(hop.value) for hop in sample.hops}
    if sample.metric == "time":
        own_ns = sample.own_time_ns
        if own_ns is not None and own_ns < _OWN_SATURATED_NS and sample.hops:
            values[sample.hops[-1].vnf_id] = own_ns / _NS_PER_US
        return {vnf_id: value for vnf_id, value in values.items() if value < _SATURATED_US}
    return values


def _sample_counts(samples: Sequence[Sample], path: Path, time_ns: int) -> Iterator[Observation]:
    """Give the number of samples, and of those that do not tell of the whole path, by reason."""
    counts = Counter(flag for sample in samples for flag in sample.flags)
    lost = sum(
        not is_complete(sample, path) and "truncated" not in sample.flags for sample in samples
    )
    for name, count in (
        ("samples", len(samples)),
        ("truncated_samples", counts["truncated"]),
        ("saturated_samples", counts["saturated"]),
        ("incomplete_samples", lost),
    ):
        yield Observation(time_ns, CHAIN, path.count(name), "1", count)


def _counter_values(instance: InstanceResult, path: Path, time_ns: int) -> Iterator[Observation]:
    """Give the counters of an instance at its end. Of those that stayed 0, only the two are given
    that say whether samples were taken and came through."""
    for name, count in _counters(instance).items():
        if count or name in _ALWAYS_TOLD:
            metric = path.count(name)
            yield Observation(time_ns, instance.placement.function.name, metric, "1", count)


def _counters(instance: InstanceResult) -> Mapping[str, int]:
    """Return the counters that the instance reported last; empty if it reported none, as when it
    was killed."""
    counters = [event for event in instance.events if isinstance(event, Counters)]
    return counters[-1].values if counters else {}
