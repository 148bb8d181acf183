"""What the report says of a row's trials beyond mean and interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.records.trials import RTT, run_folder, trial

from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.presentation.units import Scale
from sfcperf.report.publisher import ReportPublisher
from sfcperf.report.result_tables import details, results
from sfcperf.results.store import RunStore

MS = Scale(1e-3, "ms")


def test_every_number_has_its_unit(run: RunStore) -> None:
    rtt = next(row for row in run.summaries() if row.metric == "rtt_us")
    told = dict(details(replace(rtt, p5=100.0, p95=900.0), MS))
    assert told["percentiles of the 60 samples"].endswith(" ms")
    assert told["percentiles of the trials"].startswith("p5 ")
    assert told["percentiles of the trials"].endswith(" ms")


def test_only_what_is_known_is_said(tmp_path: Path) -> None:
    """Of a row with one trial."""
    probes = [{"probe": "ping", "label": "ping", "scenarios": ["s000"], "metrics": [RTT]}]
    store = run_folder(tmp_path / "run", [trial(1)], probes=probes)
    SummaryAnalysis({}).analyse(store)
    (row,) = store.summaries()
    assert [name for name, _ in details(row, MS)] == ["rarest mode that would be seen"]


def test_the_declared_centre_and_the_warnings_reach_the_report(new_run: RunStore) -> None:
    rows = [replace(row, centre="median") for row in new_run.summaries()]
    first = replace(rows[0], warnings=("The trials drift.",))
    new_run.write_summary([first, *rows[1:]])
    table = next(t for t in results(new_run.summaries()) if t.metric == first.metric)
    assert (table.rows[0].summary.centre, table.rows[0].summary.warnings) == (
        "median",
        first.warnings,
    )
    ReportPublisher({"formats": []}).publish(new_run)
    page = new_run.report.read_text()
    assert '<th scope="col" class="num">Median</th><th scope="col" class="num">95 % CI' in page
    assert '<div class="reason">The trials drift.</div>' in page
