"""What pptmon and the SFFs observed in the valid trials of a run: input of the attribution."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from sfcperf.passive.cpu import CPU_CORES
from sfcperf.passive.pptmon_observations import CHAIN, END_TO_END, PROCESSING_TIME, VISIBLE
from sfcperf.passive.sff import AWAY, SFF_TIME, SINCE_FIRST
from sfcperf.passive.transit_time import CAPTURED
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.tables import read_metrics
from sfcperf.results.trial_values import trial_means

RTT = "rtt_us"
"""Metric of probes whose packets are answered: ping."""
ROUND_TRIP = "round trip"
_CAPTURED_MEAN = f"{CAPTURED.removesuffix('_us')}_mean_us"
"""Metric of the monitor transit-time: mean over all packets of a trial."""
_PREFIXES = {"forward": "", "reverse": "reverse_"}
"""Path -> how the names of its metrics begin."""
_COUNTS = ("truncated", "saturated", "incomplete")
"""Reasons for which pptmon counts a sample as not covering the whole path."""

_MONITORED = {VISIBLE, SFF_TIME, f"reverse_{SFF_TIME}"}
"""A trial that has one of these metrics was watched by pptmon or by the monitor sff."""
SFFS = "SFFs"
LINKS = "links"
ENDPOINTS = "endpoints"
WITH_LINKS = " and its links"
"""Suffix of a part's name: the part is a VNF whose own time is not known, with its links."""

Values = Mapping[tuple[str, str], Sequence[float]]
"""(Source, metric) -> observations of one trial."""


@dataclass(frozen=True)
class TrialTimes:
    """Times of one trial along one path, in us."""

    record: TrialRecord
    functions: Mapping[str, float]
    """Mean processing time of each VNF that was in a sample."""
    samples: Mapping[str, Sequence[float]]
    """VNF -> the samples behind `functions`; empty on the round trip, which adds two means."""
    end_to_end: float | None
    """Mean end-to-end time; None if it was not measured."""
    end_to_end_samples: Sequence[float]
    """Empty where the monitor sff measured it, which reports means only."""
    captured: Mapping[str, float]
    """VNF -> mean over all packets, by captures on both sides of it; empty without the monitor
    transit-time."""
    parts: Mapping[str, float]
    """Parts of the end-to-end time besides the VNFs -> means; empty without the monitor sff."""
    crossing: float | None
    """Mean time from when the SFF first received packets until it had delivered them; None without
    the monitor sff, and on the round trip."""
    counts: Mapping[str, int]
    """`samples`: number of pptmon's samples; `REASON_samples`: how many of them do not cover the
    whole path for this reason (truncated, saturated, incomplete)."""
    unseen: frozenset[str] = field(default_factory=frozenset)
    """VNFs whose packets pass no tc hook."""
    sampled: bool = False
    """Whether pptmon watched the trial; else the monitor sff did, alone."""
    cpu_cores: Mapping[str, float] = field(default_factory=dict)
    """Instance -> CPU cores that it used, mean over the trial; empty without the monitor cpu."""

    def has(self, names: Iterable[str]) -> bool:
        """Whether the time of each of these VNFs is known by itself."""
        return all(name in self.functions for name in names)

    def explains(self, names: Iterable[str]) -> bool:
        """Whether the time of each of these VNFs is known, by itself or together with its links."""
        return all(n in self.functions or f"{n}{WITH_LINKS}" in self.parts for n in names)


@dataclass(frozen=True)
class PathTimes:
    """The trials of one probe in one scenario, along one path."""

    path: str
    """`forward`, `reverse` or ROUND_TRIP."""
    trials: tuple[TrialTimes, ...]
    """The valid trials with telemetry of pptmon, or with times of SFFs."""
    unobserved: tuple[str, ...] = ()
    """Ids of the other valid trials."""


def path_times(run: RunStore) -> Iterator[PathTimes]:
    """Yield the times of each scenario and probe along each path that was observed: forward,
    reverse, and round trip, if the probe measured that. Raises InputError if the run folder is
    damaged."""
    observed = _observed(run)
    groups: defaultdict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for record in run.trials():
        if record.status == "valid":
            groups[record.scenario_id, record.label].append(record)
    # Sorted ids give scenarios in the order of the plan; trials may have run in another order.
    for _, records in sorted(groups.items()):
        known = [record for record in records if record.trial_id in observed]
        unobserved = tuple(r.trial_id for r in records if r.trial_id not in observed)
        by_path = {
            path: tuple(_trial(record, observed[record.trial_id], path) for record in known)
            for path in _PREFIXES
        }
        # A path counts as observed if one trial has a sample or a crossing.
        for path, trials in by_path.items():
            if any(trial.counts["samples"] or trial.crossing for trial in trials):
                yield PathTimes(path, trials, unobserved)
        round_trips = [_round_trip(*pair) for pair in zip(*by_path.values(), strict=True)]
        if any(t.end_to_end is not None and (t.functions or t.parts) for t in round_trips):
            yield PathTimes(ROUND_TRIP, tuple(round_trips), unobserved)


def _observed(run: RunStore) -> dict[str, Values]:
    """Map the id of each trial that pptmon or the monitor sff watched to its observations; empty
    for a run without telemetry."""
    if not run.telemetry_path.is_file():
        return {}
    counts = [f"pptmon_{way}{name}" for way in _PREFIXES.values() for name in _count_names()]
    of_packets = (PROCESSING_TIME, END_TO_END, _CAPTURED_MEAN, SFF_TIME, AWAY, SINCE_FIRST)
    times = [f"{way}{name}" for way in _PREFIXES.values() for name in of_packets]
    observed: defaultdict[str, defaultdict[tuple[str, str], list[float]]]
    observed = defaultdict(lambda: defaultdict(list))
    table = read_metrics(run.telemetry_path, [VISIBLE, CPU_CORES, *counts, *times])
    columns = (table[name].to_pylist() for name in ("trial_id", "source", "metric", "value"))
    for trial_id, source, metric, value in zip(*columns, strict=True):
        observed[trial_id][source, metric].append(value)
    return {
        trial_id: values
        for trial_id, values in observed.items()
        if any(metric in _MONITORED for _, metric in values)
    }


