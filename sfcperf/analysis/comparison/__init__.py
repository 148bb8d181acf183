"""Comparison of runs, or of the variants of a run: per scenario and metric a difference with its
interval, a test, a verdict (docs/explanation/comparing.md)."""

from sfcperf.analysis.comparison.differences import differences
from sfcperf.analysis.comparison.engine import compare, compare_all
from sfcperf.analysis.comparison.kept_floors import FloorRow, NoiseFloors, floor_rows, read_floors
from sfcperf.analysis.comparison.least_rounds import can_differ, least_rounds_text
from sfcperf.analysis.comparison.options import DEFAULT_MARGIN, Options
from sfcperf.analysis.comparison.result import (
    VERDICTS,
    Comparison,
    Crashes,
    Difference,
    Floor,
    Replication,
    Row,
    RunFacts,
    Sample,
    SideFacts,
    UnmatchedResult,
    Verdict,
    percent_text,
)
from sfcperf.analysis.comparison.sides import VARIANT, MeasuredSide, Side, read_side, variants_of
from sfcperf.analysis.comparison.warnings import without_power
from sfcperf.analysis.two_sample import Estimate

__all__ = [
    "DEFAULT_MARGIN",
    "VARIANT",
    "VERDICTS",
    "Comparison",
    "Crashes",
    "Difference",
    "Estimate",
    "Floor",
    "FloorRow",
    "MeasuredSide",
    "NoiseFloors",
    "Options",
    "Replication",
    "Row",
    "RunFacts",
    "Sample",
    "Side",
    "SideFacts",
    "UnmatchedResult",
    "Verdict",
    "can_differ",
    "compare",
    "compare_all",
    "differences",
    "floor_rows",
    "least_rounds_text",
    "percent_text",
    "read_floors",
    "read_side",
    "variants_of",
    "without_power",
]
