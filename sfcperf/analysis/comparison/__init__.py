"""Comparison of runs, or of the variants of a run: per scenario and metric a difference with its
interval, a test, a verdict (docs/explanation/comparing.md)."""

from sfcperf.analysis.comparison.engine import compare, compare_all
from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import (
    VERDICTS,
    Comparison,
    Difference,
    Estimate,
    Row,
    Sample,
    SideFacts,
    Unmatched,
    Verdict,
)
from sfcperf.analysis.comparison.sides import Side

__all__ = [
    "VERDICTS",
    "Comparison",
    "Difference",
    "Estimate",
    "Options",
    "Row",
    "Sample",
    "Side",
    "SideFacts",
    "Unmatched",
    "Verdict",
    "compare",
    "compare_all",
]
