"""Probes of the engines of heavy_hitter on a trace, without a chain: how fast they are from ring to
ring, and how well their sketches count (Choueiri et al., "Scalable Heavy Hitter Detection in
Virtualized Environments")."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from sfcperf.active.base import ProbeResult, samples
from sfcperf.active.traces import TraceProbe, trace_parameters
from sfcperf.counts import count_text
from sfcperf.dataplane import binaries
from sfcperf.errors import CannotBeMeasured, MeasurementError
from sfcperf.hosts import process
from sfcperf.management.deployment import Deployment
from sfcperf.packets.left_out import LeftOutCounts
from sfcperf.plugins import integer, number, object_schema
from sfcperf.results.values import Metric
from sfcperf.vnfs.heavy_hitter.compile import SPEC
from sfcperf.vnfs.heavy_hitter.function import HeavyHitter
from sfcperf.vnfs.heavy_hitter.running import BINARY

_TRACE_TAKES_S = 3.0
"""Estimated time to read a trace, for plans only."""
_TIMEOUT_S = 3600.0
_LEAST_CPU = 0.3
"""Least share of the time for which each thread must have had its CPU. Rates count CPU time only,
but a thread that seldom runs finds its caches empty, and is slower."""
_FCS_BYTES = 4
_ENGINE = {
    name: HeavyHitter.parameters["properties"][name]
    for name in ("engine", "hash_functions", "columns", "conservative")
}
"""Schemas of the parameters that both probes take over from the VNF type heavy_hitter."""


class HeavyHitterEngine(TraceProbe):
    """Base of the probes that run an engine of heavy_hitter on a trace, without a chain. Their
    `measure` calls `events`."""

    compiled = (BINARY,)
    trace_length = "trace_s"
    # Schemas of the parameters that all of them have.
    trace_parameters: ClassVar[Mapping[str, Any]] = {
        **_ENGINE,
        **trace_parameters(
            "Absolute path of a capture (pcap, pcapng), or a pattern such as /data/caida/*.pcap: "
            "round N takes"
        ),
        "trace_s": number(
            "Length of each synthetic trace, seconds, of 160,000 packets/s.", (0.01, 600), default=6
        ),
        "packets": integer(
            "Largest number of packets to use of a trace.", (1, 2**32), default=5_000_000
        ),
    }

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse a number of columns that the VNF type heavy_hitter refuses. Raises InputError."""
        HeavyHitter.check({"columns": parameters["columns"]})
        super().check(parameters)

    def events(self, raw_dir: Path, *options: object) -> list[dict[str, Any]]:
        """Run the tool on the trace, with further `options`, and return the events that it prints,
        one JSON object each. A copy of them stays in raw_dir. Raises MeasurementError when the tool
        fails."""
        parameters = self.parameters
        words = ["--engine", parameters["engine"], "--trace", self._chunk.source]
        words += ["--spec", SPEC] if parameters["engine"] == "swx" else []
        words += ["--rows", parameters["hash_functions"], "--columns", parameters["columns"]]
        words += ["--conservative"] if parameters["conservative"] else []
        words += ["--frames", parameters["packets"], *options]
        argv = [str(binaries.find(BINARY)), *map(str, words)]
        printed = process.run(argv, timeout_s=_TIMEOUT_S).stdout
        (raw_dir / f"{BINARY}.jsonl").write_bytes(printed)
        return [json.loads(line) for line in printed.splitlines()]

    @property
    def facts(self) -> Mapping[str, Any]:
        """Say how to get the same trace again: its file, or the seed and length of a synthetic
        trace."""
        return self._chunk.facts


