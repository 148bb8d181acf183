"""Lens panels: tables, counts and series over time, as Kibana 8 stores them by value.

Functions that make a column of a field also call `field`, which raises UnknownField for a field
that does not exist or is not fit for the column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfcperf.kibana.fields import field
from sfcperf.kibana.saved_objects import reference

LAYER = "layer"
ROWS = 1000
"""Largest number of groups that a table shows."""

Kind = Literal["string", "number", "date", "boolean"]

_KINDS: Mapping[str, Kind] = {
    "keyword": "string",
    "boolean": "boolean",
    "date": "date",
    "date_nanos": "date",
}
"""Type of a field -> Lens' kind; other types are numbers."""


@dataclass(frozen=True)
class Column:
    """A column of a layer: a group (bucket) or a number."""

    label: str
    operation: str
    """Lens' name for how the column comes from the documents, such as `average`."""
    source: str
    """Field that the column is about; `___records___` stands for the documents themselves."""
    kind: Kind
    bucket: bool
    parameters: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """Return the column as Lens stores it."""
        return {
            "label": self.label,
            "customLabel": True,
            "dataType": self.kind,
            "operationType": self.operation,
            "sourceField": self.source,
            "isBucketed": self.bucket,
            "scale": {"string": "ordinal", "boolean": "ordinal", "date": "interval"}.get(
                self.kind, "interval" if self.bucket else "ratio"
            ),
            "params": dict(self.parameters),
        }


@dataclass(frozen=True)
class Lens:
    """A panel made of one layer over one data stream."""

    stream: str
    type: Literal["lnsDatatable", "lnsXY", "lnsMetric"]
    columns: Mapping[str, Column]
    """Id -> column, groups first."""
    query: str
    """Query that selects the documents, in KQL."""
    visualization: Mapping[str, Any]

    def attributes(self, title: str, data_view: str) -> dict[str, Any]:
        """Return the attributes of the panel. Their reference to the data view contains the name of
        the layer."""
        return {
            "title": title,
            "type": "lens",
            "visualizationType": self.type,
            "references": [reference(f"indexpattern-datasource-layer-{LAYER}", data_view)],
            "state": {
                "adHocDataViews": {},
                "internalReferences": [],
                "filters": [],
                "query": {"language": "kuery", "query": self.query},
                "datasourceStates": {
                    "formBased": {
                        "layers": {
                            LAYER: {
                                "columnOrder": list(self.columns),
                                "columns": {k: c.document() for k, c in self.columns.items()},
                                "incompleteColumns": {},
                            }
                        }
                    }
                },
                "visualization": dict(self.visualization),
            },
        }


def group(
    stream: str, name: str, label: str, *, size: int = ROWS, largest: str | None = None
) -> Column:
    """Return a column that groups documents by the values of a field; at most `size` groups are
    shown. They are in the order of their values. With `largest`, the id of a column with numbers,
    the groups with the largest numbers come first."""
    found = field(stream, name, "terms")
    parameters = {
        "size": size,
        "orderBy": {"type": "column", "columnId": largest} if largest else {"type": "alphabetical"},
        "orderDirection": "desc" if largest else "asc",
        "otherBucket": False,
        "missingBucket": False,
        "parentFormat": {"id": "terms"},
    }
    return Column(label, "terms", name, _KINDS.get(found.type, "number"), True, parameters)


def over_time(stream: str) -> Column:
    """Return the column for a time axis."""
    field(stream, "@timestamp", "date")
    parameters = {"interval": "auto", "includeEmptyRows": False, "dropPartials": False}
    return Column("time", "date_histogram", "@timestamp", "date", True, parameters)


def histogram(stream: str, name: str, label: str, bars: int) -> Column:
    """Return the column for a numeric axis that is divided into at most `bars` equal steps."""
    # Fit for `average` is each field with a number.
    field(stream, name, "average")
    parameters = {
        "type": "histogram",
        "ranges": [{"from": 0, "to": 1000, "label": ""}],
        "maxBars": bars,
        "includeEmptyRows": False,
    }
    return Column(label, "range", name, "number", True, parameters)


def average(stream: str, name: str, label: str) -> Column:
    """Return a column with the mean of a field's values."""
    field(stream, name, "average")
    return Column(label, "average", name, "number", False, {"emptyAsNull": True})


def total(stream: str, name: str, label: str) -> Column:
    """Return a column with the sum of a field's values."""
    field(stream, name, "average")
    return Column(label, "sum", name, "number", False, {"emptyAsNull": True})


def last_value(stream: str, name: str, label: str) -> Column:
    """Return a column with the newest value of a field, of any type that can be shown."""
    found = field(stream, name, "show")
    field(stream, "@timestamp", "date")
    parameters = {"sortField": "@timestamp", "showArrayValues": True}
    return Column(label, "last_value", name, _KINDS.get(found.type, "number"), False, parameters)


def count(label: str) -> Column:
    """Return a column with the number of documents."""
    return Column(label, "count", "___records___", "number", False, {"emptyAsNull": False})


def kql(stream: str, *conditions: tuple[str, str | bool]) -> str:
    """Return a query for documents that meet all `conditions`: (field, value that it has), or
    (field, `!value`) if it must have another value."""
    parts = []
    for name, value in conditions:
        field(stream, name, "terms")
        word = str(value).lower() if isinstance(value, bool) else _quoted(value.removeprefix("!"))
        negated = isinstance(value, str) and value.startswith("!")
        parts.append(f"{'not ' if negated else ''}{name} : {word}")
    return " and ".join(parts)


def _quoted(text: str) -> str:
    """Return a text as a phrase of KQL: quoted and escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def table(stream: str, columns: Sequence[Column], query: str = "") -> Lens:
    """Return a table: groups are its rows, numbers its columns."""
    named = _named(columns)
    visualization = {
        "layerId": LAYER,
        "layerType": "data",
        "columns": [{"columnId": name, "isTransposed": False} for name in named],
        "paging": {"enabled": True, "size": 20},
        "rowHeight": "auto",
    }
    return Lens(stream, "lnsDatatable", named, query, visualization)


def lines(stream: str, x: Column, y: Column, split: Column, query: str, unit: str) -> Lens:
    """Return lines over an axis, one for each group (`split`). The name of the y axis has its
    unit."""
    # Lens wants columns in this order: groups, axis, number.
    named = {"split": split, "x": x, "y": y}
    visualization = {
        "preferredSeriesType": "line",
        "fittingFunction": "None",
        "valueLabels": "hide",
        "legend": {"isVisible": True, "position": "right", "showSingleSeries": True},
        "axisTitlesVisibilitySettings": {"x": True, "yLeft": True, "yRight": True},
        "yTitle": f"{y.label} [{unit}]",
        "xTitle": x.label,
        "layers": [
            {
                "layerId": LAYER,
                "layerType": "data",
                "seriesType": "line",
                "xAccessor": "x",
                "accessors": ["y"],
                "splitAccessor": "split",
            }
        ],
    }
    return Lens(stream, "lnsXY", named, query, visualization)


def metric(stream: str, value: Column, query: str = "") -> Lens:
    """Return a panel that shows one number."""
    visualization = {"layerId": LAYER, "layerType": "data", "metricAccessor": "column-0"}
    return Lens(stream, "lnsMetric", _named([value]), query, visualization)


def _named(columns: Sequence[Column]) -> dict[str, Column]:
    """Return id -> column."""
    return {f"column-{number}": column for number, column in enumerate(columns)}