def _count_names() -> list[str]:
    """Return the names of pptmon's counts of samples: of all, and of those that do not cover the
    whole path, by reason."""
    return ["samples", *(f"{reason}_samples" for reason in _COUNTS)]


def _trial(record: TrialRecord, values: Values, path: str) -> TrialTimes:
    """Derive the times of a trial along one path from its observations `values`. An end-to-end time
    by the monitor sff replaces that of pptmon."""
    prefix = _PREFIXES[path]

    def of(metric: str) -> dict[str, Sequence[float]]:
        """Map source -> its observations of a metric on this path."""
        return {s: v for (s, name), v in values.items() if name == f"{prefix}{metric}"}

    def count(name: str) -> int:
        """Return one of pptmon's counts; 0 if there is none."""
        return round(sum(values.get((CHAIN, f"pptmon_{prefix}{name}"), ())))

    samples = of(PROCESSING_TIME)
    functions = {name: fmean(times) for name, times in samples.items()}
    own, away, crossing = (_means(of(name)) for name in (SFF_TIME, AWAY, SINCE_FIRST))
    parts: dict[str, float] = {}
    end_to_end = values.get((CHAIN, f"{prefix}{END_TO_END}"), ())
    end_to_end_us = fmean(end_to_end) if end_to_end else None
    crossed = None
    if crossing and own:
        parts = _parts(functions, own, away)
        # `crossing` has one source, the endpoint that packets go to. SINCE_FIRST ends when the SFF
        # begins its last lookup, that of the least service index, so that lookup's time is added.
        end_to_end_us = crossed = sum(crossing.values()) + own[min(own, key=_si)]
        # The samples are pptmon's, which do not belong to this mean.
        end_to_end = ()
    return TrialTimes(
        record=record,
        functions=functions,
        samples=samples,
        end_to_end=end_to_end_us,
        end_to_end_samples=end_to_end,
        parts=parts,
        crossing=crossed,
        captured={name: fmean(times) for name, times in of(_CAPTURED_MEAN).items()},
        counts={name: count(name) for name in _count_names()},
        sampled=any(name == VISIBLE for _, name in values),
        unseen=frozenset(s for (s, name), v in values.items() if name == VISIBLE and not any(v)),
        cpu_cores=_means({s: v for (s, name), v in values.items() if name == CPU_CORES}),
    )


def _means(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Map each source to the mean of its observations."""
    return {name: fmean(of) for name, of in values.items()}


def _si(source: str) -> int:
    """Return the service index of a source that is named `sff@NODE/spiN-siM`."""
    return int(source.rpartition("-si")[2])


def _parts(
    functions: Mapping[str, float], own: Mapping[str, float], away: Mapping[str, float]
) -> dict[str, float]:
    """Return the parts of the crossing that are not VNFs: the SFFs' own time, and the links.

    Packets are `away` from the SFF while they are in a VNF and on the links to it and back. The
    time on links is therefore that time minus the VNF's; where the VNF's own time is not known,
    both remain one part.
    """
    links = [away[name] - functions[name] for name in away if name in functions]
    unknown = {f"{name}{WITH_LINKS}": away[name] for name in away if name not in functions}
    return {SFFS: sum(own.values()), **({LINKS: sum(links)} if links else {}), **unknown}


def _round_trip_parts(
    forward: TrialTimes, reverse: TrialTimes, rtt: float | None
) -> dict[str, float]:
    """Return the parts of the round-trip time `rtt` (us): those of both directions, added, and the
    rest, which belongs to the endpoints and the links to them. Empty if the RTT or a crossing is
    not known."""
    if rtt is None or forward.crossing is None or reverse.crossing is None:
        return {}
    both = {
        name: forward.parts.get(name, 0.0) + reverse.parts.get(name, 0.0)
        for name in dict.fromkeys([*forward.parts, *reverse.parts])
    }
    return {**both, ENDPOINTS: rtt - forward.crossing - reverse.crossing}


def _round_trip(forward: TrialTimes, reverse: TrialTimes) -> TrialTimes:
    """Add the times of both directions of a trial. The end-to-end time is the round-trip time that
    the probe measured, None if it measures none. If only one direction has samples of a VNF, no VNF
    has a time, because the sum would be incomplete."""
    in_both = forward.functions.keys() & reverse.functions.keys()
    is_complete = in_both == forward.functions.keys() | reverse.functions.keys()
    captured = forward.captured.keys() & reverse.captured.keys()
    rtt = trial_means(forward.record).get(RTT)
    return TrialTimes(
        record=forward.record,
        functions={n: forward.functions[n] + reverse.functions[n] for n in in_both}
        if is_complete
        else {},
        samples={},
        end_to_end=rtt,
        parts=_round_trip_parts(forward, reverse, rtt) if is_complete else {},
        crossing=None,
        end_to_end_samples=[s["value"] for s in forward.record.samples if s["metric"] == RTT],
        captured={name: forward.captured[name] + reverse.captured[name] for name in captured},
        counts={name: forward.counts[name] + reverse.counts[name] for name in forward.counts},
        # What concerns the trial as a whole is the same in both directions.
        unseen=forward.unseen,
        sampled=forward.sampled,
        cpu_cores=forward.cpu_cores,
    )
