"""The dashboards: what is on them.

- *Chain performance by scenario*: every primary metric against the chain's length with its
  intervals, the numbers behind them, and how many trials count.
- *Telemetry over time*: what the monitors saw, by instance, beside the trials of that time.
- *Comparison of runs*: the same metrics with a colour per run, and what the runs differ in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from sfcperf import plugins
from sfcperf.elasticsearch.mappings import PREFIX, STREAMS, data_stream
from sfcperf.kibana import lens, vega
from sfcperf.kibana.dashboard_objects import (
    COLUMNS,
    Control,
    Dashboard,
    Panel,
    saved_dashboard,
)
from sfcperf.kibana.data_views import data_views
from sfcperf.kibana.saved_objects import (
    SavedObject,
)
from sfcperf.results.records import TrialStatus
from sfcperf.workflow.defaults import with_defaults


def saved_objects(prefix: str = PREFIX) -> list[SavedObject]:
    """Data views and dashboards over data streams with this prefix."""
    views = data_views(prefix)
    return [*views, *(saved_dashboard(dashboard, prefix) for dashboard in dashboards(prefix))]


def dashboards(prefix: str = PREFIX) -> list[Dashboard]:
    """All dashboards."""
    return [_performance(prefix), _telemetry(), _comparison(prefix)]


def primary_metrics() -> list[tuple[str, str]]:
    """(Metric, unit) of the primary metrics of the installed probes, as they declare them."""
    found: dict[tuple[str, str], None] = {}
    for name in plugins.names("probe"):
        probe = plugins.load("probe", name)
        for metric in probe.metrics(with_defaults(probe.parameters, {})):
            if metric.primary:
                found[metric.name, metric.unit] = None
    return list(found)


def _performance(prefix: str) -> Dashboard:
    counts = [
        Panel(
            f"{status} trials",
            lens.metric(
                "trials",
                lens.count(f"{status} trials"),
                lens.where("trials", _ONCE, ("trial.status", status)),
            ),
            16,
            6,
        )
        for status in get_args(TrialStatus)
    ]
    return Dashboard(
        "performance",
        "SFCPerf: chain performance by scenario",
        "Means of all scenarios with their confidence intervals. Points of scenarios with trials "
        "that are missing, untrusted or failed are pale.",
        (
            *_RUN_CONTROLS,
            Control("summaries", "probe.label", "Probe"),
            Control("summaries", "factor.topology", "Topology"),
            Control("summaries", "factor.variant", "Variant"),
            Control("summaries", "summary.valid", "All trials valid"),
        ),
        (
            *counts,
            *_interval_panels(prefix, "series"),
            Panel("Every number", _numbers(), COLUMNS, 20),
            Panel("Trials that do not count", _excluded(), COLUMNS, 12),
        ),
    )


def _telemetry() -> Dashboard:
    stream = "telemetry"
    source = lens.group(stream, "telemetry.source", "instance", size=64)
    value = lens.number(stream, "metric.value", "mean", "average")
    elapsed = lens.steps(stream, "telemetry.elapsed_s", "seconds since the trial began", 100)
    trial = lens.group(stream, "trial.id", "trial", size=32)
    panels = [
        Panel(
            title,
            lens.lines(
                stream,
                lens.over_time(stream),
                lens.number(stream, "metric.value", title, "average"),
                source,
                lens.where(stream, ("metric.name", metric)),
                unit,
            ),
            24,
            14,
        )
        for title, metric, unit in _TELEMETRY
    ]
    return Dashboard(
        "telemetry",
        "SFCPerf: telemetry over time",
        "What the monitors saw during the trials; choose a run, then a scenario or a trial.",
        (
            Control(stream, "run.name", "Workflow"),
            Control(stream, "run.id", "Run"),
            Control(stream, "scenario.label", "Scenario"),
            Control(stream, "trial.id", "Trial"),
            Control(stream, "telemetry.source", "Instance"),
        ),
        (
            *panels,
            Panel(
                "CPU of the chain, trials laid over each other",
                lens.lines(
                    stream,
                    elapsed,
                    value,
                    trial,
                    lens.where(stream, ("metric.name", "cpu_cores")),
                    "cores",
                ),
                COLUMNS,
                14,
            ),
            Panel("Trials of this time", _trials(), COLUMNS, 16),
        ),
    )


def _comparison(prefix: str) -> Dashboard:
    return Dashboard(
        "comparison",
        "SFCPerf: comparison of runs",
        "Runs beside each other, a colour per run. Whether a difference is more than chance says "
        "`sfcperf compare`.",
        (
            *_RUN_CONTROLS,
            Control("summaries", "probe.label", "Probe"),
            Control("summaries", "scenario.label", "Scenario"),
            Control("summaries", "factor.topology", "Topology"),
        ),
        (
            Panel("The runs, and what they differ in", _runs(), COLUMNS, 14),
            *_interval_panels(prefix, "run"),
            Panel("Every number", _numbers(), COLUMNS, 20),
        ),
    )


_ONCE = ("trial.first", True)
"""One document of each trial, however many metrics it has."""

_RUN_CONTROLS = (
    Control("summaries", "run.name", "Workflow"),
    Control("summaries", "run.id", "Run"),
)

_TELEMETRY = (
    ("CPU of each function and forwarder", "cpu_cores", "cores"),
    ("Memory of each function and forwarder", "memory_bytes", "B"),
    ("Packets out of each hop", "rx_pps", "1/s"),
    ("Bits out of each hop", "rx_bps", "bit/s"),
)
"""Title, metric and unit of what the monitors of the release observe."""


def _interval_panels(prefix: str, by: str) -> Iterator[Panel]:
    index = data_stream(STREAMS["summaries"], prefix)
    for metric, unit in primary_metrics():
        title = f"{metric} against the length of the chain"
        yield Panel(title, vega.intervals(index, metric, unit, by=by, title=title), 24, 16)


def _numbers() -> lens.Lens:
    stream = "summaries"
    return lens.table(
        stream,
        (
            lens.group(stream, "run.id", "run"),
            lens.group(stream, "scenario.label", "scenario"),
            lens.group(stream, "probe.label", "probe"),
            lens.group(stream, "metric.name", "metric"),
            lens.group(stream, "metric.unit", "unit"),
            lens.latest(stream, "summary.mean", "mean"),
            lens.latest(stream, "summary.ci_low", "interval from"),
            lens.latest(stream, "summary.ci_high", "to"),
            lens.latest(stream, "summary.confidence", "confidence"),
            lens.latest(stream, "summary.method", "method"),
            lens.latest(stream, "summary.median", "median"),
            lens.latest(stream, "summary.stdev", "standard deviation"),
            lens.latest(stream, "summary.n", "trials"),
            lens.latest(stream, "summary.valid", "all valid"),
        ),
        lens.where(stream, ("metric.primary", True)),
    )


def _excluded() -> lens.Lens:
    stream = "trials"
    return lens.table(
        stream,
        (
            lens.group(stream, "run.id", "run"),
            lens.group(stream, "trial.id", "trial"),
            lens.group(stream, "trial.status", "status"),
            lens.latest(stream, "trial.reasons", "why"),
        ),
        lens.where(stream, _ONCE, ("trial.status", "!valid")),
    )


def _trials() -> lens.Lens:
    stream = "trials"
    return lens.table(
        stream,
        (
            lens.group(stream, "run.id", "run"),
            lens.group(stream, "trial.id", "trial"),
            lens.group(stream, "trial.status", "status"),
            lens.latest(stream, "@timestamp", "began"),
            lens.latest(stream, "trial.ended", "ended"),
            lens.latest(stream, "scenario.label", "scenario"),
        ),
        lens.where(stream, _ONCE),
    )


def _runs() -> lens.Lens:
    stream = "runs"
    shown = (
        ("run.status", "status"),
        ("run.driver", "driver"),
        ("run.sfcperf.version", "SFCPerf"),
        ("run.sfcperf.revision", "revision"),
        ("host.cpu.model", "CPU"),
        ("host.cpu.logical", "CPUs"),
        ("host.cpu.governor", "governor"),
        ("host.os.kernel", "kernel"),
        ("run.rounds", "rounds"),
        ("run.trials.valid", "valid"),
        ("run.trials.untrusted", "untrusted"),
        ("run.trials.failed", "failed"),
    )
    return lens.table(
        stream,
        (
            lens.group(stream, "run.name", "workflow"),
            lens.group(stream, "run.id", "run"),
            *(lens.latest(stream, name, label) for name, label in shown),
        ),
    )
