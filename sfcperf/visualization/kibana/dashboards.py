"""The dashboards: what is on them, and as saved objects.

- *Chain performance by scenario*: every primary metric against the chain's length with its
  intervals, the numbers behind them, and how many trials count.
- *Telemetry over time*: what the monitors saw, by instance, beside the trials of that time.
- *Comparison of runs*: the same metrics with a colour per run, and what the runs differ in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from sfcperf import plugins
from sfcperf.results.elasticsearch.mappings import PREFIX, STREAMS, data_stream
from sfcperf.results.records import TrialStatus
from sfcperf.visualization.kibana import lens, vega
from sfcperf.visualization.kibana.data_views import data_view_id, data_views
from sfcperf.visualization.kibana.fields import field
from sfcperf.visualization.kibana.saved_objects import (
    SavedObject,
    identifier,
    reference,
    saved_object,
    text,
)
from sfcperf.workflow.defaults import with_defaults

TIME_FROM = "now-90d"
"""Range that a dashboard opens with."""

_COLUMNS = 48
"""Width of a dashboard in Kibana's grid."""


@dataclass(frozen=True)
class Control:
    """A list of values to filter the whole dashboard by."""

    stream: str
    field: str
    title: str


@dataclass(frozen=True)
class Panel:
    """A panel and its place in the grid."""

    title: str
    content: lens.Lens | vega.Vega
    width: int
    height: int


@dataclass(frozen=True)
class Dashboard:
    """A dashboard; panels are laid in rows from the left, in this order."""

    key: str
    title: str
    description: str
    controls: tuple[Control, ...]
    panels: tuple[Panel, ...]


def saved_objects(prefix: str = PREFIX) -> list[SavedObject]:
    """Data views and dashboards over data streams with this prefix."""
    views = data_views(prefix)
    return [*views, *(_saved(dashboard, prefix) for dashboard in dashboards(prefix))]


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
            Panel("Every number", _numbers(), _COLUMNS, 20),
            Panel("Trials that do not count", _excluded(), _COLUMNS, 12),
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
                _COLUMNS,
                14,
            ),
            Panel("Trials of this time", _trials(), _COLUMNS, 16),
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
            Panel("The runs, and what they differ in", _runs(), _COLUMNS, 14),
            *_interval_panels(prefix, "run"),
            Panel("Every number", _numbers(), _COLUMNS, 20),
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


def _saved(dashboard: Dashboard, prefix: str) -> SavedObject:
    places = list(_places(dashboard.panels))
    panels = [
        _panel(dashboard, number, place, prefix) for number, place in enumerate(places, start=1)
    ]
    references = [
        reference(
            f"{panel['panelIndex']}:indexpattern-datasource-layer-{lens.LAYER}",
            data_view_id(place[0].content.stream, prefix),
        )
        for panel, place in zip(panels, places, strict=True)
        if panel["type"] == "lens"
    ]
    references += [
        reference(
            f"controlGroup_{_control_id(dashboard, number)}:optionsListDataView",
            data_view_id(control.stream, prefix),
        )
        for number, control in enumerate(dashboard.controls)
    ]
    attributes = {
        "title": dashboard.title if prefix == PREFIX else f"{dashboard.title} ({prefix})",
        "description": dashboard.description,
        "panelsJSON": text(panels),
        "controlGroupInput": _controls(dashboard),
        "optionsJSON": text({"useMargins": True, "hidePanelTitles": False, "syncColors": True}),
        "timeRestore": True,
        "timeFrom": TIME_FROM,
        "timeTo": "now",
        "version": 1,
        "kibanaSavedObjectMeta": {
            "searchSourceJSON": text(
                {"query": {"language": "kuery", "query": ""}, "filter": []},
            )
        },
    }
    id_ = identifier("dashboard", prefix, dashboard.key)
    return saved_object("dashboard", id_, attributes, references)


def _places(panels: Sequence[Panel]) -> Iterator[tuple[Panel, int, int]]:
    """(Panel, x, y): rows from the left, a new one when the panel does not fit."""
    x = y = row_height = 0
    for panel in panels:
        if x + panel.width > _COLUMNS:
            x, y, row_height = 0, y + row_height, 0
        yield panel, x, y
        x, row_height = x + panel.width, max(row_height, panel.height)


def _panel(
    dashboard: Dashboard, number: int, place: tuple[Panel, int, int], prefix: str
) -> dict[str, Any]:
    panel, x, y = place
    index = identifier("panel", dashboard.key, str(number))
    common = {
        "panelIndex": index,
        "title": panel.title,
        "gridData": {"i": index, "x": x, "y": y, "w": panel.width, "h": panel.height},
    }
    if isinstance(panel.content, lens.Lens):
        view = data_view_id(panel.content.stream, prefix)
        config = {"attributes": panel.content.attributes(panel.title, view), "enhancements": {}}
        return {**common, "type": "lens", "embeddableConfig": config}
    saved = {
        "type": "vega",
        "title": panel.title,
        "description": "",
        "params": {"spec": text(panel.content.spec)},
        "uiState": {},
        "data": {
            "aggs": [],
            "searchSource": {"query": {"language": "kuery", "query": ""}, "filter": []},
        },
    }
    config = {"savedVis": saved, "enhancements": {}}
    return {**common, "type": "visualization", "embeddableConfig": config}


def _controls(dashboard: Dashboard) -> dict[str, Any]:
    panels = {}
    for number, control in enumerate(dashboard.controls):
        field(control.stream, control.field, "terms")
        id_ = _control_id(dashboard, number)
        panels[id_] = {
            "order": number,
            "width": "medium",
            "grow": True,
            "type": "optionsListControl",
            "explicitInput": {
                "id": id_,
                "fieldName": control.field,
                "title": control.title,
                "selectedOptions": [],
                "enhancements": {},
            },
        }
    return {
        "chainingSystem": "HIERARCHICAL",
        "controlStyle": "oneLine",
        "ignoreParentSettingsJSON": text(
            {
                "ignoreFilters": False,
                "ignoreQuery": False,
                "ignoreTimerange": False,
                "ignoreValidations": False,
            }
        ),
        "panelsJSON": text(panels),
    }


def _control_id(dashboard: Dashboard, number: int) -> str:
    return identifier("control", dashboard.key, str(number))
