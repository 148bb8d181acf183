"""Vega-Lite panels: means with their confidence intervals, which Lens has no mark for.

The documents themselves are drawn, not an aggregation of them: the intervals were made where the
trials are known, and no average of intervals is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.kibana.fields import field
from sfcperf.presentation import palette

MOST_ROWS = 10_000
"""Elasticsearch's own limit of hits (index.max_result_window)."""

_STREAM = "summaries"
_COLOURS = [palette.style(index).colour for index in range(7)]


@dataclass(frozen=True)
class Vega:
    """A panel drawn by Vega-Lite from a query of its own, in the dashboard's context."""

    stream: str
    spec: Mapping[str, Any]


def intervals(index: str, metric: str, unit: str, *, by: str, title: str) -> Vega:
    """A metric against the chain's length: mean and confidence interval of each scenario, a
    colour (and a shape) per value of the calculated field `by` (`series` or `run`)."""
    y_title = f"{metric} [{unit}]" if unit != "1" else metric
    x = {
        "field": _path("chain.length"),
        "type": "ordinal",
        "title": "service functions in the chain",
        "axis": {"labelAngle": 0},
    }
    y = {"type": "quantitative", "title": y_title, "axis": {"format": "~s"}}
    colour = {
        "field": by,
        "type": "nominal",
        "title": by,
        "scale": {"range": _COLOURS},
        "legend": {"orient": "bottom", "columns": 2, "labelLimit": 400},
    }
    apart = {"field": by, "type": "nominal"}
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": title,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"url": _query(index, metric), "format": {"property": "hits.hits"}},
        "transform": _calculated(),
        "encoding": {"x": x, "xOffset": apart, "color": colour},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 1.5},
                "encoding": {
                    "y": {"field": _path("summary.ci_low"), **y},
                    "y2": {"field": _path("summary.ci_high")},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60},
                "encoding": {
                    "y": {"field": _path("summary.mean"), **y},
                    "shape": _shape(by),
                    "opacity": {
                        "condition": {"test": f"datum.{_path('summary.valid')}", "value": 1},
                        "value": 0.5,
                    },
                    "tooltip": [
                        {"field": _path(name), "title": label}
                        for name, label in (
                            ("scenario.label", "scenario"),
                            ("run.id", "run"),
                            ("probe.label", "probe"),
                            ("summary.mean", f"mean [{unit}]"),
                            ("summary.ci_low", f"interval from [{unit}]"),
                            ("summary.ci_high", f"to [{unit}]"),
                            ("summary.confidence", "confidence"),
                            ("summary.method", "method"),
                            ("summary.n", "trials"),
                            ("summary.valid", "all trials valid"),
                        )
                    ],
                },
            },
        ],
        "config": {"axis": {"labelFontSize": 12, "titleFontSize": 12}},
    }
    return Vega(_STREAM, spec)


def _path(name: str) -> str:
    """Where a hit has the field."""
    field(_STREAM, name, "show")
    return f"_source.{name}"


def _shape(by: str) -> dict[str, Any]:
    """Colour is never the only cue; where it tells runs apart, shapes tell what is within one."""
    if by == "series":
        return {"field": by, "type": "nominal", "legend": None}
    legend = {"orient": "bottom", "columns": 2, "labelLimit": 400}
    return {"field": "series", "type": "nominal", "title": "series", "legend": legend}


def _calculated() -> list[dict[str, str]]:
    """`run`: name and end of the id; `series`: probe and levels other than the chain's length."""
    label, run = f"datum.{_path('scenario.label')}", f"datum.{_path('run.id')}"
    levels = f"trim(replace({label}, regexp('chain_length=[^ ]*', 'g'), ''))"
    return [
        {"calculate": f"datum.{_path('run.name')} + ' ' + slice({run}, -6)", "as": "run"},
        {"calculate": f"datum.{_path('probe.label')} + ' ' + {levels}", "as": "series"},
    ]


def _query(index: str, metric: str) -> dict[str, Any]:
    """In the dashboard's time, controls and filters: Kibana puts them where the `%...%` stand."""
    field(_STREAM, "metric.name", "terms")
    field(_STREAM, "@timestamp", "date")
    clause = "%dashboard_context-{}_clause%".format
    return {
        "index": index,
        "body": {
            "size": MOST_ROWS,
            "sort": [{"@timestamp": "asc"}],
            "query": {
                "bool": {
                    "must": [
                        {"range": {"@timestamp": {"%timefilter%": True}}},
                        {"term": {"metric.name": metric}},
                        clause("must"),
                    ],
                    "filter": [clause("filter")],
                    "must_not": [clause("must_not")],
                }
            },
        },
    }
