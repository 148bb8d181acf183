"""What the report says of a row's trials beyond mean and interval."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

from support.records.runs import build_run
from support.records.trials import RTT, run_folder, trial

from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.analysis.telemetry import CorrelateAnalysis
from sfcperf.presentation.units import Scale
from sfcperf.report.publisher import ReportPublisher
from sfcperf.report.result_tables import details, results
from sfcperf.report.telemetry_analyses import correlations
from sfcperf.report.trial_tables import trial_row
from sfcperf.results.store import RunStore
from sfcperf.workflow.defaults import with_defaults

MS = Scale(1e-3, "ms")


def test_every_number_has_its_unit(run: RunStore) -> None:
    rtt = next(row for row in run.summaries() if row.metric == "rtt_us")
    told = dict(details(replace(rtt, p5=100.0, p95=900.0), MS))
    assert told["percentiles of the 60 samples"].endswith(" ms")
    assert told["percentiles of the trials"].startswith("p5 ")
    assert told["percentiles of the trials"].endswith(" ms")


def test_metrics_that_read_alike_are_told_apart(tmp_path: Path) -> None:
    samples = (
        {"metric": "rtt_us", "unit": "us", "value": 100.0},
        {"metric": "rtt_ms", "unit": "ms", "value": 0.1},
    )
    row = trial_row(trial(samples=samples), tmp_path, {("ping", "rtt_us")})
    assert row.values == row.others == ("rtt 100.0 µs",)
    assert len(trial_row(trial(samples=samples), tmp_path).values) == 2


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


def test_it_shows_each_pair_over_all_trials_and_within_scenarios(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run")
    parameters = with_defaults(CorrelateAnalysis.parameters, {"sources": ["sff@*", "fwd-2"]})
    document = CorrelateAnalysis(parameters).analyse(store)
    shown = correlations(store)
    pairs = [row for row in document["correlations"] if row["scope"] == "all trials"]
    assert len(shown["rows"]) == len(pairs) == 20
    first = pairs[0]
    assert shown["rows"][0][4].startswith(f"{first['r']:.2f} [{first['ci_low']:.2f}, ")
    ReportPublisher({"formats": []}).publish(store)
    page = unescape(store.report.read_text())
    section = page[page.index('<section id="correlations"') :].partition("</section>")[0]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", section)
    for row in shown["rows"]:
        assert row[4] in cells
        assert row[5] in cells
    for note in document["notes"]:
        assert note in section
    assert 'href="#correlations"' in page
