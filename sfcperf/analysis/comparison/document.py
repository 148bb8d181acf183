"""A comparison as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sfcperf.analysis.comparison.result import Comparison
from sfcperf.results.records import SCHEMA_VERSION


def document(comparison: Comparison) -> dict[str, Any]:
    """As schemas/comparison.schema.json says."""
    return {
        "schema_version": SCHEMA_VERSION,
        "counts": comparison.counts(),
        **asdict(comparison),
    }
