"""ReportPublisher: report.html, one file that explains, shows and traces every number of a run.

It is made from the run folder alone, opens offline, and fetches nothing: a content security policy
in the page itself allows its own scripts, by their hashes, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore, replace_file
from sfcperf.results.telemetry import monitor_cpu_s
from sfcperf.visualization import chain, figures, rows, series, telemetry_charts
from sfcperf.visualization.base import Publisher
from sfcperf.visualization.charts import Chart, chart
from sfcperf.visualization.correlations import correlations
from sfcperf.visualization.fit_words import fits_by_series
from sfcperf.visualization.page import environment, page_parts
from sfcperf.visualization.run_data import load_workflow, planned_scenarios
from sfcperf.visualization.steadiness import unsteady
from sfcperf.visualization.trial_index import TrialIndex
from sfcperf.visualization.verdict import judge
from sfcperf.workflow.model import FigureSpec, Workflow

_RUN_FILES = (
    ("workflow.json", "the workflow as given"),
    ("workflow.applied.json", "the workflow as run: preset, driver and overrides applied"),
    ("plan.json", "order of the trials"),
    ("run.json", "manifest: versions, host, seeds, status"),
    ("trials.jsonl", "every trial with its samples: the record of truth"),
    ("warmup.jsonl", "warm-up trials, which count nowhere"),
    ("summary.json", "results as JSON"),
    ("summary.csv", "results as CSV"),
    ("telemetry.parquet", "time series of the monitors"),
    ("joined.parquet", "metrics of trials beside telemetry"),
    ("correlations.json", "correlations of metrics with telemetry"),
    ("steady.json", "whether telemetry is steady within the trials"),
    ("tags.json", "tags of trials and sources, from files of the user"),
    ("figures", "figures as SVG, PDF, PNG and CSV"),
    ("raw", "what each tool printed, captures"),
)

MOST_ROWS_AT_ONCE = 1000
"""Trials (and proofs) in one table; more are in several of ROWS_PER_BATCH, which a browser lays out
as they come near the screen, without the details of valid trials."""
ROWS_PER_BATCH = 250


class ReportPublisher(Publisher):
    """Writes the figures and report.html into the run folder."""

    name: ClassVar[str] = "report"
    title: ClassVar[str] = "Self-contained HTML report and figures for papers, in the run folder"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "formats": {
                "description": "File formats of the figures.",
                "type": "array",
                "items": {"enum": list(figures.FORMATS)},
                "uniqueItems": True,
                "default": list(figures.FORMATS),
            }
        },
        "additionalProperties": False,
    }

    def publish(self, run: RunStore) -> list[Path]:
        """Draw the figures and write the report; works for a run in any state."""
        formats = self.parameters.get("formats", figures.FORMATS)
        workflow, problem = load_workflow(run)
        drawn = figures.draw_figures(run, workflow, formats) if workflow is not None else []
        page = (
            environment().get_template("report.html.j2").render(**_context(run, workflow, problem))
        )
        replace_file(run.report, page)
        return [run.report, *drawn]


@dataclass(frozen=True)
class _Charts:
    """Charts in the order of the page."""

    figures: list[Chart]
    primary: list[Chart]
    others: list[Chart]

    def data(self) -> dict[str, Any]:
        """Chart id -> what the browser draws."""
        return {c.id: c.data for c in [*self.figures, *self.primary, *self.others]}


def _context(run: RunStore, workflow: Workflow | None, problem: str | None) -> dict[str, Any]:
    manifest, trials, summaries = run.manifest(), run.trials(), run.summaries()
    charts = _charts(run, workflow, trials)
    telemetry = telemetry_charts.telemetry_charts(run.telemetry_path)
    drawn = {c.id: c.data for c in telemetry if not c.constant}
    return {
        "run_id": run.run_id,
        "most_at_once": MOST_ROWS_AT_ONCE,
        "batch": ROWS_PER_BATCH,
        "correlations": correlations(run),
        "unsteady": unsteady(run),
        "manifest": manifest,
        "workflow": workflow,
        "workflow_problem": problem,
        "description": manifest.get("description") or "",
        "verdict": judge(manifest, trials, summaries),
        "facts": rows.run_facts(manifest, trials),
        "drawings": chain.drawings(workflow.scenarios) if workflow is not None else [],
        "results": rows.results(summaries),
        "charts": charts,
        "trials": [rows.trial_row(record, run.folder) for record in trials],
        "probes": sorted({record.label for record in trials}),
        "proofs": rows.proofs(trials, run.folder),
        "telemetry": telemetry,
        "monitors": rows.monitors(manifest, trials, monitor_cpu_s(run.telemetry_path)),
        "environment": rows.environment(manifest),
        "methods": rows.methods(summaries),
        "stopping": rows.stopping(summaries),
        "files": [(n, text) for n, text in _RUN_FILES if (run.folder / n).exists()],
        "data": charts.data() | drawn,
        **page_parts(),
    }


def _charts(run: RunStore, workflow: Workflow | None, trials: Sequence[TrialRecord]) -> _Charts:
    summaries, index = run.summaries(), TrialIndex(trials)
    scenarios = planned_scenarios(run, workflow, trials)
    specs = workflow.figures if workflow is not None else ()
    asked = [
        chart(
            f"figure-{number}",
            plot := series.resolve(spec, summaries, scenarios, index),
            index,
            fits_by_series(plot, figures.fits_of(run, spec)),
            _figure_files(run, spec),
        )
        for number, spec in enumerate(specs)
    ]
    covered = {(spec.probe, spec.metric) for spec in specs}
    others = [
        chart(f"metric-{number}", series.resolve(spec, summaries, scenarios, index), index)
        for number, spec in enumerate(series.automatic(summaries, scenarios))
        if (spec.probe, spec.metric) not in covered
    ]
    return _Charts(asked, [c for c in others if c.primary], [c for c in others if not c.primary])


def _figure_files(run: RunStore, spec: FigureSpec) -> list[str]:
    names = [f"{spec.name}.{ending}" for ending in (*figures.FORMATS, "csv", "trials.csv")]
    return [f"figures/{name}" for name in names if (run.figures / name).is_file()]
