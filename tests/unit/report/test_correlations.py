"""The report's section on correlations."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from support.records.runs import build_run

from sfcperf.analysis.telemetry import CorrelateAnalysis
from sfcperf.report.publisher import ReportPublisher
from sfcperf.report.telemetry_analyses import correlations
from sfcperf.workflow.defaults import with_defaults


def test_it_shows_each_pair_over_all_trials_and_within_scenarios(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run")
    parameters = with_defaults(CorrelateAnalysis.parameters, {"sources": ["sff@*", "fwd-2"]})
    document = CorrelateAnalysis(parameters).analyse(store)
    shown = correlations(store)
    assert shown is not None
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


def test_without_the_analysis_there_is_no_section(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run")
    assert correlations(store) is None
    ReportPublisher({"formats": []}).publish(store)
    assert "correlations" not in store.report.read_text()
