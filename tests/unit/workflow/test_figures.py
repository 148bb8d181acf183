"""Figures name factors, probes and metrics that exist."""

from __future__ import annotations

from typing import Any

import pytest
from support.workflow_plugins import findings_at, pointers

from sfcperf.workflow.model import FigureSpec

VARIED: dict[str, Any] = {
    "factors": {"t": ["T1", "T2"], "n": [0, 1]},
    "topology": "${t}",
    "chain": {"functions": [{"vnf": "fwd", "count": "${n}"}]},
}
FIGURE = {"name": "rtt", "probe": "echo", "metric": "rtt_us", "x": "n", "series": "t"}


def test_defaults(load: Any) -> None:
    workflow = load(**VARIED, figures=[FIGURE, {**FIGURE, "name": "ms", "y_scale": 0.001}])
    assert workflow.figures[0] == FigureSpec(
        name="rtt",
        title="rtt",
        probe="echo",
        metric="rtt_us",
        x="n",
        series="t",
        x_label="n",
        y_label="rtt_us (us)",
        y_scale=1,
        fit="none",
        kind="line",
        centre="mean",
    )
    assert workflow.figures[1].y_label == "rtt_us (us) x 0.001"


@pytest.mark.parametrize(
    ("changes", "pointer", "message", "hint"),
    [
        ({"probe": "eco"}, "/figures/0/probe", "no probe labelled", "'echo'"),
        ({"metric": "rtt"}, "/figures/0/metric", "no metric", "'rtt_us'"),
        ({"x": "m"}, "/figures/0/x", "no factor 'm'", ""),
        ({"series": "u"}, "/figures/0/series", "no factor 'u'", ""),
        ({"series": "n"}, "/figures/0/series", "on the x axis already", ""),
        ({"x": "t", "series": "n", "fit": "linear"}, "/figures/0/fit", "not all numbers", ""),
        (
            {"series": None, "fit": "linear"},
            "/figures/0/fit",
            "mix the levels of t",
            '"series": "t"',
        ),
        ({"series": "t", "fit": "linear", "kind": "box"}, "/figures/0/fit", "no fitted line", ""),
        ({"kind": "ecdf", "centre": "median"}, "/figures/0/centre", "no medians", ""),
    ],
)
def test_mistakes(
    refused: Any, changes: dict[str, Any], pointer: str, message: str, hint: str
) -> None:
    figure = {key: value for key, value in {**FIGURE, **changes}.items() if value is not None}
    error = refused(**VARIED, figures=[figure])
    found = findings_at(error, pointer)
    assert found and message in found[0].message, pointers(error)
    assert hint in (found[0].hint or "")


def test_two_figures_of_one_name(refused: Any) -> None:
    assert pointers(refused(**VARIED, figures=[FIGURE, FIGURE])) == {"/figures/1/name"}
