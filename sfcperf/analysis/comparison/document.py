"""A comparison as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from sfcperf.analysis.comparison.result import Comparison
from sfcperf.results.documents import plain
from sfcperf.results.records import SCHEMA_VERSION


def document(comparison: Comparison) -> dict[str, Any]:
    """As schemas/comparison.schema.json says: lists and objects, nothing that json cannot write."""
    values = {"schema_version": SCHEMA_VERSION, "counts": comparison.counts(), **asdict(comparison)}
    plain_values: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False, default=plain))
    return plain_values
