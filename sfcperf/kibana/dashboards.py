"""Content of the dashboards: chain performance by scenario, telemetry over time, runs compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from sfcperf import plugins
from sfcperf.elasticsearch.mappings import PREFIX, STREAMS, data_stream
from sfcperf.kibana import lens, vega
from sfcperf.kibana.dashboard_objects import COLUMNS, Control, Dashboard, Panel, saved_dashboard
from sfcperf.kibana.data_views import data_views
from sfcperf.kibana.saved_objects import SavedObject
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
    return Dashboard(
        "performance",
        "SFCPerf: chain performance by scenario",
        "Means of all scenarios with their confidence intervals. Points of scenarios with "
        "missing, untrusted or failed trials are pale.",
        (
            *_RUN_CONTROLS,
            Control("summaries", "probe.label", "Probe"),
            Control("summaries", "factor.topology", "Topology"),
            Control("summaries", "factor.variant", "Variant"),
            Control("summaries", "summary.valid", "All trials valid"),
        ),
        (
            *(Panel(f"{status} trials", _count(status), 16, 6) for status in get_args(TrialStatus)),
            *_interval_panels(prefix, "series"),
            Panel("All results", _summaries(), COLUMNS, 20),
            Panel("Excluded trials", _excluded(), COLUMNS, 12),
        ),
    )


def _telemetry() -> Dashboard:
    stream = "telemetry"
    source = lens.group(stream, "telemetry.source", "instance", size=64)
    trial = lens.group(stream, "trial.id", "trial", size=32)
    elapsed = lens.histogram(stream, "telemetry.elapsed_s", "seconds since the trial began", 100)

    def lines(x: lens.Column, label: str, split: lens.Column, metric: str, unit: str) -> lens.Lens:
        y = lens.average(stream, "metric.value", label)
        return lens.lines(stream, x, y, split, lens.kql(stream, ("metric.name", metric)), unit)

    over_time = [
        Panel(title, lines(lens.over_time(stream), title, source, metric, unit), 24, 14)
        for title, metric, unit in _TELEMETRY
    ]
    by_trial = lines(elapsed, "mean", trial, "cpu_cores", "cores")
    return Dashboard(
        "telemetry",
        "SFCPerf: telemetry over time",
        "What the monitors observed during the trials; select a run, then a scenario or a trial.",
        (
            Control(stream, "run.name", "Workflow"),
            Control(stream, "run.id", "Run"),
            Control(stream, "scenario.label", "Scenario"),
            Control(stream, "trial.id", "Trial"),
            Control(stream, "telemetry.source", "Instance"),
        ),
        (
            *over_time,
            Panel("CPU of the chain, trials overlaid", by_trial, COLUMNS, 14),
            Panel("Trials in this time range", _trials(), COLUMNS, 16),
        ),
    )


def _comparison(prefix: str) -> Dashboard:
    return Dashboard(
        "comparison",
        "SFCPerf: comparison of runs",
        "Runs side by side, a colour per run. `sfcperf compare` tests whether they differ by more "
        "than chance.",
        (
            *_RUN_CONTROLS,
            Control("summaries", "probe.label", "Probe"),
            Control("summaries", "scenario.label", "Scenario"),
            Control("summaries", "factor.topology", "Topology"),
        ),
        (
            Panel("Runs and their environments", _runs(), COLUMNS, 14),
            *_interval_panels(prefix, "run"),
            Panel("All results", _summaries(), COLUMNS, 20),
        ),
    )


_ONE_PER_TRIAL = ("trial.first", True)
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


def _count(status: str) -> lens.Lens:
    query = lens.kql("trials", _ONE_PER_TRIAL, ("trial.status", status))
    return lens.metric("trials", lens.count(f"{status} trials"), query)


def _table(
    stream: str,
    groups: Mapping[str, str],
    values: Mapping[str, str],
    *conditions: tuple[str, str | bool],
) -> lens.Lens:
    """Field -> label of what makes the rows, and of what they show."""
    columns = [lens.group(stream, name, label) for name, label in groups.items()]
    columns += [lens.last_value(stream, name, label) for name, label in values.items()]
    return lens.table(stream, columns, lens.kql(stream, *conditions))


def _summaries() -> lens.Lens:
    groups = {
        "run.id": "run",
        "scenario.label": "scenario",
        "probe.label": "probe",
        "metric.name": "metric",
        "metric.unit": "unit",
    }
    values = {
        "summary.mean": "mean",
        "summary.ci_low": "interval from",
        "summary.ci_high": "to",
        "summary.confidence": "confidence",
        "summary.method": "method",
        "summary.median": "median",
        "summary.stdev": "standard deviation",
        "summary.n": "trials",
        "summary.valid": "all valid",
    }
    return _table("summaries", groups, values, ("metric.primary", True))


def _excluded() -> lens.Lens:
    conditions = (_ONE_PER_TRIAL, ("trial.status", "!valid"))
    return _table("trials", _TRIAL, {"trial.reasons": "reasons"}, *conditions)


def _trials() -> lens.Lens:
    values = {"@timestamp": "began", "trial.ended": "ended", "scenario.label": "scenario"}
    return _table("trials", _TRIAL, values, _ONE_PER_TRIAL)


_TRIAL = {"run.id": "run", "trial.id": "trial", "trial.status": "status"}


def _runs() -> lens.Lens:
    values = {
        "run.status": "status",
        "run.driver": "driver",
        "run.sfcperf.version": "SFCPerf",
        "run.sfcperf.revision": "revision",
        "host.cpu.model": "CPU",
        "host.cpu.logical": "CPUs",
        "host.cpu.governor": "governor",
        "host.os.kernel": "kernel",
        "run.rounds": "rounds",
        "run.trials.valid": "valid",
        "run.trials.untrusted": "untrusted",
        "run.trials.failed": "failed",
    }
    return _table("runs", {"run.name": "workflow", "run.id": "run"}, values)
