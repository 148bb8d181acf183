"""Figures name factors, probes and metrics that exist."""

from __future__ import annotations

from typing import Any

import pytest
from support.workflows.plugins import findings_at, pointers

from sfcperf.workflow.figures import LINE
from sfcperf.workflow.model import FigureLine

VARIED: dict[str, Any] = {
    "factors": {"t": ["T1", "T2"], "n": [0, 1]},
    "topology": "${t}",
    "chain": {"functions": [{"vnf": "fwd", "count": "${n}"}]},
}
FIGURE = {"name": "rtt", "probe": "echo", "metric": "rtt_us", "x": "n", "series": "t"}


def test_defaults(load: Any) -> None:
    first, second = load(
        **VARIED, figures=[FIGURE, {**FIGURE, "name": "ms", "y_scale": 0.001}]
    ).figures
    assert (first.title, first.x, first.series, first.x_label, first.y_label) == (
        "rtt", "n", "t", "", "",
    )  # fmt: skip
    assert (first.y_scale, first.fit, first.kind, first.centre) == (1, "none", "line", None)
    assert second.y_scale == 0.001


def test_names_of_the_legend(load: Any) -> None:
    """Of levels as results show them, strings or not."""
    legend = {"t": {"T1": "one node", "T2": "two nodes"}}
    numbers = {**FIGURE, "name": "by-n", "x": "t", "series": "n", "legend": {"n": {"0": "none"}}}
    found = load(**VARIED, figures=[{**FIGURE, "legend": legend}, numbers]).figures
    assert found[0].legend == (("t", "T1", "one node"), ("t", "T2", "two nodes"))
    assert found[1].legend == (("n", "0", "none"),)


@pytest.mark.parametrize(
    ("changes", "pointer", "message", "hint"),
    [
        ({"probe": "eco"}, "/figures/0/probe", "no probe labelled", "'echo'"),
        ({"metric": "rtt"}, "/figures/0/metric", "no metric", "'rtt_us'"),
        ({"x": "m"}, "/figures/0/x", "no factor 'm'", ""),
        ({"series": "u"}, "/figures/0/series", "no factor 'u'", ""),
        ({"series": "n"}, "/figures/0/series", "already on the x axis", ""),
        ({"x": "t", "series": "n", "fit": "linear"}, "/figures/0/fit", "not all numbers", ""),
        ({"legend": {"u": {"1": "one"}}}, "/figures/0/legend/u", "no factor 'u'", ""),
        ({"legend": {"n": {"1": "one"}}}, "/figures/0/legend/n", "on the x axis", ""),
        ({"legend": {"t": {"T3": "far"}}}, "/figures/0/legend/t/T3", "no level 'T3'", ""),
        ({"legend": {"t": {"T1": "T2"}}}, "/figures/0/legend/t/T1", "another level", ""),
        ({"series": None, "fit": "linear"}, "/figures/0/fit", "mix the levels", '"series": "t"'),
        ({"series": "t", "fit": "linear", "kind": "box"}, "/figures/0/fit", "no fitted line", ""),
        ({"kind": "ecdf", "centre": "median"}, "/figures/0/centre", "not their median", ""),
        ({"series": "t", "fit": "linear", "kind": "time"}, "/figures/0/fit", "no fitted line", ""),
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
    for name in ("rtt", "RTT"):
        error = refused(**VARIED, figures=[FIGURE, {**FIGURE, "name": name}])
        assert pointers(error) == {"/figures/1/name"}


ECHOES = {"name": "echoes", "probe": "echo", "metric": "rtt_us"}
LOST = {"name": "lost", "probe": "echo", "metric": "loss_ratio"}
LINES: dict[str, Any] = {
    "name": "both",
    "x": "n",
    "y_label": "Time (µs)",
    "lines": [
        ECHOES,
        {"name": "seen", "probe": "echo", "metric": "processing_time_us", "source": "fwd-1"},
    ],
}
WATCHED: dict[str, Any] = {**VARIED, "monitors": [{"monitor": "watch"}]}


def test_lines_of_probes_and_monitors(load: Any) -> None:
    (figure,) = load(**WATCHED, figures=[LINES]).figures
    assert figure.lines == (
        FigureLine("echoes", "echo", "rtt_us"),
        FigureLine("seen", "echo", "processing_time_us", "fwd-1"),
    )
    assert (figure.series, figure.fit, figure.y_label) == (LINE, "none", "Time (µs)")
    # No probe has that label: its results are no probe's.
    assert figure.probe == "figure both"


def line(**changes: Any) -> dict[str, Any]:
    """Another second line."""
    first, second = LINES["lines"]
    return {"lines": [second, {**first, **changes}]}


@pytest.mark.parametrize(
    ("changes", "pointer", "message"),
    [
        ({"y_label": None}, "/figures/0", "'y_label' is missing"),
        ({"lines": None}, "/figures/0", "'probe' is missing"),
        ({"probe": "echo"}, "/figures/0/probe", "set it in each of the `lines` instead"),
        ({"series": "t"}, "/figures/0/series", "set it in each of the `lines` instead"),
        ({"kind": "ecdf"}, "/figures/0/kind", "draws no distributions"),
        ({"kind": "time"}, "/figures/0/lines/1/source", "draws metrics of probes"),
        ({"fit": "linear"}, "/figures/0/fit", "has no fitted line"),
        ({"x": "line"}, "/figures/0/x", "no factor 'line'"),
        ({"lines": []}, "/figures/0/lines", "at least 1"),
        (line(probe="eco"), "/figures/0/lines/1/probe", "no probe labelled"),
        (line(metric="rtt"), "/figures/0/lines/1/metric", "no metric 'rtt'"),
        (line(name="seen"), "/figures/0/lines/1/name", "duplicate"),
        ({"lines": [ECHOES, LOST]}, "/figures/0/lines", "us (echoes), 1 (lost)"),
    ],
)
def test_mistakes_of_figures_with_lines(
    refused: Any, changes: dict[str, Any], pointer: str, message: str
) -> None:
    figure = {key: value for key, value in {**LINES, **changes}.items() if value is not None}
    error = refused(**WATCHED, figures=[figure])
    found = findings_at(error, pointer)
    assert found and message in found[0].message, (pointers(error), found)


def test_telemetry_needs_a_monitor(refused: Any) -> None:
    assert pointers(refused(**VARIED, figures=[LINES])) == {"/figures/0/lines/1/source"}


def test_a_factor_cannot_have_the_name_of_the_lines(refused: Any) -> None:
    error = refused(
        factors={"line": [1, 2]},
        chain={"functions": [{"vnf": "fwd", "count": "${line}"}]},
        monitors=[{"monitor": "watch"}],
        figures=[{**LINES, "x": "line"}],
    )
    assert pointers(error) == {"/figures/0/lines"}
