"""The report's answer to "Which VNF costs most?"."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest
from support.records.attributed import Seen, seen_run

from sfcperf.control import publishing
from sfcperf.report.publisher import ReportPublisher
from sfcperf.report.vnf_costs import CostSection, answers, cost_section
from sfcperf.results.store import RunFile, RunStore

THREE = {"fw-1": 40.0, "nat-2": 65.0, "dpi-3": 10.0}


def shown(store: RunStore) -> CostSection:
    assert publishing.analyse(store) == []
    return cost_section(store)


def page(store: RunStore) -> str:
    ReportPublisher({"formats": []}).publish(store)
    return unescape(store.report.read_text())


def test_the_answer_is_the_first_thing_behind_the_verdict(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(functions=THREE, rounds=8))
    (group,) = shown(store).groups
    assert group.answer.startswith("nat-2 costs most: ")
    assert "more than each of the others (p = 0.023)" in group.answer
    text = page(store)
    place = text.index(group.answer)
    assert text.index('id="verdict"') < place < text.index('id="experiment"')
    assert answers(store) == [f"iperf3-udp: {group.answer}"]


def test_bars_are_of_the_vnfs_alone(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(functions=THREE, end_to_end=10_000, rounds=8))
    (group,) = shown(store).groups
    (one,) = group.scenarios
    document = store.document(RunFile.ATTRIBUTION)
    times = [f["centre_us"] for f in document["paths"][0]["ranking"]["functions"]]
    widths = [group.axis.width(row.bar) for row in one.rows]
    assert [width / time for width, time in zip(widths, times, strict=True)] == pytest.approx(
        [widths[0] / times[0]] * 3, rel=1e-3
    )
    # Though they are 1 % of the end-to-end time, which is said in words and drawn apart.
    assert widths[0] > 80
    assert one.rest.startswith("Of 10.000 ms end to end (means): VNFs 0.1")
    assert "residual of SFFs, links and queues 9.8" in one.rest
    assert one.path_axis is not None
    assert sum(map(one.path_axis.width, one.path.parts)) == pytest.approx(100)


@pytest.mark.parametrize("centre", ["mean", "median"])
def test_why_ranking_and_attribution_differ_is_said(tmp_path: Path, centre: str) -> None:
    store = seen_run(tmp_path / "run", Seen(functions=THREE, rounds=8, centre=centre))
    section = shown(store)
    path = (store.document(RunFile.ATTRIBUTION) or {})["paths"][0]
    means = {f["name"]: f["time"]["mean_us"] for f in path["functions"] if f["time"]}
    ranked = {f["name"]: f["centre_us"] for f in path["ranking"]["functions"]}
    alike = [ranked[name] == pytest.approx(means[name]) for name in THREE]
    assert (section.centre, all(alike), any(alike)) == (centre, *2 * [centre == "mean"])
    text = page(store)
    assert f"the {centre} of the trials' means" in text
    for words in ("because medians do not add up", "shows the median of the same trials"):
        assert (words in text) == (centre == "median")


def test_open_questions_are_said_to_be_open(tmp_path: Path) -> None:
    few = seen_run(tmp_path / "few", Seen(functions=THREE, rounds=5))
    alike = seen_run(tmp_path / "alike", Seen(functions={"fw-1": 40.0, "nat-2": 40.1}, rounds=8))
    for store, why in (
        (few, "5 trials cannot show a difference between 3 VNFs; 7 can."),
        (alike, "cannot be told apart in 8 trials"),
    ):
        (group,) = shown(store).groups
        assert not group.is_sure
        assert group.answer.startswith("Open: ")
        assert why in group.answer
    assert 'class="answer open"' in page(few)


def test_much_work_beside_the_way_of_the_packets_is_told(tmp_path: Path) -> None:
    cpu = {"fw-1": 0.1, "nat-2": 0.2, "dpi-3": 0.9, "sff@node1": 1.5}
    store = seen_run(tmp_path / "much", Seen(functions=THREE, rounds=8, cpu_cores=cpu))
    (group,) = shown(store).groups
    (remark,) = group.scenarios[0].remarks
    assert remark.startswith("dpi-3 uses most CPU, 0.9 cores")
    assert group.has_cpu
    assert remark in page(store)
    cpu = {"fw-1": 0.003, "nat-2": 0.001}
    store = seen_run(tmp_path / "little", Seen(functions=THREE, rounds=8, cpu_cores=cpu))
    assert shown(store).groups[0].scenarios[0].remarks == ()


def test_many_scenarios_are_summed_up(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(functions=THREE, rounds=9, samples=100), scenarios=5)
    (group,) = shown(store).groups
    assert group.answer == "Of 5 scenarios: nat-2 costs most in 5."
    assert "<summary>All 5 scenarios</summary>" in page(store)
    store = seen_run(tmp_path / "open", Seen(functions=THREE, rounds=5), scenarios=3)
    (group,) = shown(store).groups
    assert group.answer == "Of 3 scenarios: nat-2 took most in 3, which is open."
    assert not group.is_sure


def test_one_vnf_needs_no_comparison(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(functions={"fw-1": 40.0}, unseen=()))
    (group,) = shown(store).groups
    assert group.answer.startswith("fw-1 is the only VNF that was seen: ")
    assert group.is_sure


def test_hostile_names_stay_words(tmp_path: Path) -> None:
    store = seen_run(
        tmp_path / "run", Seen(functions={"<script>alert(1)</script>-1": 10.0, "b-2": 20.0})
    )
    assert shown(store)
    ReportPublisher({"formats": []}).publish(store)
    assert "<script>alert" not in store.report.read_text()
