"""report.html: one file that explains, shows and traces every number of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sfcperf.analysis.planned import planned_measurements
from sfcperf.analysis.summary import summarise
from sfcperf.control.live import look_at
from sfcperf.control.lock import is_held
from sfcperf.figures.attribution_figure import write_attribution
from sfcperf.figures.figure_files import (
    ResolvedFigure,
    resolve_figures,
    write_figure,
    written_files,
)
from sfcperf.figures.layout import FigureLayout
from sfcperf.figures.plot import Plot
from sfcperf.figures.run_data import RunData, resolve_figure
from sfcperf.figures.selection import automatic
from sfcperf.figures.throughput_figure import write_throughput
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.presentation import claim_texts
from sfcperf.presentation.pages import Chart, render
from sfcperf.presentation.time_left import time_left_of
from sfcperf.report import chain_drawing, result_tables, run_facts, telemetry_analyses, trial_tables
from sfcperf.report.attribution import attribution_section
from sfcperf.report.blocking import blocking
from sfcperf.report.charts import MetricChart, chart
from sfcperf.report.claims import claims_section
from sfcperf.report.heavy_hitters import heavy_hitters
from sfcperf.report.noise import noise_section
from sfcperf.report.telemetry_charts import telemetry_charts
from sfcperf.report.throughput import throughput_section
from sfcperf.report.verdict import verdict_of
from sfcperf.report.vnf_costs import cost_section
from sfcperf.results.files import replace_file
from sfcperf.results.kinds import kind_of
from sfcperf.results.records import Summary
from sfcperf.results.store import RunStore
from sfcperf.results.tables import monitor_cpu_cores, monitor_cpu_s

_RUN_FILES = (
    ("workflow.json", "the workflow as given"),
    ("workflow.applied.json", "the workflow as run, with preset, driver and overrides applied"),
    ("plan.json", "order of the trials"),
    ("run.json", "manifest: versions, host, seeds, status"),
    ("trials.jsonl", "every trial with its samples; everything else is derived from it"),
    ("warmup.jsonl", "warm-up trials, excluded from all results"),
    ("gate.jsonl", "measurements of the noise gate's reference chain"),
    ("summary.json", "results as JSON"),
    ("summary.csv", "results as CSV"),
    ("telemetry.parquet", "time series of the monitors"),
    ("flows.parquet", "flows of each window, as functions of type sfcmon listed them"),
    ("joined.parquet", "metrics of trials joined with telemetry"),
    ("correlations.json", "correlations of metrics with telemetry"),
    ("claims.json", "verdicts on the claims of the workflow"),
    ("attribution.json", "where the time of packets goes: VNFs, SFFs, links"),
    ("tags.json", "tags of trials and sources, from the user's files"),
    ("figures", "figures as SVG, PDF, PNG and CSV"),
    ("raw", "output of each tool, packet captures"),
)

MOST_ROWS_AT_ONCE = 1000
"""Largest number of trials (or proofs) in one table. More of them are split into tables of
ROWS_PER_BATCH, which a browser lays out only when they come near the screen. Such tables lack the
details of valid trials."""
ROWS_PER_BATCH = 250


def write_run_report(run: RunStore, formats: Sequence[str]) -> list[Path]:
    """Draw the figures in these formats and write report.html; return the paths of all files."""
    layout = FigureLayout(formats=tuple(formats))
    data = RunData(run, run.run_id)
    index = TrialIndex(data.trials)
    figures = resolve_figures([data], data.figures, index)
    drawn = [path for figure in figures for path in write_figure(*figure, run.figures, layout)]
    drawn += write_attribution(run, run.figures, layout)
    drawn += write_throughput(run, run.figures, layout)
    replace_file(run.report, _page(data, figures, index))
    return [run.report, *drawn]


def live_page(run: RunStore, version: str) -> str:
    """Return the page of a run as it is now, with summaries of the trials so far. Telemetry,
    attribution and figure files only exist after the end of a run. Writes nothing."""
    data = _UnfinishedRun(run, run.run_id) if is_held(run.folder) else RunData(run, run.run_id)
    index = TrialIndex(data.trials)
    return _page(data, resolve_figures([data], data.figures, index), index, version)


class _UnfinishedRun(RunData):
    """A run in progress, without summary.json."""

    @cached_property
    def summaries(self) -> list[Summary]:
        """Summaries of the trials so far."""
        return summarise(self.store, planned_measurements(self.store.manifest(), self.trials))

    @property
    def time_left(self) -> str:
        """Time until the run ends, in words; empty when it is not known."""
        workflow = self.workflow
        left = None if workflow is None else time_left_of(look_at(self.store), workflow)
        return "" if left is None else str(left)


@dataclass(frozen=True)
class _Charts:
    """The charts of a page, in its order: the workflow's figures, then primary metrics, then
    others."""

    figures: list[MetricChart]
    primary: list[MetricChart]
    others: list[MetricChart]


def _page(
    run: RunData, figures: Sequence[ResolvedFigure], index: TrialIndex, version: str = ""
) -> str:
    """Return the HTML of the page. `figures`: those of the workflow; `index`: all trials of the
    run; `version`: entity tag of a live page, empty for a file."""
    store, workflow, manifest = run.store, run.workflow, run.store.manifest()
    trials, summaries = run.trials, run.summaries
    charts = _charts(run, figures, index)
    telemetry = telemetry_charts(store.telemetry_path)
    noise = noise_section(manifest, trials, store.readings())
    monitor_cores = monitor_cpu_cores(store.telemetry_path)
    throughput = throughput_section(store, trials)
    primary = {(row.label, row.metric) for row in summaries if row.primary}
    drawn: list[Chart] = [*charts.figures, *charts.primary, *charts.others]
    drawn += [chart for chart in telemetry if not chart.constant]
    drawn += noise.charts if noise is not None else ()
    drawn += throughput.charts if throughput is not None else ()
    return render(
        "sfcperf.report",
        "report.html.j2",
        drawn,
        version=version,
        run_id=store.run_id,
        most_at_once=MOST_ROWS_AT_ONCE,
        batch=ROWS_PER_BATCH,
        attribution=attribution_section(store),
        # An earlier session may have left verdicts, which do not know the trials of this one.
        claims=None if isinstance(run, _UnfinishedRun) else claims_section(store),
        claim_texts=claim_texts,
        costs=cost_section(store),
        correlations=telemetry_analyses.correlations(store),
        manifest=manifest,
        workflow=workflow,
        workflow_problem=run.workflow_problem,
        verdict=verdict_of(
            manifest,
            trials,
            summaries,
            is_alive=isinstance(run, _UnfinishedRun),
            time_left=run.time_left if isinstance(run, _UnfinishedRun) else "",
        ),
        facts=run_facts.run_facts(manifest, trials),
        drawings=chain_drawing.drawings(workflow.scenarios, trials) if workflow is not None else [],
        results=result_tables.results(_of_all_kinds(summaries)),
        blocking=blocking(summaries, trials),
        charts=charts,
        trials=[trial_tables.trial_row(record, store.folder, primary) for record in trials],
        probes=sorted({record.label for record in trials}),
        proofs=trial_tables.proofs(trials, store.folder),
        heavy_hitters=heavy_hitters(store, trials),
        telemetry=telemetry,
        noise=noise,
        throughput=throughput,
        monitors=run_facts.monitors(
            manifest, trials, monitor_cpu_s(store.telemetry_path), monitor_cores
        ),
        dear_monitors=run_facts.dear_monitors(monitor_cores),
        environment=run_facts.environment(manifest),
        methods=result_tables.methods(summaries),
        stopping=result_tables.stopping(summaries),
        files=[(name, text) for name, text in _RUN_FILES if (store.folder / name).exists()],
    )


def _of_all_kinds(summaries: Sequence[Summary]) -> list[Summary]:
    """Return the summaries without those of single kinds of attacks, which have a section of their
    own."""
    return [row for row in summaries if kind_of(row.probe, row.metric) is None]


def _charts(run: RunData, figures: Sequence[ResolvedFigure], index: TrialIndex) -> _Charts:
    """Make the charts: of the workflow's figures, and of each metric that none of them shows.
    Metrics of single kinds of attacks get none."""

    def files(plot: Plot) -> tuple[str, ...]:
        tables = ("csv", "trials.csv", "samples.csv", "band.csv", "time.csv", "published.csv")
        return written_files(run.store, plot.spec.name, *tables)

    from_workflow = [
        chart(f"figure-{number}", plot, index, fits, files(plot))
        for number, (plot, fits) in enumerate(figures)
    ]
    covered = {(plot.spec.probe, plot.spec.metric) for plot, _ in figures}
    others = [
        chart(f"metric-{number}", resolve_figure([run], run.results, spec, index), index)
        for number, spec in enumerate(automatic(_of_all_kinds(run.summaries), run.scenarios))
        if (spec.probe, spec.metric) not in covered
    ]
    primary = [chart for chart in others if chart.primary]
    return _Charts(from_workflow, primary, [chart for chart in others if not chart.primary])
