"""Analysis: from the records of a run to statistics, comparisons and derived documents.

Packages: `statistics` and `two_sample` (plain numbers), `comparison` (runs against each other),
`attribution` (delay per VNF), `telemetry` (monitors' series), `enrichment` (tags from files).
"""

from sfcperf.analysis.base import Analysis

__all__ = ["Analysis"]
