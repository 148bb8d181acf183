"""Vega-Lite panels: means with their confidence intervals, which Lens has no mark for.

The documents themselves are drawn, not an aggregation of them: the intervals were made where the
trials are known, and no average of intervals is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sfcperf.kibana.fields import field
from sfcperf.presentation import palette

if TYPE_CHECKING:
    import jinja2

MOST_ROWS = 10_000
"""Largest number of documents that a panel asks for: Elasticsearch's own limit
(index.max_result_window)."""

_STREAM = "summaries"
_COLOURS = [palette.style(index).colour for index in range(7)]


@dataclass(frozen=True)
class Vega:
    """A panel that Vega-Lite draws from a query of its own. The dashboard's time range, query and
    controls apply to it."""

    stream: str
    spec: Mapping[str, Any]


def intervals(index: str, metric: str, unit: str, *, by: str, title: str) -> Vega:
    """Return a panel of a metric against the chain's length: mean and confidence interval of each
    scenario. Each value of the calculated field `by` has a colour and a shape; `by` is `run` (name
    and end of the id) or `series` (probe and levels other than the chain's length)."""
    text = _template().render(
        index=index,
        metric=metric,
        unit=unit,
        y_title=f"{metric} [{unit}]" if unit != "1" else metric,
        by=by,
        title=title,
        colours=_COLOURS,
        most_rows=MOST_ROWS,
    )
    # Only checks: all fields that the template uses must exist, and be fit for it.
    for name in re.findall(r"\b_source\.([a-z_.]+)", text):
        field(_STREAM, name, "show")
    field(_STREAM, "metric.name", "terms")
    field(_STREAM, "@timestamp", "date")
    return Vega(_STREAM, json.loads(text))


@cache
def _template() -> jinja2.Template:
    """Return the template of the panel's specification: templates/intervals.json.j2."""
    import jinja2

    loader = jinja2.PackageLoader("sfcperf.kibana")
    environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined)
    return environment.get_template("intervals.json.j2")
