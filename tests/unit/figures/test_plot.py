from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfcperf.figures.notes import interval_note
from sfcperf.figures.plot import resolve
from sfcperf.figures.selection import automatic
from sfcperf.presentation.levels import axis_levels
from sfcperf.results.records import Summary
from sfcperf.workflow.model import FigureSpec

SPEC = FigureSpec(
    name="rtt", title="RTT", probe="ping", metric="rtt_us", x="chain_length", series="topology",
    x_label="VNFs", y_label="RTT [ms]", y_scale=1e-3, fit="none",
)  # fmt: skip


def scenarios_of(summaries: list[Summary]) -> list[dict[str, Any]]:
    return [dict(row.scenario) for row in summaries if row.metric == "rtt_us"]


def test_points_are_the_rows_of_the_metric(summaries: list[Summary]) -> None:
    plot = resolve(SPEC, summaries, scenarios_of(summaries))
    assert [series.name for series in plot.series] == ["T1", "T3"]
    assert plot.levels == (0, 1, 2)
    assert plot.numeric
    assert {row.metric for row in plot.summaries} == {"rtt_us"}
    assert len(plot.summaries) == 6


def test_series_have_the_names_of_the_legend(summaries: list[Summary]) -> None:
    spec = replace(SPEC, legend=(("topology", "T3", "three nodes"),))
    plot = resolve(spec, summaries, scenarios_of(summaries))
    assert [series.name for series in plot.series] == ["T1", "three nodes"]
    # Also of a factor that distinguishes lines without being the figure's series, and of numbers.
    by_length = replace(SPEC, x="topology", series=None, legend=(("chain_length", "0", "none"),))
    plot = resolve(by_length, summaries, scenarios_of(summaries))
    assert [series.name for series in plot.series] == ["none", "chain length 1", "chain length 2"]


def test_a_scenario_without_a_number_is_missing_not_left_out(summaries: list[Summary]) -> None:
    planned = [*scenarios_of(summaries), {"topology": "T3", "chain_length": 10}]
    empty = [replace(r, mean=None, n=0) if r.scenario_id == "s001" else r for r in summaries]
    plot = resolve(SPEC, empty, planned)
    states = {(s.name, p.level): p.state for s in plot.series for p in s.points}
    assert states["T3", 10] == "missing"
    assert states["T1", 1] == "missing"
    assert plot.count("missing") == 2


def test_excluded_trials_make_a_point_untrusted(summaries: list[Summary]) -> None:
    spec = replace(SPEC, probe="iperf3-udp", metric="rate_pps")
    plot = resolve(spec, summaries, scenarios_of(summaries))
    found = [(s.name, p.level) for s in plot.series for p in s.points if p.state == "untrusted"]
    assert found == [("T1", 2)]
    assert "n = 2 to 3" in interval_note(plot)
    assert "95 % confidence interval" in interval_note(plot)


def test_a_factor_that_the_figure_does_not_name_parts_the_series(summaries: list[Summary]) -> None:
    planned = scenarios_of(summaries)
    plot = resolve(replace(SPEC, series=None), summaries, planned)
    assert [series.name for series in plot.series] == ["T1", "T3"]
    assert all(len({p.level for p in s.points}) == len(s.points) for s in plot.series)
    # Levels that Python holds equal stay apart.
    assert len(axis_levels("flag", [{"flag": 1}, {"flag": True}, {"flag": "1"}])) == 3


def test_one_interval_needs_two_trials(summaries: list[Summary]) -> None:
    why = "one trial shows no dispersion"
    single = [replace(r, n=1, ci_low=None, ci_high=None, ci_withheld=why) for r in summaries]
    plot = resolve(SPEC, single, scenarios_of(summaries))
    assert interval_note(plot) == f"Means. No error bars (n = 1): {why}."


def test_automatic_figures_cover_every_metric(summaries: list[Summary]) -> None:
    specs = automatic(summaries, scenarios_of(summaries))
    assert {(s.probe, s.metric) for s in specs} == {(r.label, r.metric) for r in summaries}
    assert {(s.x, s.series) for s in specs} == {("chain_length", "topology")}
    labels = {resolve(spec, summaries, scenarios_of(summaries)).spec.y_label for spec in specs}
    assert {"rtt (µs)", "rate (Gbit/s)", "loss (%)"} <= labels
    without_factors = [replace(r, scenario={}) for r in summaries if r.scenario_id == "s000"]
    for spec in automatic(without_factors, [{}]):
        assert len(resolve(spec, without_factors, [{}]).summaries) == 1
