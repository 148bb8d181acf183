"""Presentation of a comparison: HTML page, terminal, CSV."""
