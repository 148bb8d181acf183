"""The Vega panels draw what the summaries say; drawn by Vega-Lite itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from support.records.runs import RunOptions, build_run

from sfcperf.elasticsearch import mappings
from sfcperf.elasticsearch.documents import Documents
from sfcperf.kibana import vega
from sfcperf.results.store import RunStore

VEGA_LITE = "5.20"
"""The newest of the series that Kibana 8 has."""


def svg(run: RunStore, metric: str, by: str) -> str:
    """The panel, with the hits that its query would find."""
    sources = [json.loads(one.body) for one in Documents(run).of(mappings.SUMMARIES)]
    hits = [{"_source": s} for s in sources if s["metric"]["name"] == metric]
    assert hits
    spec: dict[str, Any] = dict(
        vega.intervals("sfcperf-summaries", metric, "us", by=by, title="").spec
    )
    spec["data"] = {"values": {"hits": {"hits": hits}}, "format": {"property": "hits.hits"}}
    return vl_convert.vegalite_to_svg({**spec, "width": 600, "height": 300}, vl_version=VEGA_LITE)


@pytest.mark.parametrize("by", ["series", "run"])
def test_each_scenario_has_a_point_and_an_interval(tmp_path: Path, by: str):
    run = build_run(tmp_path / "run", RunOptions(untrusted=frozenset(), failed=frozenset()))
    drawing = svg(run, "rtt_us", by)
    rows = [row for row in run.summaries() if row.metric == "rtt_us"]
    points = re.findall(r'aria-roledescription="point"', drawing)
    rules = re.findall(r'aria-roledescription="rule mark"', drawing)
    assert len(points) == len(rules) == len(rows) == 6
    for row in rows:
        # Each mark says in words what it stands for.
        assert f"{row.ci_low:.6f}"[:8] in drawing
        assert f"{row.ci_high:.6f}"[:8] in drawing
    assert "rtt_us [us]" in drawing


def test_points_with_trials_that_do_not_count_are_pale(tmp_path: Path):
    run = build_run(tmp_path / "run", RunOptions(failed=frozenset({"r001-s001-ping"})))
    assert svg(run, "rtt_us", "series").count('opacity="0.5"') == 1
