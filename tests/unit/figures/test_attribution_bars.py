"""The bars of an attribution: what is in them, whoever draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.records.attributed import Seen, seen_run

from sfcperf.control import publishing
from sfcperf.figures.attribution_bars import Bar, BarGroup, bar_groups
from sfcperf.results.store import RunFile


def grouped(folder: Path, seen: Seen, scenarios: int = 1) -> tuple[list[BarGroup], dict[str, Any]]:
    store = seen_run(folder / "run", seen, scenarios=scenarios)
    assert publishing.analyse(store) == []
    document = store.document(RunFile.ATTRIBUTION)
    assert document is not None
    return list(bar_groups(document)), dict(document)


def only_bar(folder: Path, seen: Seen) -> Bar:
    ((group,), _) = grouped(folder, seen)
    (bar,) = group.bars
    return bar


def test_parts_follow_one_another_up_to_the_end_to_end_time(tmp_path: Path) -> None:
    (group,), document = grouped(tmp_path, Seen(), scenarios=3)
    for bar, path in zip(group.bars, document["paths"], strict=True):
        assert [part.name for part in bar.parts] == ["fw-1", "nat-2", "residual"]
        assert [part.kind for part in bar.parts] == ["part", "part", "residual"]
        at_us = 0.0
        times = [f["time"] for f in path["functions"] if f["time"]]
        for part, time in zip(bar.parts, times, strict=False):
            assert (part.start_us, part.end_us) == (at_us, at_us + time["mean_us"])
            if time["ci_low_us"] is None:
                assert part.interval_us is None
            else:
                ends = at_us + time["ci_low_us"], at_us + time["ci_high_us"]
                assert part.interval_us == ends
            at_us = part.end_us
        assert bar.end is not None
        assert (bar.parts[-1].start_us, bar.parts[-1].end_us) == (at_us, bar.end.value_us)
        assert bar.parts[-1].time.value_us == path["residual"]["mean_us"]
        assert bar.end.value_us <= bar.extent_us <= group.extent_us
    assert list(group.styles) == ["fw-1", "nat-2"]
    assert len({style.colour for style in group.styles.values()}) == 2


def test_shares_are_of_the_end_to_end_time(tmp_path: Path) -> None:
    bar = only_bar(tmp_path, Seen())
    assert bar.sum is not None
    assert bar.residual is not None
    shares = [bar.percent(time) or 0.0 for time in (bar.sum, bar.residual)]
    assert sum(shares) == pytest.approx(100)
    alone = only_bar(tmp_path / "alone", Seen(end_to_end=None))
    assert alone.sum is not None
    assert alone.percent(alone.sum) is None


def test_a_residual_below_0_lies_over_the_parts(tmp_path: Path) -> None:
    bar = only_bar(tmp_path, Seen(end_to_end=60))
    over = bar.parts[-1]
    assert over.kind == "over"
    assert bar.end is not None
    assert (over.start_us, over.end_us) == (bar.end.value_us, bar.parts[1].end_us)
    assert over.time.value_us < 0
    assert over.interval_us is None


def test_without_end_to_end_there_is_no_residual(tmp_path: Path) -> None:
    bar = only_bar(tmp_path, Seen(end_to_end=None))
    assert (bar.end, bar.residual) == (None, None)
    assert [part.kind for part in bar.parts] == ["part", "part"]


def test_one_trial_has_no_intervals(tmp_path: Path) -> None:
    assert {part.interval_us for part in only_bar(tmp_path, Seen(rounds=1)).parts} == {None}


def test_directions_are_groups_with_names_of_their_own(tmp_path: Path) -> None:
    groups, _ = grouped(tmp_path, Seen(reverse=True))
    assert len({group.title for group in groups}) == len({g.file_name for g in groups}) == 3
    assert "iperf3-udp" in {group.title for group in groups}


def test_the_legend_names_what_is_drawn(tmp_path: Path) -> None:
    (group,), _ = grouped(tmp_path, Seen(rounds=1, samples=2), scenarios=43)
    assert (len(group.drawn), len(group.bars)) == (40, 43)
    assert [name for name, _ in group.legend()] == ["fw-1", "nat-2"]
    assert group.has("residual")
