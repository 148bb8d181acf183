"""Presentation of a comparison: HTML page, tables for the terminal, CSV.

The statistics are those of sfcperf.analysis.comparison; nothing is tested here. Imports
`sfcperf.presentation` of the packages that show results.
"""

from sfcperf.comparison.csv_table import comparison_csv
from sfcperf.comparison.page import comparison_page
from sfcperf.comparison.terminal import comparison_tables, comparison_texts

__all__ = ["comparison_csv", "comparison_page", "comparison_tables", "comparison_texts"]
