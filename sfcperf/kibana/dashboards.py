"""The dashboards of dashboards.json: its panels from the fields of the data streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from sfcperf import plugins
from sfcperf.elasticsearch.mappings import PREFIX, STREAMS, data_stream
from sfcperf.kibana import lens, vega
from sfcperf.kibana.dashboard_objects import Control, Dashboard, Panel, saved_dashboard
from sfcperf.kibana.data_views import data_views
from sfcperf.kibana.saved_objects import SavedObject
from sfcperf.workflow.defaults import with_defaults


def saved_objects(prefix: str = PREFIX) -> list[SavedObject]:
    """Return the data views and dashboards over the data streams with this prefix."""
    described = json.loads(files("sfcperf.kibana").joinpath("dashboards.json").read_text("utf-8"))
    dashboards = [
        Dashboard(
            entry["key"],
            entry["title"],
            entry["description"],
            tuple(Control(*control) for control in entry["controls"]),
            tuple(
                p for panel in entry["panels"] for p in _panels(panel, described["tables"], prefix)
            ),
        )
        for entry in described["dashboards"]
    ]
    return [*data_views(prefix), *(saved_dashboard(dashboard, prefix) for dashboard in dashboards)]


def primary_metrics() -> list[tuple[str, str]]:
    """Return (metric, unit) of all primary metrics that the installed probes declare."""
    found: dict[tuple[str, str], None] = {}
    for name in plugins.names("probe"):
        probe = plugins.load("probe", name)
        for metric in probe.metrics(with_defaults(probe.parameters, {})):
            if metric.primary:
                found[metric.name, metric.unit] = None
    return list(found)


def _panels(
    entry: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]], prefix: str
) -> Iterator[Panel]:
    """Yield the panels of an entry of dashboards.json: one panel, or for the kind `intervals` one
    for each primary metric."""
    match entry["kind"]:
        case "count":
            yield Panel(entry["title"], _count(entry["status"]), *entry["size"])
        case "table":
            yield Panel(entry["title"], _table(**tables[entry["of"]]), *entry["size"])
        case "intervals":
            index = data_stream(STREAMS["summaries"], prefix)
            for metric, unit in primary_metrics():
                title = f"{metric} against the length of the chain"
                drawn = vega.intervals(index, metric, unit, by=entry["by"], title=title)
                yield Panel(title, drawn, *entry["size"])
        case "flows":
            yield Panel(entry["title"], _flows(), *entry["size"])
        case kind:
            yield Panel(entry["title"], _lines(entry, overlaid=kind == "overlaid"), *entry["size"])


def _count(status: str) -> lens.Lens:
    """Return a panel with the number of trials that have a status."""
    # A trial has a document for each metric: only the first is counted.
    query = lens.kql("trials", ("trial.first", True), ("trial.status", status))
    return lens.metric("trials", lens.count(f"{status} trials"), query)


def _table(
    stream: str,
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    where: list[tuple[str, str | bool]],
) -> lens.Lens:
    """Return a table. `rows`: field -> label of the fields that make the rows; `columns`: field ->
    label of those that the rows show; `where`: conditions as in `lens.kql`."""
    shown = [lens.group(stream, name, label) for name, label in rows.items()]
    shown += [lens.last_value(stream, name, label) for name, label in columns.items()]
    return lens.table(stream, shown, lens.kql(stream, *where))


def _flows() -> lens.Lens:
    """Return a table of the flows with the most packets in valid trials."""
    stream = "flows"
    rows = {
        "flow.name": "flow",
        "flow.function": "function",
        "flow.spi": "SPI",
        "run.id": "run",
        "scenario.label": "scenario",
        "flow.certainty": "counts",
    }
    # Id of the column with the packets: the first one after the groups. It gives the order.
    packets = f"column-{len(rows)}"
    names = enumerate(rows.items())
    columns = [
        lens.group(stream, name, label, size=100, largest=None if number else packets)
        for number, (name, label) in names
    ]
    columns += [
        lens.total(stream, "flow.packets", "packets"),
        lens.total(stream, "flow.bytes", "bytes"),
        lens.count("windows"),
    ]
    return lens.table(stream, columns, lens.kql(stream, ("trial.status", "valid")))


def _lines(entry: Mapping[str, Any], *, overlaid: bool) -> lens.Lens:
    """Return telemetry over time with a line for each instance; or, if `overlaid`, over the time
    since each trial began with a line for each trial."""
    stream = "telemetry"
    query = lens.kql(stream, ("metric.name", entry["metric"]))
    if overlaid:
        x = lens.histogram(stream, "telemetry.elapsed_s", "seconds since the trial began", 100)
        split, label = lens.group(stream, "trial.id", "trial", size=32), "mean"
    else:
        x = lens.over_time(stream)
        split = lens.group(stream, "telemetry.source", "instance", size=64)
        label = entry["title"]
    y = lens.average(stream, "metric.value", label)
    return lens.lines(stream, x, y, split, query, entry["unit"])
