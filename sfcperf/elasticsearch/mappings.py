"""The fields of every data stream, from fields.json: the one description that templates, documents,
dashboards and the reference are made from.

Names are nested as the Elastic Common Schema nests them (`host.cpu.model`). One thing has one name
in all streams, so that a filter on `run.id` or `metric.name` holds for a whole dashboard.

- A number is found by its metric's name: `metric.name: "rtt_us"` and then `metric.value`. Probes of
  third parties need no new field.
- A factor is there twice: `factor.NAME`, its level as a keyword, to break down and to filter by;
  `level.NAME`, a number, for an axis, when the level is one. These two are the only fields whose
  names are not known before; their types are. Nothing else is mapped dynamically.
- `chain.length` is the number of service functions, whatever the workflow calls its factors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

FieldType = Literal[
    "boolean",
    "date",
    "date_nanos",
    "double",
    "flattened",
    "integer",
    "ip",
    "keyword",
    "long",
    "text",
]

KEYWORD_LENGTH = 1024
"""Longest keyword that is indexed, in characters. Longer ones are kept, but no search finds
them."""


@dataclass(frozen=True)
class Field:
    """A field of a data stream."""

    name: str
    """Name with dots; a last part `*` stands for any name (of a factor)."""
    type: FieldType
    """Elasticsearch's type of the field."""
    description: str
    unit: str
    """SI unit; `1` for a count or a ratio; empty for what has none, and for `metric.*`, whose
    unit is in `metric.unit`."""
    source: str
    """Path of its value in the facts that a document is made from (the manifest, a trial's record,
    ...)."""

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for fields whose names come with the data."""
        return self.name.endswith(".*")


@dataclass(frozen=True)
class Stream:
    """A data stream of Elasticsearch, with its fields."""

    name: str
    """Name without the prefix: `trials`, whose data stream is `sfcperf-trials`."""
    description: str
    """What one document is."""
    fields: tuple[Field, ...]
    mutable: bool
    """Whether a document may change after it is sent, since a run can be analysed again or resumed.
    Such documents have `document.hash`."""


VERSION = 1
"""Version of the streams' fields; templates and documents contain it."""


def _streams() -> dict[str, Stream]:
    """Read name -> stream from fields.json."""
    table = json.loads(files("sfcperf.elasticsearch").joinpath("fields.json").read_text("utf-8"))
    groups = table["groups"]
    streams = {}
    for name, stream in table["streams"].items():
        # A text instead of a field names a group of fields that streams share.
        parts = (groups[part] if isinstance(part, str) else [part] for part in stream["fields"])
        fields = tuple(_field(**entry) for part in parts for entry in part)
        streams[name] = Stream(name, stream["about"], fields, stream["mutable"])
    return streams


def _field(name: str, type: FieldType, about: str, unit: str = "", source: str = "") -> Field:
    """Make a field from an entry of fields.json. Unless the entry says otherwise, the path of its
    value is its name without the first part."""
    return Field(name, type, about, unit, source or name.partition(".")[2])


STREAMS: Mapping[str, Stream] = _streams()
"""Name -> data stream, in the order in which they are sent."""
RUNS, TRIALS, SUMMARIES, CLAIMS, TELEMETRY, FLOWS = STREAMS.values()

PREFIX = "sfcperf"
"""Prefix of a stream's name, unless the user gives another."""


def data_stream(stream: Stream, prefix: str = PREFIX) -> str:
    """Return the name of the data stream on the server, such as `sfcperf-trials`."""
    return f"{prefix}-{stream.name}"


def mappings(stream: Stream) -> dict[str, Any]:
    """Return the `mappings` of the stream's index template. Fields that they do not name are not
    indexed."""
    properties: dict[str, Any] = {}
    for field in stream.fields:
        *parents, last = field.name.split(".")
        level = properties
        for parent in parents:
            level = level.setdefault(parent, {"properties": {}})["properties"]
        if field.is_pattern:
            # It has an object above it, but no property of its own.
            continue
        level[last] = _mapping(field)
    for parent in _patterns(stream):
        # New names may come below this object; the dynamic template gives them their type.
        properties[parent] |= {"type": "object", "dynamic": True}
    templates = [
        {parent: {"path_match": field.name, "mapping": _mapping(field)}}
        for parent, field in _patterns(stream).items()
    ]
    return {"dynamic": False, "properties": properties, "dynamic_templates": templates}


def _patterns(stream: Stream) -> dict[str, Field]:
    """Return the fields that stand for others, by the object above them: `factor` -> `factor.*`."""
    return {f.name.removesuffix(".*"): f for f in stream.fields if f.is_pattern}


def _mapping(field: Field) -> dict[str, Any]:
    """Return the mapping of one field."""
    mapping: dict[str, Any] = {"type": field.type}
    if field.type in ("keyword", "flattened"):
        mapping["ignore_above"] = KEYWORD_LENGTH
    if field.type == "ip" or (field.is_pattern and field.type != "keyword"):
        # A document must not be refused for a level that is no number in some run, or for an
        # address that is not an IP address.
        mapping["ignore_malformed"] = True
    if field.unit:
        mapping["meta"] = {"unit": field.unit}
    return mapping
