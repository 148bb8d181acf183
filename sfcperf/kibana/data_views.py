"""Data views: a data stream as Kibana sees it, with units in the formats of its fields."""

from __future__ import annotations

from typing import Any

from sfcperf.elasticsearch.mappings import PREFIX, STREAMS, Field, data_stream
from sfcperf.kibana.saved_objects import SavedObject, identifier, saved_object, text

_FORMATS: dict[str, dict[str, Any]] = {
    "B": {"id": "bytes"},
    "s": {"id": "number", "params": {"pattern": "0,0.[000]"}},
}
"""Unit -> Kibana's field format."""
_RATIOS = ("_ratio", "relative_half_width", "confidence")
"""Ends of the names of fields that are shown in percent."""


def data_view_id(stream: str, prefix: str = PREFIX) -> str:
    """Return the id of the data view of a stream (`trials`)."""
    return identifier("data-view", prefix, stream)


def data_views(prefix: str = PREFIX) -> list[SavedObject]:
    """Return a data view for each data stream."""
    return [
        saved_object(
            "index-pattern",
            data_view_id(stream.name, prefix),
            {
                "name": f"SFCPerf {stream.name}" if prefix == PREFIX else f"{prefix} {stream.name}",
                "title": data_stream(stream, prefix),
                "timeFieldName": "@timestamp",
                "allowNoIndex": True,
                "fieldFormatMap": text(_formats(stream.fields)),
                "fieldAttrs": text(_labels(stream.fields)),
            },
        )
        for stream in STREAMS.values()
    ]


def _formats(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Return field -> Kibana's format, for fields that need one."""
    formats = {}
    for field in fields:
        if field.name.endswith(_RATIOS):
            formats[field.name] = {"id": "percent", "params": {"pattern": "0,0.[00]%"}}
        elif field.unit in _FORMATS:
            formats[field.name] = _FORMATS[field.unit]
    return formats


def _labels(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Return the descriptions of fields, which Kibana shows beside their names in Discover."""
    return {
        field.name: {"customDescription": field.description}
        for field in fields
        if not field.is_pattern
    }
