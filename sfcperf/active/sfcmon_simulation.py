"""sfcmon_simulation: how well SFCMon finds the heavy hitters of a trace, by simulation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from sfcperf.active.base import ProbeResult, samples
from sfcperf.active.traces import TraceProbe, trace_parameters
from sfcperf.errors import InputError, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import integer, number, object_schema
from sfcperf.results.values import Metric
from sfcperf.vnfs.sfcmon.report import METRICS, Window
from sfcperf.vnfs.sfcmon.settings import LIMITS, Sizes, Thresholds, share_register
from sfcperf.vnfs.sfcmon.simulation import TOOL, Simulation, TraceEnd, simulate

_NS_PER_S = 1_000_000_000
_WHOLE = 0.99
"""Share of its width that the packets of a chunk's last window must span for it to count."""
_SECOND_TAKES_S = 0.04
"""Estimated time to simulate a second of a synthetic trace, plus a sixth of the time to generate
it, because the six trials of a round share a trace in the workflow sfcmon-fig3; for plans only."""
_USUAL_PACKETS_PER_MINUTE = 10_000_000
"""Of the trace of that second."""
_FILE_TAKES_S = 5.0
"""Estimated time to simulate a file, whose length is not known before it is read; for plans
only."""

_REPORTED = (
    Metric("accuracy", "1", "share of sources that were judged rightly", better="higher"),
    Metric(
        "precision",
        "1",
        "share of the reported sources that are heavy hitters",
        better="higher",
        primary=True,
    ),
    Metric("recall", "1", "share of the heavy hitters that were reported", better="higher"),
    Metric("fpr", "1", "share of the other sources that were reported", better="lower"),
)
assert tuple(metric.name for metric in _REPORTED) == METRICS


