"""Enrichment: tags for trials and telemetry sources, from tables and address databases."""

from sfcperf.analysis.enrichment.enrich import EnrichAnalysis

__all__ = ["EnrichAnalysis"]
