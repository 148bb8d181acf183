"""The report's section on attribution: positions and words; the template draws the bars as SVG,
in per cent of the page's width, so that they fit a phone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

from sfcperf.figures.attribution_figure import (
    TIME_LABEL,
    attribution_file_name,
    attribution_groups,
    timed_parts,
)
from sfcperf.figures.figure_files import written_files
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import scenario_name
from sfcperf.report.attribution_table import Row, is_sampled, table_rows
from sfcperf.results.store import RunFile, RunStore

WIDTH = 100.0
_LEFT, _RIGHT = 0.5, 3.5
_CHARACTER_WIDTH = 0.85
"""On a page of 860 pixels; narrower pages leave the names to the legend."""
_MOST_BARS = 40
_TICKS = 6

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Segment:
    """A VNF's or another part of a bar, or the residual; all lengths in per cent of the width."""

    name: str
    kind: str
    """`vnf`, `residual`, or `over` for a negative residual."""
    x: float
    width: float
    text: str
    """Name, mean and interval, shown on hovering."""
    label: str
    """Under it; empty where it does not fit."""
    colour: str
    dark: str
    whisker: tuple[float, float] | None
    """Interval of its mean, around its right end."""


@dataclass(frozen=True)
class Bar:
    """One scenario."""

    title: str
    note: str
    segments: tuple[Segment, ...]
    end: float | None
    """Position of the end-to-end time."""
    end_whisker: tuple[float, float] | None


@dataclass(frozen=True)
class Group:
    """Scenarios of one probe and direction."""

    title: str
    axis: str
    """Its label, with the unit."""
    legend: tuple[tuple[str, str, str], ...]
    """VNF or other part, its colour on light and on dark ground."""
    bars: tuple[Bar, ...]
    has_residual: bool
    left_out: int
    """Scenarios that are not drawn."""
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[tuple[str, tuple[Row, ...]], ...]
    """By scenario."""
    table_unit: str
    """Finer than that of the bars, where a VNF takes little of a long time."""
    captured: bool
    """Whether there are times from captures to compare with."""
    files: tuple[str, ...]
    """The same as figures for papers, in the run folder."""
    remarks: tuple[tuple[str, str], ...]
    """(Scenarios, a remark about them); empty scenarios: all."""


@dataclass(frozen=True)
class AttributionSection:
    """What the section shows."""

    confidence: str
    method: str
    groups: tuple[Group, ...]
    sampled: bool
    """Whether pptmon measured VNFs."""
    parts: bool
    """Whether the monitor sff measured SFFs and links."""


def attribution_section(run: RunStore) -> AttributionSection | None:
    """None for a run without attribution.json."""
    document = run.document(RunFile.ATTRIBUTION)
    if document is None:
        return None
    return AttributionSection(
        confidence=f"{100 * document['confidence']:g} %",
        method=document["method"],
        groups=tuple(_group(run, *group) for group in attribution_groups(document)),
        sampled=any(map(is_sampled, document["paths"])),
        parts=any(path["parts"] for path in document["paths"]),
    )


def _group(run: RunStore, label: str, direction: str, members: Sequence[Document]) -> Group:
    names = dict.fromkeys(name for m in members for name, _ in timed_parts(m))
    looks = {name: palette.style(index) for index, name in enumerate(names)}
    most = max(map(_extent, members))
    scale = units.scale_for([most], "us")
    fine = units.scale_for([max(_least(members), 1.0)], "us")
    drawn = members[:_MOST_BARS]
    layout = _BarLayout((WIDTH - _LEFT - _RIGHT) / (most or 1.0), looks, scale)
    bars = tuple(map(layout.bar, drawn))
    return Group(
        title=label if direction == "forward" else f"{label}, {direction}",
        axis=units.axis_label(TIME_LABEL, scale.unit),
        legend=tuple((name, look.colour, look.dark) for name, look in looks.items()),
        bars=bars,
        has_residual=any(part.kind == "residual" for bar in bars for part in bar.segments),
        left_out=len(members) - len(drawn),
        ticks=tuple(layout.ticks(most)),
        rows=tuple((_scenario(m), tuple(table_rows(m, fine))) for m in members),
        table_unit=fine.unit,
        files=written_files(run, attribution_file_name(label, direction), "csv"),
        captured=any(f["captured"] for m in members for f in m["functions"]),
        remarks=tuple(_remarks(members)),
    )