class SfcmonSimulation(TraceProbe):
    """Simulates SFCMon on a chunk of traffic: round N on chunk N. Nothing is sent, and the chain
    makes no difference: use one of length 0. It runs on the machine that runs sfcperf."""

    name = "sfcmon_simulation"
    reported = _REPORTED
    compiled = (TOOL,)
    trace_length = "duration_s"
    title = "Accuracy, precision, recall and false positive rate of SFCMon, simulated on a trace"
    parameters = object_schema(
        {
            **trace_parameters(
                "Absolute path of a trace (pcap, pcapng, CSV, Parquet; .gz of all but Parquet), or "
                "a pattern such as /data/caida/*.pcap.gz: round N simulates"
            ),
            "duration_s": number(
                "Length of each synthetic trace, seconds.", (0.01, 3600), default=60
            ),
            "window_s": number("Width of a window, seconds.", (0.001, 86_400), default=20),
            "threshold": {
                "type": "number",
                "minimum": 2**-32,
                "exclusiveMaximum": 1,
                "default": 0.001,
                "description": "Share of the packets from which a source is a heavy hitter.",
            },
            "threshold_eval": integer(
                "Packets of a window before which nothing is reported.",
                (0, 2**32 - 1),
                default=1000,
            ),
            "cms_rows": integer(
                "Rows of the count-min sketch.", LIMITS["cms_rows"], default=Sizes.cms_rows
            ),
            "cms_columns": integer(
                "Columns of the count-min sketch.", LIMITS["cms_columns"], default=Sizes.cms_columns
            ),
        }
    )

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse a synthetic trace that is shorter than a window: only whole windows are judged.
        Raises InputError."""
        super().check(parameters)
        if "trace" not in parameters and parameters["duration_s"] < parameters["window_s"]:
            raise InputError(
                f"no window of {parameters['window_s']:g} s fits into a trace of "
                f"{parameters['duration_s']:g} s",
                where="duration_s",
                allowed="at least window_s",
            )

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the estimated time of the simulation; for a file it is a guess, since files are
        not read before a run."""
        if "trace" in parameters:
            return _FILE_TAKES_S
        usual = parameters["packets_per_minute"] / _USUAL_PACKETS_PER_MINUTE
        return float(parameters["duration_s"] * usual * _SECOND_TAKES_S)

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Simulate SFCMon on the chunk, and give the means over its whole windows. Raises
        MeasurementError if there is no whole window, InputError if the chunk cannot be read."""
        chunk = self._chunk
        windows, end = self._simulated(chunk.source, raw_dir)
        # Only the last window may be incomplete.
        whole = [window for window in windows if window is not windows[-1] or self._ended(window)]
        if not any(window.sources for window in whole):
            raise MeasurementError(
                self._nothing(windows),
                where=chunk.facts.get("trace"),
                hint="; ".join(end.left_out.lines(end.frames)) or None,
            )
        scores = [window.score.metrics() for window in whole]
        series = {
            name: [value for score in scores if (value := score[name]) is not None]
            for name in METRICS
        }
        means = {name: fmean(values) if values else None for name, values in series.items()}
        notes = {
            **chunk.facts,
            "windows": len(whole),
            "windows_left_out": len(windows) - len(whole),
            "packets": sum(window.packets for window in whole),
            "mean_sources": fmean(window.sources for window in whole),
            "mean_reported": fmean(
                window.score.true_positives + window.score.false_positives for window in whole
            ),
            "mean_heavy_hitters": fmean(
                window.score.true_positives + window.score.false_negatives for window in whole
            ),
            "late_packets": end.late,
            "packets_left_out": end.left_out,
        }
        known = {name: values for name, values in series.items() if values}
        return ProbeResult(samples(_REPORTED, means), _doubts(windows, end), notes, known)

    def _simulated(self, trace: Path, raw_dir: Path) -> tuple[list[Window], TraceEnd]:
        """Simulate the trace and write a line per window to `windows.jsonl`. Returns the windows,
        without heavy hitters and registers, and how the trace ended."""
        parameters = self.parameters
        simulation = Simulation(
            window_s=parameters["window_s"],
            threshold=parameters["threshold"],
            thresholds=Thresholds(
                parameters["threshold_eval"], share_register(parameters["threshold"])
            ),
            sizes=Sizes(cms_rows=parameters["cms_rows"], cms_columns=parameters["cms_columns"]),
        )
        windows: list[Window] = []
        with (raw_dir / "windows.jsonl").open("w") as file:
            for result in simulate(trace, simulation):
                if isinstance(result, TraceEnd):
                    end = result  # the last one
                    continue
                # Heavy hitters and registers are dropped: of many windows they would fill memory.
                windows.append(replace(result, heavy_hitters=(), registers={}))
                file.write(json.dumps(_row(result)) + "\n")
        return windows, end

    def _ended(self, window: Window) -> bool:
        """Whether the packets go on until about the end of the window. If the trace ends before,
        its last window would be judged by a part of its packets."""
        width_ns = self.parameters["window_s"] * _NS_PER_S
        return bool(window.last_ns - window.begin_ns >= _WHOLE * width_ns)

    def _nothing(self, windows: list[Window]) -> str:
        """Say why no window of the trace can be judged."""
        if not windows:
            return "the trace has no packets"
        if not any(window.sources for window in windows):
            return "no packet of the trace can be parsed"
        span_s = (windows[-1].last_ns - windows[-1].begin_ns) / _NS_PER_S
        return f"the trace is {span_s:g} s long, its windows are {self.parameters['window_s']:g} s"


def _row(window: Window) -> dict[str, Any]:
    """Return what `windows.jsonl` tells of a window. It has no addresses, because run folders are
    shared with others."""
    names = ("index", "begin_ns", "last_ns", "packets", "bytes", "sources", "unparsed")
    return {
        **{name: getattr(window, name) for name in names},
        **window.score.metrics(),
        "score": asdict(window.score),
    }


def _doubts(windows: list[Window], end: TraceEnd) -> tuple[str, ...]:
    """Say why the result should not be believed: the trace is cut off, has windows without packets,
    or has too many frames that could not be read."""
    doubts = []
    if end.truncated:
        doubts.append("the trace ends within a packet: the rest of it is missing")
    # Windows are numbered from 0; `windows` lacks those without packets.
    if missing := windows[-1].index + 1 - len(windows):
        doubts.append(f"{missing} of {windows[-1].index + 1} windows have no packets")
    return (*doubts, *end.left_out.doubts(end.frames))
