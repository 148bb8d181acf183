"""Visualization: report and figures."""
