"""The report's section on where the time goes."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from support.records.attributed import Seen, seen_run
from support.records.plans import made_up_plan
from support.records.trials import run_folder, trial

from sfcperf.control import publishing
from sfcperf.report.attribution import AttributionSection, attribution_section
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.values import Observation


def shown(store: RunStore) -> AttributionSection:
    assert publishing.analyse(store) == []
    return attribution_section(store)


def page_section(store: RunStore) -> str:
    ReportPublisher({"formats": []}).publish(store)
    page = store.report.read_text()
    assert 'href="#attribution"' in page
    return page[page.index('<section id="attribution"') :].partition("</section>")[0]


def test_bars_are_as_long_as_what_they_stand_for(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", scenarios=3)
    (group,) = shown(store).groups
    document = store.document(RunFile.ATTRIBUTION)
    starts = {part.x for bar in group.bars for part in bar.segments[:1]}
    assert len(starts) == 1
    (start,) = starts
    per_us = []
    for bar, path in zip(group.bars, document["paths"], strict=True):
        assert [part.kind for part in bar.segments] == ["vnf", "vnf", "residual"]
        # Segments follow one another up to the end-to-end time.
        ends = [part.x + part.width for part in bar.segments]
        assert [part.x for part in bar.segments[1:]] == pytest.approx(ends[:-1], abs=0.05)
        assert bar.end == pytest.approx(ends[-1], abs=0.05)
        times = [f["time"]["mean_us"] for f in path["functions"] if f["time"]]
        times.append(path["residual"]["mean_us"])
        per_us += [part.width / time for part, time in zip(bar.segments, times, strict=True)]
        for part, time in zip(bar.segments, path["functions"], strict=False):
            if part.whisker and time["time"]:
                low, high = time["time"]["ci_low_us"], time["time"]["ci_high_us"]
                length = part.whisker[1] - part.whisker[0]
                assert length == pytest.approx((high - low) * per_us[0], rel=0.01)
        assert bar.end < 100
    assert per_us == pytest.approx([per_us[0]] * len(per_us), rel=0.01)
    ticks = {float(text): x for x, text in group.ticks}
    assert ticks[0] == start
    assert all(x == pytest.approx(start + t * per_us[0], rel=0.01) for t, x in ticks.items())


def test_the_page_has_bars_numbers_and_remarks(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(truncated=2), scenarios=2)
    (group,) = shown(store).groups
    section = unescape(page_section(store))
    assert section.count('class="vnf"') == 4
    assert section.count('class="residual"') == 2
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", section)
    for _, rows in group.rows:
        assert [row.what for row in rows] == [
            "fw-1", "nat-2", "forwarder-3", "sum of the VNFs", "end to end", "residual",
        ]  # fmt: skip
        for row in rows:
            assert {row.what, row.mean, row.interval, row.captured} <= set(cells)
    # What is true of all scenarios is said once.
    assert section.count("forwarder-3 is not seen") == 1
    assert section.count("10 of 150 samples are truncated") == 1
    assert "residual" in group.bars[0].note
    assert "% of end to end" in group.bars[0].note


def test_a_negative_residual_is_drawn_as_too_much_and_said(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(end_to_end=60))
    (group,) = shown(store).groups
    over = group.bars[0].segments[-1]
    assert over.kind == "over"
    assert over.x == group.bars[0].end
    assert over.x + over.width == pytest.approx(
        group.bars[0].segments[1].x + group.bars[0].segments[1].width, abs=0.05
    )
    assert "The residual is negative" in page_section(store)


def test_without_end_to_end_there_are_only_vnfs(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(end_to_end=None, captured=False))
    (group,) = shown(store).groups
    assert group.bars[0].end is None
    assert [part.kind for part in group.bars[0].segments] == ["vnf", "vnf"]
    assert not group.captured
    section = page_section(store)
    assert "From captures" not in section
    assert 'class="end"' not in section


def test_many_scenarios_are_drawn_in_part_and_told_in_full(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(rounds=1, samples=2), scenarios=43)
    (group,) = shown(store).groups
    assert (len(group.bars), group.left_out, len(group.rows)) == (40, 3, 43)
    assert "3 more scenarios are in the table" in page_section(store)


def test_without_pptmon_nothing_is_said_of_it(tmp_path: Path) -> None:
    """The monitor sff alone: SFFs, and functions together with their links."""
    records = [trial(n, values=[30.0]) for n in (1, 2)]
    store = run_folder(tmp_path / "run", records)
    functions = [{"name": "router-1", "type": "router", "position": 1}]
    store.write_plan(made_up_plan(["s000"], functions=functions))
    observed = (
        ("router-1", "away_us", 7.0),
        ("sff@n/spi1-si255", "sff_time_us", 0.5),
        ("sff@n/spi1-si254", "sff_time_us", 0.25),
        ("server", "since_first_us", 8.0),
    )
    for record in records:
        rows = [Observation(1, source, name, "us", value) for source, name, value in observed]
        store.write_trial_telemetry(record, rows)
    store.merge_telemetry()
    section = shown(store)
    assert (section.sampled, section.parts) == (False, True)
    assert {name for name, _, _ in section.groups[0].legend} == {"SFFs", "router-1 and its links"}
    text = page_section(store)
    assert "pptmon" not in text.lower()
    assert "monitor sff" in text
