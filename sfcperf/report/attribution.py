"""The report's section on attribution: bars, which the template draws as SVG, and their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfcperf.figures.attribution_bars import TIME_LABEL, Bar, BarGroup, bar_groups
from sfcperf.figures.figure_files import written_files
from sfcperf.presentation import units
from sfcperf.presentation.levels import scenario_name
from sfcperf.report.attribution_table import Row, is_sampled, table_rows
from sfcperf.report.bar_axis import BarAxis
from sfcperf.results.store import RunFile, RunStore

_LEFT, _RIGHT = 0.5, 3.5
"""Margins of the axis, in per cent of the page's width."""


@dataclass(frozen=True)
class Group:
    """Bars and numbers of all scenarios of one probe and direction."""

    bars: BarGroup
    axis: BarAxis
    axis_label: str
    """Label of the axis, with the unit."""
    notes: tuple[str, ...]
    """For each bar that is drawn, its times in words: VNFs, end to end and residual."""
    rows: tuple[tuple[str, tuple[Row, ...]], ...]
    """(Scenario, its rows in the table of numbers)."""
    table_unit: str
    """Unit of the table. It is finer than that of the bars where a VNF takes little of a long
    time."""
    captured: bool
    """Whether there are times from captures to compare with."""
    files: tuple[str, ...]
    """Files in the run folder with the same bars, as figures for papers and as CSV."""
    remarks: tuple[tuple[str, str], ...]
    """(Scenarios, a remark about them). An empty text for the scenarios stands for all."""


@dataclass(frozen=True)
class AttributionSection:
    """The report's section on attribution: where the time of packets goes."""

    confidence: str
    method: str
    groups: tuple[Group, ...]
    sampled: bool
    """Whether the monitor pptmon measured VNFs."""
    parts: bool
    """Whether the monitor sff measured SFFs and links."""


def attribution_section(run: RunStore) -> AttributionSection | None:
    """Return the section; None for a run without attribution.json."""
    document = run.document(RunFile.ATTRIBUTION)
    if document is None:
        return None
    return AttributionSection(
        confidence=f"{100 * document['confidence']:g} %",
        method=document["method"],
        groups=tuple(_group(run, group) for group in bar_groups(document)),
        sampled=any(map(is_sampled, document["paths"])),
        parts=any(path["parts"] for path in document["paths"]),
    )


def _group(run: RunStore, group: BarGroup) -> Group:
    """Prepare the bars and numbers of one probe and direction for the template."""
    scale = group.scale
    # The unit of the table suits the shortest part, but is no finer than µs.
    fine = units.scale_for([max(_least(group), 1.0)], "us")
    paths = [bar.path for bar in group.bars]
    return Group(
        bars=group,
        axis=BarAxis(group.extent_us, scale, _LEFT, _RIGHT),
        axis_label=units.axis_label(TIME_LABEL, scale.unit),
        notes=tuple(_note(bar, scale) for bar in group.drawn),
        rows=tuple((scenario_name(p["scenario"]), tuple(table_rows(p, fine))) for p in paths),
        table_unit=fine.unit,
        files=written_files(run, group.file_name, "csv"),
        captured=any(f["captured"] for path in paths for f in path["functions"]),
        remarks=tuple(_remarks(group.bars)),
    )


def _note(bar: Bar, scale: units.Scale) -> str:
    """Return the times of a bar in words, such as `VNFs 12 µs, end to end 20 µs, residual 8 µs (40
    % of end to end)`. What is not known is left out."""
    named = {"VNFs": bar.sum, "end to end": bar.end, "residual": bar.residual}
    texts = {name: time.text(scale) for name, time in named.items() if time is not None}
    with_share = [("residual", bar.residual)]
    # Without other parts, the share of the VNFs is what the residual's leaves of 100 %.
    if bar.path["parts"] and bar.residual is not None:
        with_share.append(("VNFs", bar.sum))
    for name, time in with_share:
        percent = None if time is None else bar.percent(time)
        if percent is not None:
            texts[name] += f" ({percent:.0f} % of end to end)"
    return ", ".join(f"{name} {text}" for name, text in texts.items())


def _remarks(bars: Sequence[Bar]) -> Iterator[tuple[str, str]]:
    """Yield (scenarios, remark), each remark once. The scenarios are an empty text if the remark is
    about all of them."""
    scenarios: dict[str, list[str]] = {}
    for bar in bars:
        for sentence in bar.path["remarks"]:
            scenarios.setdefault(sentence, []).append(scenario_name(bar.path["scenario"]))
    for sentence, where in scenarios.items():
        yield "" if len(where) == len(bars) else "; ".join(where), sentence


def _least(group: BarGroup) -> float:
    """Return the smallest time of a part, us; 0 if there is no part."""
    times = [part.time.value_us for bar in group.bars for part in bar.parts if part.kind == "part"]
    return min(times, default=0.0)
