"""Figures: builds the specifications of figures, and checks that what they draw exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf import plugins
from sfcperf.workflow.document import Findings, choices, listing
from sfcperf.workflow.document.likeness import TELL_APART, alike
from sfcperf.workflow.document.pointer import Path
from sfcperf.workflow.model import DISTRIBUTIONS, FigureLine, FigureSpec, ProbeSpec, Scenario
from sfcperf.workflow.references import Level, level_text

_NEEDED_WITHOUT_LINES = {"probe": "Label of the probe.", "metric": "Metric of the probe."}
_NEEDED_WITH_LINES = {"y_label": "Label of the y axis, with the unit."}

LINE = "line"
"""Name that stands for a factor in a figure with `lines`: its levels are the names of the lines."""


def build_figures(
    values: Sequence[Mapping[str, Any]],
    factors: Mapping[str, tuple[Level, ...]],
    scenarios: Sequence[Scenario],
    findings: Findings,
) -> tuple[FigureSpec, ...]:
    """Build the figures of a section that fits the schema, and check them against factors and
    probes."""
    probes = {probe.label: probe for scenario in scenarios for probe in scenario.probes}
    figures: dict[str, FigureSpec] = {}
    # Name -> earlier name that differs from it only in case.
    earlier = {name: first for first, name in alike(value["name"] for value in values)}
    for index, value in enumerate(values):
        figure = _Figure(index, value, factors, findings)
        if value["name"] in figures:
            figure.report("name", f"duplicate figure {value['name']!r}")
        elif value["name"] in earlier:
            message = f"{earlier[value['name']]!r} and {value['name']!r} differ only in case"
            figure.report("name", message, allowed=TELL_APART)
        figure.check_factors()
        figure.check_legend()
        if not figure.is_complete():
            continue
        if "lines" in value:
            figure.check_lines(probes, scenarios)
        else:
            figure.check_metric(probes)
        figures[value["name"]] = figure_spec(value)
    return tuple(figures.values())


@dataclass(frozen=True)
class _Figure:
    """Checks one figure of the workflow, and adds its errors to the findings. `build_figures` makes
    one for each entry; `check_lines` or `check_metric` may be called only if `is_complete`."""

    index: int
    """Index in the section `figures`."""
    value: Mapping[str, Any]
    """Entry of the section."""
    factors: Mapping[str, tuple[Level, ...]]
    findings: Findings

    def report(
        self,
        key: str | Path,
        message: str,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Report an error at a key of the figure, or at a path inside of it; `()` is the figure."""
        inside = (key,) if isinstance(key, str) else key
        self.findings.add(("figures", self.index, *inside), message, allowed, hint)

    def is_complete(self) -> bool:
        """Whether the keys are present that a figure of one metric, or one with lines, needs.
        Reports those that are missing, and those that do not belong beside `lines`."""
        lines = "lines" in self.value
        needed = _NEEDED_WITH_LINES if lines else _NEEDED_WITHOUT_LINES
        missing = [key for key in needed if key not in self.value]
        for key in missing:
            self.report((), f"{key!r} is missing", allowed=needed[key])
        for key in ("probe", "metric", "series") if lines else ():
            if key in self.value:
                self.report(key, "set it in each of the `lines` instead")
        if lines and self.value.get("fit", "none") != "none":
            self.report("fit", "a figure with `lines` has no fitted line", "none")
        return not missing

    def check_factors(self) -> None:
        """Check that the factors exist, and that kind, centre and fit suit them."""
        for key in ("x", "series"):
            name = self.value.get(key)
            if name is not None and name not in self.factors:
                self.report(key, f"there is no factor {name!r}", **choices(name, self.factors))
        x, series = self.value["x"], self.value.get("series")
        if x == series:
            self.report("series", "this factor is already on the x axis")
        if "centre" in self.value and self.value.get("kind") in ("box", *DISTRIBUTIONS):
            kind, centre = self.value["kind"], self.value["centre"]
            message = f"a figure of kind {kind!r} draws the trials, not their {centre}"
            self.report("centre", message, "in a figure of kind line, bar or time")
        if self.value.get("fit") == "linear" and "lines" not in self.value:
            self._check_fit(x, series)

    def check_legend(self) -> None:
        """Check that the legend names levels that exist, and that its names tell them apart."""
        for factor, names in self.value.get("legend", {}).items():
            at = ("legend", factor)
            if factor not in self.factors:
                self.report(at, f"there is no factor {factor!r}", **choices(factor, self.factors))
                continue
            if factor == self.value["x"]:
                self.report(at, "this factor is on the x axis, not in the legend")
            levels = [level_text(level.label) for level in self.factors[factor]]
            for level in names:
                if level not in levels:
                    message = f"{factor!r} has no level {level!r}"
                    self.report((*at, level), message, **choices(level, levels))
            shown = [names.get(level, level) for level in levels]
            for level, name in names.items():
                if shown.count(name) > 1:
                    self.report((*at, level), f"another level is named {name!r} as well")

    def _check_fit(self, x: str, series: str | None) -> None:
        """Report why no line can be fitted to what the figure draws."""
        if self.value.get("kind") in ("box", "time", *DISTRIBUTIONS):
            kind = self.value["kind"]
            self.report("fit", f"a figure of kind {kind!r} has no fitted line", "line, bar")
        levels = [level.label for level in self.factors.get(x, ())]
        if any(isinstance(level, bool | str) for level in levels):
            self.report("fit", f"a line cannot be fitted: levels of {x!r} are not all numbers")
        pooled = [
            name
            for name, levels in self.factors.items()
            if name not in (x, series) and len(levels) > 1
        ]
        if pooled:
            self.report(
                "fit",
                f"a fitted line would mix the levels of {listing(pooled)}",
                hint=f'use "series": "{pooled[0]}" to fit a line per level'
                if series is None and len(pooled) == 1
                else None,
            )

    def check_lines(self, probes: Mapping[str, ProbeSpec], scenarios: Sequence[Scenario]) -> None:
        """Check names, probes, metrics and units of the lines. Metrics of monitors are not checked:
        they are known only after the run."""
        if LINE in self.factors:
            self.report("lines", f"a factor cannot be named {LINE!r} in a figure with `lines`")
        if self.value.get("kind") in DISTRIBUTIONS:
            allowed = "line, bar, box, time"
            self.report("kind", "a figure with `lines` draws no distributions", allowed)
        names: set[str] = set()
        units: dict[str, str] = {}  # unit -> name of the first line that has it
        for number, line in enumerate(self.value["lines"]):
            at = ("lines", number)
            if line["name"] in names:
                self.report((*at, "name"), f"duplicate line {line['name']!r}")
            names.add(line["name"])
            if "source" not in line:
                units.setdefault(self.unit_of(line, at, probes), line["name"])
                continue
            if self.value.get("kind") == "time":
                self.report((*at, "source"), "a figure of kind 'time' draws metrics of probes")
            self._probe(line["probe"], at, probes)
            if not any(scenario.monitors for scenario in scenarios):
                self.report((*at, "source"), "this workflow has no monitors")
        units.pop("", None)  # that of a probe or metric that does not exist
        if len(units) > 1:
            found = ", ".join(f"{unit} ({name})" for unit, name in units.items())
            self.report("lines", f"its lines have different units: {found}")

    def _probe(self, label: str, at: Path, probes: Mapping[str, ProbeSpec]) -> ProbeSpec | None:
        """The probe with this label; None, and reported, if there is none."""
        if label not in probes:
            message = f"there is no probe labelled {label!r}"
            self.report((*at, "probe"), message, **choices(label, probes))
        return probes.get(label)

    def check_metric(self, probes: Mapping[str, ProbeSpec]) -> None:
        """Check the probe and the metric of a figure without lines."""
        self.unit_of(self.value, (), probes)

    def unit_of(self, value: Mapping[str, Any], at: Path, probes: Mapping[str, ProbeSpec]) -> str:
        """Unit of the metric; empty if the probe or the metric does not exist, which is
        reported."""
        label, name = value["probe"], value["metric"]
        probe = self._probe(label, at, probes)
        if probe is None:
            return ""
        metrics = {m.name: m for m in plugins.load("probe", probe.probe).metrics(probe.parameters)}
        if name not in metrics:
            message = f"the probe {label!r} has no metric {name!r}"
            self.report((*at, "metric"), message, **choices(name, metrics))
            return ""
        return str(metrics[name].unit)


def figure_spec(value: Mapping[str, Any]) -> FigureSpec:
    """Build a figure from an entry of the section that fits the schema. Nothing else is checked."""
    lines = tuple(FigureLine(**line) for line in value.get("lines", ()))
    # A figure with lines gets results of its own, under a label with a space: no probe's label has
    # one.
    probe = f"figure {value['name']}" if lines else value["probe"]
    metric = lines[0].metric if lines else value["metric"]
    return FigureSpec(
        name=value["name"],
        title=value.get("title", value["name"]),
        probe=probe,
        metric=metric,
        x=value["x"],
        series=LINE if lines else value.get("series"),
        x_label=value.get("x_label", ""),
        y_label=value.get("y_label", ""),
        y_scale=value.get("y_scale", 1),
        fit=value.get("fit", "none"),
        kind=value.get("kind", "line"),
        centre=value.get("centre"),
        lines=lines,
        legend=tuple(
            (factor, level, name)
            for factor, names in value.get("legend", {}).items()
            for level, name in names.items()
        ),
    )