@dataclass(frozen=True)
class _BarLayout:
    """From times to positions on the page."""

    per_us: float
    looks: Mapping[str, palette.Style]
    scale: units.Scale

    def x(self, value_us: float) -> float:
        return round(_LEFT + max(value_us, 0.0) * self.per_us, 3)

    def bar(self, member: Document) -> Bar:
        segments, at = [], 0.0
        for name, time in timed_parts(member):
            segments.append(self._segment(name, time, at))
            at += time["mean_us"]
        segments += self._residual(member, at)
        end = member["end_to_end"]
        return Bar(
            title=_scenario(member),
            note=self._note(member),
            segments=tuple(segments),
            end=None if end is None else self.x(end["mean_us"]),
            end_whisker=None if end is None else self._whisker(end, 0.0),
        )

    def ticks(self, most_us: float) -> Sequence[tuple[float, str]]:
        """At round steps."""
        most = most_us * self.scale.factor
        if most <= 0:
            return [(self.x(0), "0")]
        size = 10.0 ** floor(log10(most / _TICKS))
        step = next(size * n for n in (1, 2, 5, 10) if most / (size * n) <= _TICKS)
        count = int(most / step) + 1
        return [(self.x(n * step / self.scale.factor), f"{n * step:g}") for n in range(count)]

    def _segment(self, name: str, time: Document, at_us: float) -> Segment:
        width = time["mean_us"] * self.per_us
        look = self.looks[name]
        return Segment(
            name=name,
            kind="vnf",
            x=self.x(at_us),
            width=round(max(width, 0.0), 3),
            text=f"{name}: {self._interval(time)}",
            label=name if len(name) * _CHARACTER_WIDTH < width else "",
            colour=look.colour,
            dark=look.dark,
            whisker=self._whisker(time, at_us),
        )

    def _residual(self, member: Document, sum_us: float) -> list[Segment]:
        residual, end = member["residual"], member["end_to_end"]
        if residual is None or end is None:
            return []
        ends = sorted((sum_us, end["mean_us"]))
        kind = "residual" if end["mean_us"] >= sum_us else "over"
        width = (ends[1] - ends[0]) * self.per_us
        text = f"residual: {self._interval(residual)}"
        fits = kind == "residual" and len("residual") * _CHARACTER_WIDTH < width
        label = "residual" if fits else ""
        return [
            Segment("residual", kind, self.x(ends[0]), round(width, 3), text, label, "", "", None)
        ]

    def _whisker(self, time: Document, at_us: float) -> tuple[float, float] | None:
        if time["ci_low_us"] is None:
            return None
        return self.x(at_us + time["ci_low_us"]), self.x(at_us + time["ci_high_us"])

    def _note(self, member: Document) -> str:
        parts = []
        for name, key in (("VNFs", "sum"), ("end to end", "end_to_end"), ("residual", "residual")):
            if member[key] is not None:
                parts.append(f"{name} {self._interval(member[key])}")
        end = member["end_to_end"]
        if member["residual"] is not None and end["mean_us"] > 0:
            parts[-1] += _share(member["residual"], end)
            if member["parts"] and member["sum"] is not None:
                parts[0] += _share(member["sum"], end)
        return ", ".join(parts)

    def _interval(self, time: Document) -> str:
        half_width = units.half_width(time["ci_low_us"], time["ci_high_us"])
        return self.scale.with_unit(self.scale.estimate(time["mean_us"], half_width))


def _share(part: Document, end_to_end: Document) -> str:
    return f" ({100 * part['mean_us'] / end_to_end['mean_us']:.0f} % of end to end)"


def _extent(member: Document) -> float:
    """The largest time of a bar with its intervals, us."""
    parts = [time for _, time in timed_parts(member)]
    total = sum(part["mean_us"] for part in parts)
    last = [total - part["mean_us"] + (part["ci_high_us"] or 0.0) for part in parts[-1:]]
    end = member["end_to_end"]
    ends = [] if end is None else [end["mean_us"], end["ci_high_us"] or 0.0]
    return float(max([total, *last, *ends]))


def _remarks(members: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Each sentence once."""
    scenarios: dict[str, list[str]] = {}
    for member in members:
        for sentence in member["remarks"]:
            scenarios.setdefault(sentence, []).append(_scenario(member))
    for sentence, where in scenarios.items():
        yield "" if len(where) == len(members) else "; ".join(where), sentence


def _least(members: Sequence[Document]) -> float:
    """The smallest time of a VNF, us."""
    times = [time["mean_us"] for m in members for _, time in timed_parts(m)]
    return float(min(times, default=0.0))


def _scenario(member: Document) -> str:
    return scenario_name(member["scenario"])
