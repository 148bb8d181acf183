"""A comparison presented (sfcperf.analysis.comparison has its statistics): HTML, terminal, CSV."""

from sfcperf.comparison.csv_table import comparison_csv
from sfcperf.comparison.floor_table import floor_table
from sfcperf.comparison.headline import headline
from sfcperf.comparison.page import comparison_page
from sfcperf.comparison.terminal import comparison_tables, comparison_texts

__all__ = [
    "comparison_csv",
    "comparison_page",
    "comparison_tables",
    "comparison_texts",
    "floor_table",
    "headline",
]
