"""ReportPublisher: report.html, one file that explains, shows and traces every number of a run.

It is made from the run folder alone, opens offline, and fetches nothing: a content security policy
in the page itself allows its own scripts, by their hashes, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.figures import plot as series
from sfcperf.figures.attribution_figure import write_attribution
from sfcperf.figures.figure_files import FORMATS, resolve_figures, write_figure
from sfcperf.figures.run_data import load_workflow, planned_scenarios
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.presentation.html_page import environment, page_parts
from sfcperf.report import chain_drawing as chain
from sfcperf.report import result_tables as result_rows
from sfcperf.report import run_facts as run_rows
from sfcperf.report import telemetry_charts
from sfcperf.report import trial_tables as trial_rows
from sfcperf.report.attribution import attribution_section
from sfcperf.report.charts import Chart, chart
from sfcperf.report.correlations import correlations
from sfcperf.report.noise import noise_section
from sfcperf.report.steadiness import unsteady
from sfcperf.report.verdict import judge
from sfcperf.results.publisher import Publisher
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore, replace_file
from sfcperf.results.telemetry import monitor_cpu_s
from sfcperf.workflow.model import FigureSpec, Workflow

if TYPE_CHECKING:
    from sfcperf.analysis.fits import LineFit
    from sfcperf.figures.plot import Plot

_RUN_FILES = (
    ("workflow.json", "the workflow as given"),
    ("workflow.applied.json", "the workflow as run: preset, driver and overrides applied"),
    ("plan.json", "order of the trials"),
    ("run.json", "manifest: versions, host, seeds, status"),
    ("trials.jsonl", "every trial with its samples: the record of truth"),
    ("warmup.jsonl", "warm-up trials, which count nowhere"),
    ("gate.jsonl", "readings of the noise gate's sentinel"),
    ("summary.json", "results as JSON"),
    ("summary.csv", "results as CSV"),
    ("telemetry.parquet", "time series of the monitors"),
    ("joined.parquet", "metrics of trials beside telemetry"),
    ("correlations.json", "correlations of metrics with telemetry"),
    ("steady.json", "whether telemetry is steady within the trials"),
    ("attribution.json", "which VNF the time goes to, as pptmon saw it"),
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
                "items": {"enum": list(FORMATS)},
                "uniqueItems": True,
                "default": list(FORMATS),
            }
        },
        "additionalProperties": False,
    }

    def publish(self, run: RunStore) -> list[Path]:
        """Draw the figures and write the report; works for a run in any state."""
        formats = self.parameters.get("formats", FORMATS)
        workflow, problem = load_workflow(run)
        content = _read(run, workflow)
        drawn = [
            path
            for figure in content.figures
            for path in write_figure(*figure, run.figures, formats)
        ]
        drawn += write_attribution(run, run.figures, formats)
        page = (
            environment("sfcperf.report")
            .get_template("report.html.j2")
            .render(**_context(content, problem))
        )
        replace_file(run.report, page)
        return [run.report, *drawn]


@dataclass(frozen=True)
class _Content:
    """What was read of a run, once: it may have many trials."""

    run: RunStore
    workflow: Workflow | None
    manifest: Mapping[str, Any]
    trials: list[TrialRecord]
    summaries: list[Summary]
    index: TrialIndex
    figures: list[tuple[Plot, dict[str, LineFit]]]
    """Those of the workflow, each with its fitted lines."""


@dataclass(frozen=True)
class _Charts:
    """Charts in the order of the page."""

    figures: list[Chart]
    primary: list[Chart]
    others: list[Chart]

    def data(self) -> dict[str, Any]:
        """Chart id -> what the browser draws."""
        return {c.id: c.data for c in [*self.figures, *self.primary, *self.others]}


def _read(run: RunStore, workflow: Workflow | None) -> _Content:
    trials, summaries = run.trials(), run.summaries()
    index = TrialIndex(trials)
    figures = [] if workflow is None else resolve_figures(run, workflow, summaries, trials, index)
    return _Content(run, workflow, run.manifest(), trials, summaries, index, figures)


def _context(content: _Content, problem: str | None) -> dict[str, Any]:
    run, workflow, manifest = content.run, content.workflow, content.manifest
    trials, summaries = content.trials, content.summaries
    charts = _charts(content)
    telemetry = telemetry_charts.telemetry_charts(run.telemetry_path)
    drawn = {c.id: c.data for c in telemetry if not c.constant}
    noise = noise_section(manifest, trials, run.readings())
    drawn |= {c.id: c.data for c in noise.charts} if noise is not None else {}
    return {
        "run_id": run.run_id,
        "most_at_once": MOST_ROWS_AT_ONCE,
        "batch": ROWS_PER_BATCH,
        "attribution": attribution_section(run),
        "correlations": correlations(run),
        "unsteady": unsteady(run),
        "manifest": manifest,
        "workflow": workflow,
        "workflow_problem": problem,
        "description": manifest.get("description") or "",
        "verdict": judge(manifest, trials, summaries),
        "facts": run_rows.run_facts(manifest, trials),
        "drawings": chain.drawings(workflow.scenarios) if workflow is not None else [],
        "results": result_rows.results(summaries),
        "charts": charts,
        "trials": [trial_rows.trial_row(record, run.folder) for record in trials],
        "probes": sorted({record.label for record in trials}),
        "proofs": trial_rows.proofs(trials, run.folder),
        "telemetry": telemetry,
        "noise": noise,
        "monitors": run_rows.monitors(manifest, trials, monitor_cpu_s(run.telemetry_path)),
        "environment": run_rows.environment(manifest),
        "methods": result_rows.methods(summaries),
        "stopping": result_rows.stopping(summaries),
        "files": [(n, text) for n, text in _RUN_FILES if (run.folder / n).exists()],
        "data": charts.data() | drawn,
        **page_parts(),
    }


def _charts(content: _Content) -> _Charts:
    summaries, index = content.summaries, content.index
    scenarios = planned_scenarios(content.run, content.workflow, content.trials)
    asked = [
        chart(f"figure-{number}", plot, index, fits, _figure_files(content.run, plot.spec))
        for number, (plot, fits) in enumerate(content.figures)
    ]
    covered = {(plot.spec.probe, plot.spec.metric) for plot, _ in content.figures}
    others = [
        chart(f"metric-{number}", series.resolve(spec, summaries, scenarios, index), index)
        for number, spec in enumerate(series.automatic(summaries, scenarios))
        if (spec.probe, spec.metric) not in covered
    ]
    return _Charts(asked, [c for c in others if c.primary], [c for c in others if not c.primary])


def _figure_files(run: RunStore, spec: FigureSpec) -> list[str]:
    names = [f"{spec.name}.{ending}" for ending in (*FORMATS, "csv", "trials.csv")]
    return [f"figures/{name}" for name in names if (run.figures / name).is_file()]
