"""ReportPublisher: figures and report.html, in the run folder."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from sfcperf.figures.layout import FORMATS
from sfcperf.plugins import array, object_schema
from sfcperf.results.publisher import Publisher
from sfcperf.results.store import RunStore


class ReportPublisher(Publisher):
    """Writes the figures and report.html into the run folder."""

    name: ClassVar[str] = "report"
    title: ClassVar[str] = "Self-contained HTML report and figures for papers, in the run folder"
    parameters = object_schema(
        {
            "formats": array(
                "File formats of the figures.",
                {"enum": list(FORMATS)},
                uniqueItems=True,
                default=list(FORMATS),
            )
        }
    )

    def publish(self, run: RunStore) -> list[Path]:
        """Draw the figures and write the report; works for a run in any state."""
        # Imported late: every workflow needs this class for the check of its parameters, and few
        # commands write a report.
        from sfcperf.report.run_page import write_run_report

        return write_run_report(run, self.parameters.get("formats", FORMATS))
