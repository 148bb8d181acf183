"""The bars of an attribution, as figures and reports draw them: one per scenario, with its parts
from left to right and their colours. All times are in us."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from sfcperf.presentation import palette, units

TIME_LABEL = "Packet processing time"
"""Label of the time axis."""
_MOST_BARS = 40
"""Most bars that a figure has room for."""

Document = Mapping[str, Any]
"""A document such as attribution.json, or an object in it."""


@dataclass(frozen=True)
class Time:
    """A time with its interval, in us."""

    value_us: float
    low_us: float | None = None
    """Low end of the interval; None, like `high_us`, without one."""
    high_us: float | None = None

    def text(self, scale: units.Scale) -> str:
        """Return the time as text, for instance `12.3 ± 0.4 µs`."""
        half_width = units.half_width(self.low_us, self.high_us)
        return scale.with_unit(scale.estimate(self.value_us, half_width))


@dataclass(frozen=True)
class Part:
    """A stretch of a bar: the time of a VNF, of SFFs or links, or the residual."""

    name: str
    kind: Literal["part", "residual", "over"]
    """`over`: a residual below 0, from the end-to-end time to the end of the parts."""
    start_us: float
    """Where the stretch begins along the bar, whose left end is 0."""
    end_us: float
    time: Time
    """The time with its interval. The length of a residual's stretch may differ from it, because
    trials that lack a part count for the ends of the stretch only."""

    @property
    def interval_us(self) -> tuple[float, float] | None:
        """Where the interval of the part's time begins and ends along the bar. None if it has no
        interval, and for a residual, whose two ends have intervals of their own."""
        low, high = self.time.low_us, self.time.high_us
        if self.kind != "part" or low is None or high is None:
            return None
        return self.start_us + low, self.start_us + high


@dataclass(frozen=True)
class Bar:
    """The bar of one scenario."""

    path: Document
    """The scenario's entry in attribution.json."""
    parts: tuple[Part, ...]
    """VNFs in chaining order, then SFFs and links where they are known, then the residual."""
    sum: Time | None
    """Sum of the VNFs; None if it is not known."""
    end: Time | None
    """End-to-end time; None if it was not measured."""
    residual: Time | None
    """None if the end-to-end time or the sum is not known."""

    @property
    def extent_us(self) -> float:
        """Right end of the bar, with intervals."""
        ends = [part.end_us for part in self.parts]
        ends += [part.interval_us[1] for part in self.parts if part.interval_us]
        if self.end is not None:
            ends += [self.end.value_us, self.end.high_us or 0.0]
        return max(ends, default=0.0)

    def percent(self, time: Time) -> float | None:
        """Return a time in per cent of the end-to-end time; None if that is not known, or not
        positive."""
        if self.end is None or self.end.value_us <= 0:
            return None
        return 100 * time.value_us / self.end.value_us


@dataclass(frozen=True)
class BarGroup:
    """The bars of all scenarios for one probe and direction, which make up one figure."""

    label: str
    """Label of the probe."""
    direction: str
    """`forward`, `reverse` or `round trip`."""
    bars: tuple[Bar, ...]
    """One bar per scenario."""
    styles: Mapping[str, palette.Style]
    """Name of a part -> its colour and hatch, in the order of the legend."""

    @property
    def title(self) -> str:
        """Label of the probe, and the direction unless it is forward."""
        return self.label if self.direction == "forward" else f"{self.label}, {self.direction}"

    @property
    def file_name(self) -> str:
        """Name of the group's figure, without the ending of a format."""
        stem = self.label if self.direction == "forward" else f"{self.label}-{self.direction}"
        return f"attribution-{re.sub(r'[^A-Za-z0-9_.-]+', '-', stem)}"

    @property
    def drawn(self) -> tuple[Bar, ...]:
        """Bars that the figure has room for; tables have the others as well."""
        return self.bars[:_MOST_BARS]

    @property
    def extent_us(self) -> float:
        """Right end of the longest bar."""
        return max(bar.extent_us for bar in self.bars)

    @property
    def scale(self) -> units.Scale:
        """Unit in which the longest bar is read best."""
        return units.scale_for([self.extent_us], "us")

    def legend(self) -> list[tuple[str, palette.Style]]:
        """List names and styles of the parts that are drawn, without residuals."""
        names = {part.name for bar in self.drawn for part in bar.parts if part.kind == "part"}
        return [(name, style) for name, style in self.styles.items() if name in names]

    def has(self, kind: str) -> bool:
        """Whether a part of this kind is drawn."""
        return any(part.kind == kind for bar in self.drawn for part in bar.parts)


def bar_groups(document: Document) -> Iterator[BarGroup]:
    """Group the paths of attribution.json (`document`) by probe and direction, and make their
    bars."""

    def key(path: Document) -> tuple[str, str]:
        return path["label"], path["path"]

    for (label, direction), paths in groupby(sorted(document["paths"], key=key), key):
        bars = tuple(map(_bar, paths))
        names = dict.fromkeys(p.name for bar in bars for p in bar.parts if p.kind == "part")
        styles = {name: palette.style(index) for index, name in enumerate(names)}
        yield BarGroup(label, direction, bars, styles)


def _bar(path: Document) -> Bar:
    """Make the bar of a scenario: its parts end to end, and then the residual up to the end-to-end
    time. If the parts are longer than that, the residual goes back over them (`over`)."""
    parts, at_us = [], 0.0
    for name, found in _timed(path):
        end_us = at_us + found["mean_us"]
        parts.append(Part(name, "part", at_us, end_us, _time(found)))
        at_us = end_us
    total, end, residual = (
        None if path[key] is None else _time(path[key]) for key in ("sum", "end_to_end", "residual")
    )
    if end is not None and residual is not None:
        if end.value_us >= at_us:
            parts.append(Part("residual", "residual", at_us, end.value_us, residual))
        else:
            parts.append(Part("residual", "over", end.value_us, at_us, residual))
    return Bar(path, tuple(parts), total, end, residual)


def _timed(path: Document) -> Iterator[tuple[str, Document]]:
    """Yield names and times of the VNFs whose time is known, then of the other parts. In trials
    that have all of them, these times add up to the end-to-end time minus the residual."""
    for function in path["functions"]:
        if function["time"] is not None:
            yield function["name"], function["time"]
    for part in path["parts"]:
        yield part["name"], part["time"]


def _time(found: Document) -> Time:
    """Return an estimate of attribution.json as a time."""
    return Time(found["mean_us"], found["ci_low_us"], found["ci_high_us"])
