"""The report's section on searches."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

from support.records.trials import run_folder, trial

from sfcperf.report.publisher import ReportPublisher
from sfcperf.report.throughput import ThroughputSection, throughput_section
from sfcperf.results.searches import GoalResult, OfferedLoad, Search, write_search
from sfcperf.results.store import RunStore

GOAL = GoalResult("ndr", 0.0, 0.5, 0.005, 1, 21, 10_000, 10_040, 10_000, "chain", "")


def load(rate_pps: float, loss: float, **more: Any) -> OfferedLoad:
    sent = round(rate_pps)
    known: dict[str, Any] = {"purpose": "search"}
    return OfferedLoad(rate_pps, 1, sent, round(sent * (1 - loss)), loss, **(known | more))


def searched(folder: Path, *searches: tuple[str, Search]) -> RunStore:
    """A run with a trial per search: its scenario and the search."""
    records = [
        replace(trial(number, scenario, "ndr", [10_000], metric="ndr_pps"), probe="ndr")
        for number, (scenario, _) in enumerate(searches, 1)
    ]
    store = run_folder(folder, records)
    for record, (_, search) in zip(records, searches, strict=True):
        write_search(search, store.raw(f"{record.trial_id}/attempt-1"))
    return store


def search(*offered: OfferedLoad, goals: tuple[GoalResult, ...] = (GOAL,)) -> Search:
    return Search({"probe": "iperf3"}, 100, 1e7, goals, offered)


def section(store: RunStore) -> ThroughputSection:
    return throughput_section(store, store.trials())


def test_loss_is_drawn_against_load(tmp_path: Path) -> None:
    offered = [load(1e7, 0.99), load(10_100, 0.01), load(9900, 0), load(9950, 0, limited="slow")]
    (group,) = section(searched(tmp_path / "run", ("s000", search(*offered)))).groups
    (chart,) = group.charts
    points = {series["name"]: (series["x"], series["y"]) for series in chart.data["series"]}
    assert chart.data["xLabel"] == "Load (kpackets/s)"
    assert points["loads"] == ([10.1, 9.9], [1.0, 0.0])
    assert points["limited by the endpoints"] == ([9.95], [0.0])
    assert points["NDR (loss ratio 0 %)"] == ([10.0, 10.0], [0.0, 1.0])
    assert "further from the bounds: 1." in chart.note


def test_loads_that_are_too_many_are_counted_apart(tmp_path: Path) -> None:
    offered = [load(10_000 + n % 7, 0) for n in range(2003)] + [load(1e7, 0.99)]
    (group,) = section(searched(tmp_path / "run", ("s000", search(*offered)))).groups
    note = group.charts[0].note
    assert "loads: 2000." in note
    assert "further from the bounds: 1." in note
    assert "came after these: 3." in note


def test_latency_is_drawn_against_load(tmp_path: Path) -> None:
    latency = {"p50": 10.0, "p99": 20.0, "p999": 30.0}
    later = [load(r, 0, purpose="latency", latency_us=latency) for r in (10_000, 1000)]
    (group,) = section(searched(tmp_path / "run", ("s000", search(load(10_000, 0), *later)))).groups
    chart = group.charts[1]
    names = [series["name"] for series in chart.data["series"]]
    assert names == ["median", "99th percentile", "99.9th percentile"]
    assert [series["y"] for series in chart.data["series"]] == [[10, 10], [20, 20], [30, 30]]
    assert chart.data["series"][0]["x"] == [1, 10]


def test_each_scenario_has_its_charts_and_each_search_its_bounds(tmp_path: Path) -> None:
    one = search(load(10_000, 0))
    found = section(searched(tmp_path / "run", ("s000", one), ("s001", one), ("s000", one)))
    assert [len(group.rows) for group in found.groups] == [2, 1]
    assert len({chart.id for chart in found.charts}) == 2
    row = found.groups[0].rows[0]
    assert (row.throughput, row.lower, row.upper, row.irregular) == ("10", "10", "10.04", "")


def test_an_irregular_result_is_marked(tmp_path: Path) -> None:
    goal = replace(GOAL, upper_pps=None, upper_limit="endpoints", irregular="<b>this</b> limit")
    store = searched(tmp_path / "run", ("s000", search(load(10_000, 0), goals=(goal,))))
    ReportPublisher({"formats": []}).publish(store)
    page = store.report.read_text()
    text = page[page.index('<section id="throughput"') :].partition("</section>")[0]
    assert '<tr class="untrusted">' in text
    assert "<b>this</b>" not in text
    assert "<b>this</b> limit" in unescape(text)


def test_a_search_without_any_bound_is_shown(tmp_path: Path) -> None:
    goal = replace(GOAL, lower_pps=None, upper_pps=None, throughput_pps=None, irregular="late")
    store = searched(tmp_path / "run", ("s000", search(load(500, 0.5), goals=(goal,))))
    (group,) = section(store).groups
    assert group.rows[0].throughput == "–"
    assert [series["name"] for series in group.charts[0].data["series"]] == ["loads"]


def test_a_damaged_search_is_named_and_hides_no_other(tmp_path: Path) -> None:
    one = search(load(10_000, 0))
    store = searched(tmp_path / "run", ("s000", one), ("s000", one))
    first = store.trials()[0]
    (store.folder / first.raw / "attempt-1" / "search.json").write_text("{")
    found = section(store)
    assert [trial_id for trial_id, _ in found.unreadable] == [first.trial_id]
    assert len(found.groups[0].rows) == 1
