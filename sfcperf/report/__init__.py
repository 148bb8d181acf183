"""HTML reports of one run and of many; results in the terminal. Nothing is estimated here."""

from sfcperf.report.multi_run import write_report
from sfcperf.report.publisher import ReportPublisher
from sfcperf.report.summary_table import summary_table

__all__ = ["ReportPublisher", "summary_table", "write_report"]
