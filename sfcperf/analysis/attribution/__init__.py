"""Attribution: which VNF of a chain takes how much of the delay."""

from sfcperf.analysis.attribution.analysis import AttributionAnalysis

__all__ = ["AttributionAnalysis"]
