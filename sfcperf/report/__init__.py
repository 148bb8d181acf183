"""HTML reports of one run (`ReportPublisher`) and of many (`write_report`); results in the terminal
(`summary_table`).

Imports `sfcperf.figures` and `sfcperf.presentation` of the packages that show results; none of them
imports this one. Numbers come from the records and summaries: nothing is estimated here.
"""

from sfcperf.report.multi_run import write_report
from sfcperf.report.publisher import ReportPublisher
from sfcperf.report.summary_table import summary_table

__all__ = ["ReportPublisher", "summary_table", "write_report"]
