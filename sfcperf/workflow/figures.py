"""Figures: what they draw must exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf import plugins
from sfcperf.workflow.expand import Level
from sfcperf.workflow.findings import Findings, did_you_mean, listing
from sfcperf.workflow.model import FigureSpec, ProbeSpec, Scenario
from sfcperf.workflow.pointer import to_pointer


def build_figures(
    values: Sequence[Mapping[str, Any]],
    factors: Mapping[str, tuple[Level, ...]],
    scenarios: Sequence[Scenario],
    findings: Findings,
) -> tuple[FigureSpec, ...]:
    """The figures of a schema-valid section, checked against factors and probes."""
    probes = {probe.label: probe for scenario in scenarios for probe in scenario.probes}
    figures: dict[str, FigureSpec] = {}
    for index, value in enumerate(values):
        figure = _Figure(index, value, factors, findings)
        if value["name"] in figures:
            figure.report("name", f"the figure {value['name']!r} is there already")
        figure.check_factors()
        unit = figure.unit(probes)
        figures[value["name"]] = figure_spec(value, unit)
    return tuple(figures.values())


class _Figure:
    """One figure under examination."""

    def __init__(
        self,
        index: int,
        value: Mapping[str, Any],
        factors: Mapping[str, tuple[Level, ...]],
        findings: Findings,
    ) -> None:
        self._index = index
        self._value = value
        self._factors = factors
        self._findings = findings

    def report(
        self, key: str, message: str, allowed: str | None = None, hint: str | None = None
    ) -> None:
        where = to_pointer(("figures", self._index, key))
        self._findings.add(where, message, allowed=allowed, hint=hint)

    def check_factors(self) -> None:
        for key in ("x", "series"):
            name = self._value.get(key)
            if name is not None and name not in self._factors:
                self.report(
                    key,
                    f"there is no factor {name!r}",
                    listing(self._factors),
                    did_you_mean(name, self._factors),
                )
        x, series = self._value["x"], self._value.get("series")
        if x == series:
            self.report("series", "this factor is on the x axis already")
        if self._value.get("centre") == "median" and self._value.get("kind") in ("box", "ecdf"):
            kind = self._value["kind"]
            self.report("centre", f"a figure of kind {kind!r} draws no medians", "line, bar")
        if self._value.get("fit") == "linear":
            self._check_fit(x, series)

    def _check_fit(self, x: str, series: str | None) -> None:
        if self._value.get("kind") in ("box", "ecdf"):
            kind = self._value["kind"]
            self.report("fit", f"a figure of kind {kind!r} has no fitted line", "line, bar")
        levels = [level.label for level in self._factors.get(x, ())]
        if any(isinstance(level, bool | str) for level in levels):
            self.report("fit", f"a line cannot be fitted: levels of {x!r} are not all numbers")
        pooled = [
            name
            for name, levels in self._factors.items()
            if name not in (x, series) and len(levels) > 1
        ]
        if pooled:
            self.report(
                "fit",
                f"a fitted line would mix the levels of {listing(pooled)}",
                hint=f'with "series": "{pooled[0]}" each level gets a line of its own'
                if series is None and len(pooled) == 1
                else None,
            )

    def unit(self, probes: Mapping[str, ProbeSpec]) -> str:
        """Unit of the metric; empty when probe or metric do not exist."""
        label, name = self._value["probe"], self._value["metric"]
        if label not in probes:
            self.report(
                "probe",
                f"there is no probe labelled {label!r}",
                listing(probes),
                did_you_mean(label, probes),
            )
            return ""
        probe = probes[label]
        metrics = {m.name: m for m in plugins.load("probe", probe.probe).metrics(probe.parameters)}
        if name not in metrics:
            self.report(
                "metric",
                f"the probe {label!r} has no metric {name!r}",
                listing(metrics),
                did_you_mean(name, metrics),
            )
            return ""
        return str(metrics[name].unit)


def figure_spec(value: Mapping[str, Any], unit: str) -> FigureSpec:
    """From a schema-valid entry of the section; `unit` is that of the metric."""
    scale = value.get("y_scale", 1)
    unscaled = f"{value['metric']} ({unit})"
    return FigureSpec(
        name=value["name"],
        title=value.get("title", value["name"]),
        probe=value["probe"],
        metric=value["metric"],
        x=value["x"],
        series=value.get("series"),
        x_label=value.get("x_label", value["x"]),
        y_label=value.get("y_label", unscaled if scale == 1 else f"{unscaled} x {scale:g}"),
        y_scale=scale,
        fit=value.get("fit", "none"),
        kind=value.get("kind", "line"),
        centre=value.get("centre", "mean"),
    )
