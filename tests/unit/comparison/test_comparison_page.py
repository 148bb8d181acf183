"""The page of a comparison, its forest and its words, without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest
from support.records.compared_runs import ping_run
from support.records.comparisons import row

from sfcperf.analysis.comparison import Options, Side, compare_all
from sfcperf.comparison import comparison_page
from sfcperf.comparison import wording as words
from sfcperf.comparison.forest import axis_of, mark

LOW = [98.0, 101, 99.5, 102, 99, 101.5, 100, 100.5]


def shifted(ratio: float) -> list[float]:
    return [value * ratio for value in LOW]


def test_a_mark_is_where_its_number_is() -> None:
    found = row(LOW, shifted(1.1))
    axis = axis_of([found])
    drawn = mark(found, axis)
    start, width = drawn.band
    assert start + width / 2 == pytest.approx(50)
    assert (drawn.x - 50) / (width / 2) == pytest.approx(2, abs=0.05)
    assert drawn.low < drawn.x < drawn.high
    assert not drawn.above
    # Ticks, and so their texts, stand as evenly as their numbers, with room for the outermost.
    ticks = [(x, float(text.removesuffix(" %"))) for x, text in axis.ticks]
    for (x1, number1), (x2, number2) in pairwise(ticks):
        assert (x2 - x1) / (number2 - number1) == pytest.approx(42 / (100 * axis.limit), rel=0.01)
    assert ticks[0][0] >= 8
    # A baseline of 0 is not drawn.
    zero = row([0.0] * 8, [0.0] * 8)
    assert mark(zero, axis_of([zero])) is None


def test_what_is_far_out_ends_in_an_arrow_and_does_not_shrink_the_others() -> None:
    rows = [*(row(LOW, shifted(1 + n / 100)) for n in range(8)), row(LOW, shifted(9))]
    axis = axis_of(rows)
    assert axis.limit < 1
    far = mark(rows[-1], axis)
    assert far.above
    assert far.x == axis.x(axis.limit)


@pytest.mark.parametrize("margin", [0.001, 0.05, 0.4])
def test_the_margin_always_fits(margin: float) -> None:
    for ratio in (1.0, 1.001, 1.5):
        found = row(LOW, shifted(ratio), Options(margin=margin))
        assert mark(found, axis_of([found])).band[0] > 2


def test_digits_follow_the_interval() -> None:
    found = row(LOW, shifted(1.1))
    assert words.relative_text(found.relative) == "+10.0 %"
    assert re.fullmatch(r"\[\+\d+\.\d, \+\d+\.\d\]", words.interval_text(found.relative))
    assert (words.p_text(0.00001), words.p_text(None)) == ("<0.0001", "–")


def test_the_page_says_all_of_the_rows(tmp_path: Path) -> None:
    ratios = {"a": 1.0, "b": 1.1, "c": 1.0}
    runs = [
        ping_run(tmp_path / name, ratio=ratio, seed=seed)
        for seed, (name, ratio) in enumerate(ratios.items())
    ]
    sides = [Side(run.run_id, run) for run in runs]
    found = compare_all(sides[0], sides[1:], Options(all_metrics=True))
    page = comparison_page(found, sides, tmp_path / "page.html")
    rows = re.findall(r'<tr id="row-\d+">', page)
    assert len(rows) == len(found.rows) == 8
    for trial in found.rows[0].b.trials:
        assert f'href="#trial-1-{trial}"' in page
        assert f'id="trial-1-{trial}"' in page
    data = json.loads(re.findall(r'id="report-data">(.*?)</script>', page, re.S)[0])
    rtt = data["trials-0"]
    assert [series["name"] for series in rtt["series"]] == ["a", "b", "c"]
    assert rtt["yLabel"] == "rtt against the baseline (%)"
    # b is a tenth slower, relative to the baseline's median.
    assert all(8 < point["y"] < 12 for point in rtt["series"][1]["points"])


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ([], LOW, "the baseline has no valid trial"),
        (LOW, [], "the candidate has no valid trial"),
        (LOW, LOW[:1], "too few trials"),
        ([0.0] * 8, LOW, "the baseline is 0"),
    ],
)
def test_why_there_is_no_ratio(a: list[float], b: list[float], reason: str) -> None:
    for test in ("rank", "t"):
        found = row(a, b, Options(test=test))
        assert found.mean_ratio is None
        assert reason in words.why_no_ratio(found)


def on(plane: str, folder: Path, **config: str) -> Side:
    """A run whose workflow names a data plane."""
    run = ping_run(folder)
    document = {"infrastructure": {"driver": "local", "config": {"dataplane": plane, **config}}}
    run.write_workflow(document, folder)
    return Side(run.run_id, run)


def test_sides_are_called_by_what_alone_was_changed(tmp_path: Path) -> None:
    sides = [on(plane, tmp_path / f"run-{plane}") for plane in ("ovs", "ebpf")]
    found = compare_all(sides[0], sides[1:])
    assert words.side_titles(found) == {"run-ovs": "dataplane ovs", "run-ebpf": "dataplane ebpf"}
    page = comparison_page(found, sides, tmp_path / "page.html")
    assert "<h1>dataplane ebpf against dataplane ovs</h1>" in page
    assert "<code>run-ovs</code>" in page


def test_sides_that_differ_in_more_keep_their_names(tmp_path: Path) -> None:
    sides = [on("ovs", tmp_path / "a"), on("ebpf", tmp_path / "b", mtu="900")]
    found = compare_all(sides[0], sides[1:])
    assert words.side_titles(found) == {"a": "a", "b": "b"}


def test_the_page_of_several_runs_says_what_runs_differ_by(tmp_path: Path) -> None:
    runs = {
        name: [ping_run(tmp_path / f"{name}{n}", ratio=ratio * (1 + n / 40), seed=n, rounds=4)
               for n in range(3)]
        for name, ratio in (("old", 1.0), ("new", 1.02))
    }  # fmt: skip
    sides = [Side(name, found[0], more=tuple(found[1:])) for name, found in runs.items()]
    found = compare_all(sides[0], sides[1:])
    page = comparison_page(found, sides, tmp_path / "page.html")
    anchors = re.findall(r'<tr id="(trial-[^"]+)"', page)
    assert len(anchors) == len(set(anchors)) == 2 * 3 * 4 * 2
    assert set(re.findall(r'href="#(trial-[^"]+)"', page)) <= set(anchors)
    assert "Over 3 and 3 runs, no change shown, and none ruled out" in page
    assert "the run is the unit of replication" in page
    assert page.count('class="reason">between runs ') == len(found.rows)
    for one in found.rows:
        assert words.number_text(one) == "3×4"
        assert words.what_pays(one) in page
        assert "runs of" in words.what_pays(one)
        # What is shown is what is compared: the means of the runs, not the median of all trials.
        shown = words.numbers_of(one)
        for number, side in zip(shown, (one.a, one.b), strict=True):
            assert number == pytest.approx(fmean(fmean(values) for values in side.by_run()))
        texts = words.side_texts(one, words.scale_of(one, found.rows))
        assert f"{texts[0]} → {texts[1]}" in page
    data = json.loads(re.findall(r'id="report-data">(.*?)</script>', page, re.S)[0])
    points = [point for one in data["trials-0"]["series"] for point in one["points"]]
    assert [point["low"] for point in points] == [None] * len(points)
    assert points[0]["text"].startswith("mean of 3 runs ")


def test_medians_that_contradict_the_change_are_explained() -> None:
    """The change is estimated from all trials; two medians of scattered trials can say the
    opposite."""
    a, b = [1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0], [4.0, 5.0, 6.0, 9.0, 20.0, 21.0, 22.0]
    odd, plain = row(a, b), row(a, [2 * value for value in a])
    assert (odd.b.median - odd.a.median) * odd.relative.value < 0
    assert words.unlike_medians(odd)
    assert words.change_text(odd).endswith("*")
    assert not words.unlike_medians(plain)
    needed = replace(plain, n_needed=47, n_needed_for="equivalence")
    assert words.needed_text(needed) == "47 trials (equal)"
    one = replace(needed, n_needed=1, n_needed_for="difference", paired=True)
    assert words.needed_text(one) == "1 round (different)"
    assert "*" not in words.change_text(plain)