class HeavyHitterThroughput(HeavyHitterEngine):
    """Packets that the threads of an engine take from memory, one per core, each with the flows
    that are its own. No interface is part of it: what is measured is the engine's time, in which
    a thread does nothing else. Rates of real interfaces are lower."""

    name = "heavy_hitter_throughput"
    title = "Throughput of heavy_hitter's engines, from ring to ring, without interfaces"
    reported = (
        Metric(
            "throughput_pps",
            "1/s",
            "packets that all threads together take in a second of the engine's CPU time",
            better="higher",
            primary=True,
        ),
        Metric(
            "throughput_bps",
            "bit/s",
            "the same in bits of frames, with the frame check sequence",
            better="higher",
        ),
        Metric("packet_ns", "ns", "the engine's CPU time for a packet", better="lower"),
    )
    parameters = object_schema(
        {
            **HeavyHitterEngine.trace_parameters,
            "threshold": HeavyHitter.parameters["properties"]["threshold"],
            "cores": integer("Threads, each on a CPU of its own.", (1, 64), default=1),
            "frame_bytes": integer(
                "Length that shorter frames are padded to, bytes, with the frame check sequence; "
                "longer frames keep theirs.",
                (64, 1518),
                default=64,
            ),
            "duration_s": number(
                "How long the trace is repeated, seconds.", (0.05, 600), default=2
            ),
        }
    )

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the parameter `duration_s` plus the time to read the trace."""
        return float(parameters["duration_s"]) + _TRACE_TAKES_S

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Run the engine on `cores` threads. Raises CannotBeMeasured for more cores than this
        machine has CPUs."""
        parameters = self.parameters
        cpus = sorted(os.sched_getaffinity(0))
        if parameters["cores"] > len(cpus):
            raise CannotBeMeasured(
                f"{parameters['cores']} cores are more than the {len(cpus)} of this machine",
                hint="`sfcperf heavy-hitters model RUN` computes what more cores would do",
            )
        words = ["--repeat-ms", round(parameters["duration_s"] * 1000), "--threshold"]
        words += [parameters["threshold"], "--frame-bytes", parameters["frame_bytes"] - _FCS_BYTES]
        words += ["--cpus", ",".join(map(str, cpus[: parameters["cores"]]))]
        threads = self.events(raw_dir, *words)[-1]["threads"]
        busy = [thread for thread in threads if thread["frames"]]
        rates = [1e9 / thread["ns_per_frame"] for thread in busy]
        bits = [8 * (thread["bytes"] / thread["frames"] + _FCS_BYTES) for thread in busy]
        values = {
            "throughput_pps": sum(rates),
            "throughput_bps": sum(rate * size for rate, size in zip(rates, bits, strict=True)),
            "packet_ns": fmean(thread["ns_per_frame"] for thread in busy),
        }
        return ProbeResult(
            samples(self.reported, values), self._doubts(threads), self._notes(threads)
        )

    def _doubts(self, threads: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Say why the rates should not be believed: a thread got no packets, or had its CPU too
        seldom."""
        doubts = []
        for place, thread in enumerate(threads):
            if not thread["frames"]:
                doubts.append(f"thread {place} has no flow of the trace")
                continue
            # `all_ns_per_frame` is all CPU time of the thread, divided by its frames.
            cpu_share = (
                thread["frames"] * thread["all_ns_per_frame"] / 1e9 / self.parameters["duration_s"]
            )
            if cpu_share < _LEAST_CPU:
                doubts.append(f"thread {place} had its CPU for only {cpu_share:.0%} of the time")
        return tuple(doubts)

    def _notes(self, threads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the facts for the record of the trial. `of_trace` of a thread is how many packets
        of the trace are in its flows."""
        of_trace = [thread["of_trace"] for thread in threads]
        return {
            **self.facts,
            "packets_of_trace": sum(of_trace),
            # The busiest thread's packets by the mean of all threads; 1: all have as many.
            "largest_share_of_a_thread": max(of_trace) * len(of_trace) / sum(of_trace),
            # This includes the copying of frames, which is no part of the engine's time.
            "all_ns_per_packet": fmean(thread["all_ns_per_frame"] for thread in threads),
            "blocked": sum(thread["counters"]["blocked"] for thread in threads),
        }


class HeavyHitterAccuracy(HeavyHitterEngine):
    """How far the sketch's estimates exceed the packets of each flow, and how many flows it takes
    for heavy hitters that are none."""

    name = "heavy_hitter_accuracy"
    title = "Accuracy of heavy_hitter's sketch, on a trace"
    reported = (
        Metric(
            "average_relative_error",
            "1",
            "mean, over the flows of a window, of what the estimate exceeds their packets by, "
            "divided by these",
            better="lower",
            primary=True,
        ),
        Metric(
            "false_positives",
            "1",
            "flows of a window that are reported as heavy hitters, and are none",
            better="lower",
        ),
    )
    parameters = object_schema(
        {
            **HeavyHitterEngine.trace_parameters,
            "threshold": HeavyHitter.parameters["properties"]["threshold"],
        }
    )

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the time to read the trace, whatever the parameters are."""
        return _TRACE_TAKES_S

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Let the tool compare the sketch's estimates with exact counts, window by window, and give
        the means. Raises MeasurementError for a trace without flows."""
        parameters = self.parameters
        words: list[object] = [
            "--score",
            "--action",
            "report",
            "--threshold",
            parameters["threshold"],
        ]
        events = self.events(raw_dir, *words)
        end = events[-1]
        left_out = LeftOutCounts(end["left_out"])
        scores = [event for event in events if event["event"] == "score" and event["flows"]]
        if not scores:
            raise MeasurementError(
                "no packet of the trace belongs to a flow",
                hint="; ".join(left_out.lines(end["frames"])) or None,
            )
        series = {
            metric.name: [float(score[metric.name]) for score in scores] for metric in self.reported
        }
        means = {name: fmean(values) for name, values in series.items()}
        notes = {
            **self.facts,
            "windows": len(scores),
            "packets": sum(score["packets"] for score in scores),
            "packets_left_out": left_out,
            **{
                f"mean_{name}": fmean(score[name] for score in scores)
                for name in ("flows", "heavy_hitters", "true_positives")
            },
        }
        doubts = (*_doubts(scores), *left_out.doubts(end["frames"]))
        return ProbeResult(samples(self.reported, means), doubts, notes, series)


def _doubts(scores: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return why the scores of windows should not be believed; empty when they can be. A count-min
    sketch never underestimates (Cormode and Muthukrishnan 2005, theorem 1), so estimates below the
    truth mean that the engine is wrong."""
    under = sum(score["underestimated"] for score in scores)
    return (f"smaller than the truth: {count_text(under, 'estimate')}",) if under else ()
