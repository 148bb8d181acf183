"""Enriching: tags for trials and telemetry sources, from tables and address databases."""
